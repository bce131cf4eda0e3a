//! `GpuWorkload` → intent: everything that its spec alone decides, with defaults filled in, or why it is refused.

mod behavior;
mod gate;
mod model;
mod pools;
mod signals;
#[cfg(test)]
mod tests;

use crate::config::Config;
use crate::overrides;
use crate::refusal::{Refusal, RefusalReason};
use crate::signals::SignalSource;
use jiff::SignedDuration;
use std::collections::BTreeMap;
use std::sync::Arc;
use wellfed_crds::{Class, GoDuration, GpuWorkloadSpec, Quantity, ScaleTargetRef};
use wellfed_engine::policy::{self, Fallback, FallbackBehavior};
use wellfed_engine::units::Replicas;

pub use signals::Measure;

/// What a spec alone decides.
pub struct Intent {
    /// With no GPUs a replica yet: those are read from the target.
    pub policy: policy::Policy,
    /// In the order of `policy.signals`.
    pub sources: Vec<Arc<dyn SignalSource>>,
    /// Signals that describe the work and ask for nothing.
    pub measures: Vec<(Measure, Arc<dyn SignalSource>)>,
    /// In the order of `policy.pools`.
    pub targets: Vec<ScaleTargetRef>,
    /// `spec.replicas`.
    pub replicas: i32,
    /// Thresholds of the gate that are not as built in, as status shows them.
    pub thresholds: BTreeMap<String, String>,
}

/// What the operator's settings add.
pub struct Settings {
    /// The Prometheus servers.
    pub config: Config,
    /// Time between two looks at the gate's evidence.
    pub evidence_interval: SignedDuration,
}

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// The intent of `spec` in `namespace`, or everything that is wrong with it.
pub fn intent(spec: &GpuWorkloadSpec, namespace: &str, settings: &Settings) -> Result<Intent, Vec<Refusal>> {
    let mut read = Reader { settings, namespace, refusals: Vec::new() };
    let (mut signals, mut measures) = (Vec::new(), Vec::new());
    for (at, signal) in spec.signals.iter().enumerate() {
        match signals::measure(signal) {
            Some(what) => measures.extend(read.measure(at, signal).map(|source| (what, source))),
            None => signals.extend(read.signal(at, signal)),
        }
    }
    let behavior = read.behavior(spec.behavior.as_ref());
    let gate = read.gate(spec.class, spec.gate.as_ref());
    let (pools, targets) = read.pools(spec);
    let model = spec.model.as_ref().and_then(|model| read.model(model));
    if !read.refusals.is_empty() {
        return Err(read.refusals);
    }
    let (signals, sources) = signals.into_iter().unzip();
    let fallback = spec.fallback.as_ref().map(fallback);
    let policy = policy::Policy {
        class: class(spec.class),
        mode: mode(spec.mode),
        min: replicas(spec.min_replicas),
        max: replicas(spec.max_replicas),
        gpus_per_replica: wellfed_engine::units::Gpus::ZERO,
        whole_gpus: true,
        signals,
        behavior,
        gate,
        pools,
        fallback,
        model,
    };
    let thresholds = overrides::shown(&policy.gate.thresholds);
    Ok(Intent { policy, sources, measures, targets, replicas: spec.replicas, thresholds })
}

/// Reads fields and collects what is wrong.
struct Reader<'a> {
    settings: &'a Settings,
    namespace: &'a str,
    refusals: Vec<Refusal>,
}

impl Reader<'_> {
    fn refuse(&mut self, path: String, reason: RefusalReason, message: String) {
        self.refusals.push(Refusal::at(path, reason, message));
    }

    fn quantity(&mut self, path: &str, quantity: Option<&Quantity>, default: f64) -> f64 {
        match quantity.map(Quantity::to_f64) {
            None => default,
            Some(Ok(number)) => number,
            Some(Err(error)) => {
                self.refuse(path.to_owned(), RefusalReason::BadValue, error.to_string());
                default
            }
        }
    }

    /// A length of time within `bounds`; the default where it is not set or not good.
    fn duration(
        &mut self,
        path: &str,
        duration: Option<&GoDuration>,
        default: SignedDuration,
        bounds: Bounds,
    ) -> SignedDuration {
        let (least, most) = bounds;
        let wrong = match duration.map(GoDuration::to_duration) {
            None => return default,
            Some(Ok(duration)) if (least..=most).contains(&duration) => return duration,
            Some(Ok(_)) => format!("must be from {least:#} to {most:#}"),
            Some(Err(error)) => error.to_string(),
        };
        self.refuse(path.to_owned(), RefusalReason::BadValue, wrong);
        default
    }
}

/// The shortest and the longest length of time that makes sense.
type Bounds = (SignedDuration, SignedDuration);

/// Any up to a week.
const WEEK: Bounds = (SignedDuration::ZERO, SignedDuration::from_hours(24 * 7));

fn replicas(count: i32) -> Replicas {
    Replicas(u32::try_from(count).unwrap_or(0))
}

const fn class(class: Class) -> policy::Class {
    match class {
        Class::Inference => policy::Class::Inference,
        Class::Training => policy::Class::Training,
        Class::Batch => policy::Class::Batch,
    }
}

const fn mode(mode: wellfed_crds::Mode) -> policy::Mode {
    match mode {
        wellfed_crds::Mode::Recommend => policy::Mode::Recommend,
        wellfed_crds::Mode::Auto => policy::Mode::Auto,
        wellfed_crds::Mode::Paused => policy::Mode::Paused,
    }
}

fn fallback(fallback: &wellfed_crds::Fallback) -> Fallback {
    Fallback {
        failure_threshold: u32::try_from(fallback.failure_threshold).unwrap_or(0),
        replicas: replicas(fallback.replicas),
        behavior: match fallback.behavior {
            wellfed_crds::FallbackBehavior::Static => FallbackBehavior::Static,
            wellfed_crds::FallbackBehavior::CurrentReplicas => FallbackBehavior::CurrentReplicas,
            wellfed_crds::FallbackBehavior::CurrentReplicasIfHigher => FallbackBehavior::CurrentReplicasIfHigher,
            wellfed_crds::FallbackBehavior::CurrentReplicasIfLower => FallbackBehavior::CurrentReplicasIfLower,
        },
    }
}
