//! The metric catalogue: everything that `/metrics` shows.

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wellfed_engine::gate::Shown;
use wellfed_engine::units::WorkloadId;

/// Which workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OfWorkload {
    namespace: String,
    workload: String,
}

/// Which signal of which workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OfSignal {
    namespace: String,
    workload: String,
    signal: String,
}

/// Which finding of which workload, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OfFinding {
    namespace: String,
    workload: String,
    rule: String,
    state: String,
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OfResult {
    result: String,
}

impl From<&WorkloadId> for OfWorkload {
    fn from(id: &WorkloadId) -> Self {
        Self { namespace: id.namespace.clone(), workload: id.name.clone() }
    }
}

impl OfSignal {
    fn of(id: &WorkloadId, signal: &str) -> Self {
        let OfWorkload { namespace, workload } = OfWorkload::from(id);
        Self { namespace, workload, signal: signal.to_owned() }
    }
}

type Number = Gauge<f64, AtomicU64>;

/// What one cycle knows of a workload's numbers.
pub struct Numbers {
    /// The sum of `spec.replicas`.
    pub current: f64,
    /// What it should be.
    pub desired: f64,
    /// What the signals ask for.
    pub wanted: f64,
    /// 1 refused, 0 allowed, −1 unknown.
    pub refused: f64,
}

/// All metrics.
pub struct Metrics {
    registry: Registry,
    current: Family<OfWorkload, Number>,
    desired: Family<OfWorkload, Number>,
    wanted: Family<OfWorkload, Number>,
    refused: Family<OfWorkload, Number>,
    findings: Family<OfFinding, Gauge>,
    signal_age: Family<OfSignal, Number>,
    writes: Family<OfResult, Counter>,
    cycle: Histogram,
    cycle_at: Number,
    lease: Gauge,
    /// Shown by the gate's lane.
    pub evidence: crate::evidence::Shown,
    known: Mutex<HashSet<OfWorkload>>,
    /// When the oldest used sample of each signal was taken, as far as it was ever read.
    measured: Mutex<HashMap<OfSignal, Timestamp>>,
    found: Mutex<HashSet<OfFinding>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("wellfed");
        let current = Family::default();
        let desired = Family::default();
        let wanted = Family::default();
        let refused = Family::default();
        let findings = Family::default();
        let signal_age = Family::default();
        let writes = Family::default();
        let cycle = Histogram::new([0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0]);
        let cycle_at = Number::default();
        let lease = Gauge::default();
        registry.register("current_replicas", "The sum of spec.replicas over a workload's targets", current.clone());
        registry.register("desired_replicas", "What a workload's replicas should be", desired.clone());
        registry.register("wanted_replicas", "What a workload's signals ask for, before all limits", wanted.clone());
        registry.register(
            "gate_refused",
            "1 if the gate refuses growth, 0 if it allows it, -1 if unknown",
            refused.clone(),
        );
        let help = "1 for each finding that is shown: Open, Retesting, Resolved, Regressed or NotSeenAgain";
        registry.register("findings", help, findings.clone());
        registry.register_with_unit(
            "signal_age",
            "Age of a signal's oldest sample when it was last read; it grows while the signal can't be read",
            Unit::Seconds,
            signal_age.clone(),
        );
        registry.register("scale_writes", "Writes to /scale, by what became of them", writes.clone());
        registry.register_with_unit(
            "cycle_duration",
            "How long cycles take, writes included",
            Unit::Seconds,
            cycle.clone(),
        );
        let help = "When the last cycle ended, in seconds since 1970";
        registry.register_with_unit("last_cycle_timestamp", help, Unit::Seconds, cycle_at.clone());
        registry.register("lease_held", "1 if this instance holds the Lease", lease.clone());
        let evidence = crate::evidence::Shown::default();
        evidence.register(&mut registry);
        let (known, measured, found) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self {
            registry,
            current,
            desired,
            wanted,
            refused,
            findings,
            signal_age,
            writes,
            cycle,
            cycle_at,
            lease,
            evidence,
            known,
            measured,
            found,
        }
    }
}

impl Metrics {
    /// A workload's numbers.
    pub fn workload(&self, id: &WorkloadId, numbers: &Numbers) {
        let labels = OfWorkload::from(id);
        self.current.get_or_create(&labels).set(numbers.current);
        self.desired.get_or_create(&labels).set(numbers.desired);
        self.wanted.get_or_create(&labels).set(numbers.wanted);
        self.refused.get_or_create(&labels).set(numbers.refused);
        self.known().insert(labels);
    }

    /// Every signal that there is: whose, which, and when its oldest sample was taken, if it can be read now. The age of one
    /// that can't goes on growing; one that never could has none; what is a signal no more is dropped.
    pub fn signals<'a>(
        &self,
        signals: impl Iterator<Item = (&'a WorkloadId, &'a str, Option<Timestamp>)>,
        now: Timestamp,
    ) {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *measured);
        for (id, signal, at) in signals {
            let labels = OfSignal::of(id, signal);
            let last = before.remove(&labels);
            if let Some(at) = at.or(last) {
                self.signal_age.get_or_create(&labels).set(now.duration_since(at).as_secs_f64());
                measured.insert(labels, at);
            }
        }
        for gone in before.into_keys() {
            self.signal_age.remove(&gone);
        }
    }

    /// Every finding that is shown now: whose, which and how it stands. What is shown no more is dropped.
    pub fn findings<'a>(&self, shown: impl Iterator<Item = (&'a WorkloadId, &'a Shown)>) {
        let labels = shown.map(|(id, shown)| OfFinding {
            namespace: id.namespace.clone(),
            workload: id.name.clone(),
            rule: shown.name.to_string(),
            state: format!("{:?}", shown.state),
        });
        let now: HashSet<_> = labels.collect();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for gone in found.difference(&now) {
            self.findings.remove(gone);
        }
        for new in now.difference(&found) {
            self.findings.get_or_create(new).set(1);
        }
        *found = now;
    }

    /// Drops the series of workloads that are gone.
    pub fn keep_only(&self, ids: &[&WorkloadId]) {
        let present: HashSet<_> = ids.iter().map(|id| OfWorkload::from(*id)).collect();
        self.known().retain(|labels| {
            let stays = present.contains(labels);
            if !stays {
                self.current.remove(labels);
                self.desired.remove(labels);
                self.wanted.remove(labels);
                self.refused.remove(labels);
            }
            stays
        });
    }

    /// A write and what became of it: `written`, or a reason.
    pub fn wrote(&self, result: &str) {
        self.writes.get_or_create(&OfResult { result: result.to_owned() }).inc();
    }

    /// A cycle took this long and ended now.
    pub fn cycled(&self, seconds: f64, now: f64) {
        self.cycle.observe(seconds);
        self.cycle_at.set(now);
    }

    /// Whether the Lease is held.
    pub fn lease(&self, held: bool) {
        self.lease.set(i64::from(held));
    }

    /// The exposition.
    pub fn text(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(error) => format!("# the metrics can't be shown: {error}\n"),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashSet<OfWorkload>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(1_000_000 + second, 0)
    }

    /// The ages that are shown, by workload and signal.
    fn ages(metrics: &Metrics) -> Vec<(String, String)> {
        let text = metrics.text();
        let lines = text.lines().filter_map(|line| line.strip_prefix("wellfed_signal_age_seconds{"));
        let mut ages: Vec<_> = lines
            .map(|line| {
                let (labels, age) = line.split_once("} ").unwrap();
                let quoted: Vec<_> = labels.split('"').collect();
                (format!("{}/{}", quoted[3], quoted[5]), age.to_owned())
            })
            .collect();
        ages.sort();
        ages
    }

    /// M7 (k/k #119788): what was read before an outage is not shown as the present.
    #[test]
    fn the_age_of_a_signal_grows_while_it_cannot_be_read_and_ends_with_the_signal() {
        let metrics = Metrics::default();
        let id = |name: &str| WorkloadId { namespace: "demo".into(), name: name.into(), uid: name.into() };
        let (chat, search) = (id("chat"), id("search"));
        let shown = |signals: &[(&WorkloadId, &str, Option<Timestamp>)], now| {
            metrics.signals(signals.iter().copied(), now);
            ages(&metrics)
        };
        let is = |ages: &[(&str, &str)]| -> Vec<(String, String)> {
            ages.iter().map(|(signal, age)| ((*signal).to_owned(), (*age).to_owned())).collect()
        };

        let read = shown(&[(&chat, "queue", Some(at(-2))), (&search, "load", None)], at(0));
        assert_eq!(read, is(&[("chat/queue", "2.0")]), "what was never read has no age");
        assert_eq!(shown(&[(&chat, "queue", None), (&search, "load", None)], at(600)), is(&[("chat/queue", "602.0")]));
        assert_eq!(shown(&[(&chat, "queue", Some(at(605)))], at(606)), is(&[("chat/queue", "1.0")]));
        assert_eq!(shown(&[(&chat, "p95", Some(at(606)))], at(607)), is(&[("chat/p95", "1.0")]));
        assert_eq!(shown(&[], at(608)), is(&[]));
    }
}
