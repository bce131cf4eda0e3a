//! `GpuWorkload` → intent: everything that its spec alone decides, with defaults filled in, or why it is refused.

use crate::config::{Config, PrometheusConfig};
use crate::refusal::{Refusal, RefusalReason, did_you_mean};
use crate::signals::promql::{self, Query, QueryError};
use crate::signals::{Ask, PrometheusSignal, ScaleSignal, SignalSource, VllmSignal};
use jiff::SignedDuration;
use std::sync::Arc;
use wellfed_crds::{
    Behavior, Class, Gate, GoDuration, GpuWorkloadSpec, PrometheusSource, Quantity, ScaleTargetRef, ScalingRules,
    Signal, SignalTarget, SignalType, TargetType, VllmMetric, VllmSource, WorkloadPool,
};
use wellfed_engine::policy::{
    self, Amount, Fallback, FallbackBehavior, GatePolicy, Pace, PoolMax, PoolPolicy, RatePolicy, Select, SignalPolicy,
    Target,
};
use wellfed_engine::rules::Thresholds;
use wellfed_engine::units::{PoolName, Replicas, SignalName};

/// What a spec alone decides.
pub struct Intent {
    /// With no GPUs a replica yet: those are read from the target.
    pub policy: policy::Policy,
    /// In the order of `policy.signals`.
    pub sources: Vec<Arc<dyn SignalSource>>,
    /// In the order of `policy.pools`.
    pub targets: Vec<ScaleTargetRef>,
    /// `spec.replicas`.
    pub replicas: i32,
}

/// What the operator's settings add.
pub struct Settings {
    /// The Prometheus servers.
    pub config: Config,
    /// Evaluations of the gate count if they are this far apart.
    pub spacing: SignedDuration,
}

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// The intent of `spec` in `namespace`, or everything that is wrong with it.
pub fn intent(spec: &GpuWorkloadSpec, namespace: &str, settings: &Settings) -> Result<Intent, Vec<Refusal>> {
    let mut read = Reader { settings, namespace, refusals: Vec::new() };
    let signals: Vec<_> = spec.signals.iter().enumerate().filter_map(|(at, signal)| read.signal(at, signal)).collect();
    let behavior = read.behavior(spec.behavior.as_ref());
    let gate = read.gate(spec.class, spec.gate.as_ref());
    let (pools, targets) = read.pools(spec);
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
        signals,
        behavior,
        gate,
        pools,
        fallback,
    };
    Ok(Intent { policy, sources, targets, replicas: spec.replicas })
}

/// Reads fields and collects what is wrong.
struct Reader<'a> {
    settings: &'a Settings,
    namespace: &'a str,
    refusals: Vec<Refusal>,
}

impl<'a> Reader<'a> {
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

    fn duration(&mut self, path: &str, duration: Option<&GoDuration>, default: SignedDuration) -> SignedDuration {
        match duration.map(GoDuration::to_duration) {
            None => default,
            Some(Ok(duration)) => duration,
            Some(Err(error)) => {
                self.refuse(path.to_owned(), RefusalReason::BadValue, error.to_string());
                default
            }
        }
    }

    fn signal(&mut self, at: usize, signal: &Signal) -> Option<(SignalPolicy, Arc<dyn SignalSource>)> {
        let path = format!("spec.signals[{at}]");
        let target = match &signal.target {
            None => Target::Replicas,
            Some(target) => self.target(&path, target)?,
        };
        let source = self.source(&path, signal)?;
        Some((SignalPolicy { name: SignalName::from(signal.name.as_str()), target }, source))
    }

    fn target(&mut self, path: &str, target: &SignalTarget) -> Option<Target> {
        let (name, quantity, make): (_, _, fn(f64) -> Target) = match target.kind {
            TargetType::AverageValue => ("averageValue", target.average_value.as_ref(), Target::AverageValue),
            TargetType::Value => ("value", target.value.as_ref(), Target::Value),
        };
        let path = format!("{path}.target.{name}");
        let known = self.refusals.len();
        let number = self.quantity(&path, quantity, 0.0);
        if number > 0.0 {
            return Some(make(number));
        }
        if self.refusals.len() == known {
            self.refuse(path, RefusalReason::BadValue, "must be above zero: what one replica should bear".to_owned());
        }
        None
    }

    fn source(&mut self, path: &str, signal: &Signal) -> Option<Arc<dyn SignalSource>> {
        let source = &signal.source;
        if let Some(prometheus) = &source.prometheus {
            return self.prometheus(path, signal.kind.unwrap_or(SignalType::External), prometheus);
        }
        if let Some(vllm) = &source.vllm {
            return self.vllm(path, vllm);
        }
        if source.scale.is_some() {
            return Some(Arc::new(ScaleSignal));
        }
        let message = "set exactly one source: prometheus, vllm or scale".to_owned();
        self.refuse(format!("{path}.source"), RefusalReason::Malformed, message);
        None
    }

    fn prometheus(&mut self, path: &str, kind: SignalType, source: &PrometheusSource) -> Option<Arc<dyn SignalSource>> {
        let path = format!("{path}.source.prometheus");
        let endpoint = self.endpoint(&path, source.endpoint.as_deref())?;
        let namespace = (!endpoint.allow_cluster_queries).then_some(self.namespace);
        match promql::parse(&source.query).and_then(|query| confine(&query, endpoint, namespace)) {
            Ok(query) => {
                let keys = PrometheusSignal::keys(kind, &source.rows);
                let ask = Ask::new(&endpoint.name, &query, keys);
                Some(Arc::new(PrometheusSignal { ask, kind, rows: source.rows.clone() }))
            }
            Err(error) => {
                let reason = match error {
                    QueryError::OtherNamespace { .. } => RefusalReason::OtherNamespace,
                    _ => RefusalReason::BadQuery,
                };
                self.refuse(format!("{path}.query"), reason, error.to_string());
                None
            }
        }
    }

    fn vllm(&mut self, path: &str, source: &VllmSource) -> Option<Arc<dyn SignalSource>> {
        let path = format!("{path}.source.vllm");
        let endpoint = self.endpoint(&path, source.endpoint.as_deref())?;
        let metric = source.metric.unwrap_or(VllmMetric::RunningPlusWaiting);
        match VllmSignal::new(&endpoint.name, metric, |query| confine(query, endpoint, None)) {
            Ok(signal) => Some(Arc::new(signal)),
            Err(error) => {
                self.refuse(path, RefusalReason::BadQuery, error.to_string());
                None
            }
        }
    }

    fn endpoint(&mut self, path: &str, name: Option<&str>) -> Option<&'a PrometheusConfig> {
        let name = name.unwrap_or("default");
        let found = self.settings.config.named(name);
        if found.is_none() {
            let known = self.settings.config.prometheus.iter().map(|one| one.name.as_str());
            let hint = did_you_mean(name, known).map(|near| format!(" (did you mean {near:?}?)")).unwrap_or_default();
            let message =
                format!("no Prometheus {name:?} is configured{hint}; the operator's configuration names them");
            self.refuse(format!("{path}.endpoint"), RefusalReason::UnknownEndpoint, message);
        }
        found
    }

    fn behavior(&mut self, behavior: Option<&Behavior>) -> policy::Behavior {
        let up = behavior.and_then(|behavior| behavior.scale_up.as_ref());
        let down = behavior.and_then(|behavior| behavior.scale_down.as_ref());
        let quarter = SignedDuration::from_secs(15);
        let default_up = vec![
            RatePolicy { amount: Amount::Percent(100), period: quarter },
            RatePolicy { amount: Amount::Pods(4), period: quarter },
        ];
        let default_down = vec![RatePolicy { amount: Amount::Percent(100), period: quarter }];
        policy::Behavior {
            up: self.pace("spec.behavior.scaleUp", up, SignedDuration::ZERO, default_up),
            down: self.pace("spec.behavior.scaleDown", down, SignedDuration::from_secs(300), default_down),
        }
    }

    fn pace(
        &mut self,
        path: &str,
        rules: Option<&ScalingRules>,
        window: SignedDuration,
        policies: Vec<RatePolicy>,
    ) -> Pace {
        let rules = rules.cloned().unwrap_or_default();
        let tolerance = self.quantity(&format!("{path}.tolerance"), rules.tolerance.as_ref(), 0.1);
        let window =
            rules.stabilization_window_seconds.map_or(window, |seconds| SignedDuration::from_secs(seconds.into()));
        let policies = if rules.policies.is_empty() { policies } else { rules.policies.iter().map(rate).collect() };
        let select = match rules.select_policy {
            None | Some(wellfed_crds::SelectPolicy::Max) => Select::Max,
            Some(wellfed_crds::SelectPolicy::Min) => Select::Min,
            Some(wellfed_crds::SelectPolicy::Disabled) => Select::Disabled,
        };
        Pace { window, tolerance, policies, select }
    }

    fn gate(&mut self, class: Class, gate: Option<&Gate>) -> GatePolicy {
        let gate = gate.cloned().unwrap_or_default();
        let (window, on_unknown) = match class {
            Class::Inference => (MINUTE * 10, policy::OnUnknown::Allow),
            Class::Training | Class::Batch => (MINUTE * 30, policy::OnUnknown::Hold),
        };
        GatePolicy {
            mode: match gate.mode {
                None | Some(wellfed_crds::GateMode::Enforce) => policy::GateMode::Enforce,
                Some(wellfed_crds::GateMode::Advise) => policy::GateMode::Advise,
                Some(wellfed_crds::GateMode::Off) => policy::GateMode::Off,
            },
            window: self.duration("spec.gate.window", gate.window.as_ref(), window),
            expiry: self.duration("spec.gate.expireAfter", gate.expire_after.as_ref(), MINUTE * 30),
            spacing: self.settings.spacing,
            warm_up: self.duration("spec.gate.warmUp", gate.warm_up.as_ref(), MINUTE * 5),
            on_unknown: match gate.on_unknown {
                None => on_unknown,
                Some(wellfed_crds::OnUnknown::Allow) => policy::OnUnknown::Allow,
                Some(wellfed_crds::OnUnknown::Hold) => policy::OnUnknown::Hold,
            },
            thresholds: self.thresholds(&gate),
        }
    }

    fn thresholds(&mut self, gate: &Gate) -> Thresholds {
        let own = gate.thresholds.clone().unwrap_or_default();
        let default = Thresholds::default();
        let mut share = |name: &str, own: Option<&Quantity>, default| {
            let path = format!("spec.gate.thresholds.{name}");
            let share = self.quantity(&path, own, default);
            if share > 1.0 {
                let message = format!("{share} is no share; write one from 0 to 1, such as \"700m\" for 70 %");
                self.refuse(path, RefusalReason::BadValue, message);
            }
            share
        };
        Thresholds {
            underused_below: share("underusedBelow", own.underused_below.as_ref(), default.underused_below),
            starved_below: share("starvedBelow", own.starved_below.as_ref(), default.starved_below),
            busy_from: share("busyFrom", own.busy_from.as_ref(), default.busy_from),
            cpu_of_limit_from: share("cpuOfLimitFrom", own.cpu_of_limit_from.as_ref(), default.cpu_of_limit_from),
            throttled_from: share("throttledFrom", own.throttled_from.as_ref(), default.throttled_from),
            cpu_pressure_from: share("cpuPressureFrom", own.cpu_pressure_from.as_ref(), default.cpu_pressure_from),
            ..default
        }
    }

    fn pools(&mut self, spec: &GpuWorkloadSpec) -> (Vec<PoolPolicy>, Vec<ScaleTargetRef>) {
        let mut pools = Vec::new();
        let mut targets: Vec<ScaleTargetRef> = Vec::new();
        for (at, pool) in spec.pools.iter().enumerate() {
            let Some(target) = pool.scale_target_ref.as_ref().or(spec.scale_target_ref.as_ref()) else { continue };
            self.distinct(at, target, &targets);
            pools.push(self.pool(&format!("spec.pools[{at}]"), pool));
            targets.push(target.clone());
        }
        if let (true, Some(target)) = (spec.pools.is_empty(), &spec.scale_target_ref) {
            pools.push(PoolPolicy { pool: None, base: None, max: None, spill_after: None, return_after: MINUTE * 15 });
            targets.push(target.clone());
        }
        (pools, targets)
    }

    fn distinct(&mut self, at: usize, target: &ScaleTargetRef, earlier: &[ScaleTargetRef]) {
        if earlier.contains(target) {
            let message =
                format!("{} {} is the target of another pool too: give each pool its own", target.kind, target.name);
            self.refuse(format!("spec.pools[{at}].scaleTargetRef"), RefusalReason::DuplicateTarget, message);
        }
    }

    fn pool(&mut self, path: &str, pool: &WorkloadPool) -> PoolPolicy {
        let max = match &pool.max {
            None => None,
            Some(wellfed_crds::IntOrPercent::Int(count)) => Some(PoolMax::Count(Replicas(*count))),
            Some(share @ wellfed_crds::IntOrPercent::Percent(text)) => {
                let percent = share.percent();
                if percent.is_none() {
                    let message =
                        format!("{text:?} is no share; write a count such as 4, or a percentage such as \"80%\"");
                    self.refuse(format!("{path}.max"), RefusalReason::BadValue, message);
                }
                percent.map(PoolMax::Percent)
            }
        };
        let spill_after = pool.spill_after.as_ref();
        let spill = self.duration(&format!("{path}.spillAfter"), spill_after, SignedDuration::ZERO);
        PoolPolicy {
            pool: Some(PoolName::from(pool.name.as_str())),
            base: pool.base.map(replicas),
            max,
            spill_after: spill_after.map(|_| spill),
            return_after: self.duration(&format!("{path}.returnAfter"), pool.return_after.as_ref(), MINUTE * 15),
        }
    }
}

/// The query with the administrator's matchers, kept to `namespace` unless that is none.
fn confine(query: &Query, endpoint: &PrometheusConfig, namespace: Option<&str>) -> Result<Query, QueryError> {
    let kept = match namespace {
        Some(namespace) => promql::enforce(query, &endpoint.namespace_label, namespace)?,
        None => query.clone(),
    };
    promql::with_matchers(&kept, &endpoint.extra_matchers)
}

fn rate(policy: &wellfed_crds::ScalingPolicy) -> RatePolicy {
    let value = u32::try_from(policy.value).unwrap_or(0);
    let amount = match policy.kind {
        wellfed_crds::PolicyType::Pods => Amount::Pods(value),
        wellfed_crds::PolicyType::Percent => Amount::Percent(value),
    };
    RatePolicy { amount, period: SignedDuration::from_secs(policy.period_seconds.into()) }
}

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
