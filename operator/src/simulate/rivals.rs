//! The other autoscalers, on the same arrivals.

use super::baselines::{Baseline, Hpa, Keda, Metric, Rows, Seen};
use super::board::{Board, Gauge, gpu};
use super::cluster::{Cluster, Set};
use super::plant::{Look, Plant};
use super::scenario::{Measured, Reader, Scenario, Subject};
use crate::signals::Requests;
use clap::ValueEnum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use wellfed_engine::policy::Target;
use wellfed_engine::units::Replicas;
use wellfed_engine::world::{PodState, PoolState, SignalState, SignalValue};

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// wellfed, as the manifests say.
    Wellfed,
    /// wellfed, with every gate off.
    WellfedWithoutGate,
    /// Always `maxReplicas`.
    AlwaysOn,
    /// A `HorizontalPodAutoscaler` on the GPUs' utilisation.
    HpaUtilisation,
    /// A `HorizontalPodAutoscaler` on what waits, or is in the system.
    HpaQueue,
    /// The same, read pod by pod where the manifest's signal is.
    HpaPods,
    /// A `ScaledObject` on the same, from zero.
    Keda,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Self; 7] = [
        Self::Wellfed,
        Self::WellfedWithoutGate,
        Self::AlwaysOn,
        Self::HpaUtilisation,
        Self::HpaQueue,
        Self::HpaPods,
        Self::Keda,
    ];

    /// As it is shown, and as the command line takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wellfed => "wellfed",
            Self::WellfedWithoutGate => "wellfed-without-gate",
            Self::AlwaysOn => "always-on",
            Self::HpaUtilisation => "hpa-utilisation",
            Self::HpaQueue => "hpa-queue",
            Self::HpaPods => "hpa-pods",
            Self::Keda => "keda",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What waits for each replica, where the manifest gives no number for it.
const WAITING: f64 = 10.0;

/// A rival, for every workload.
#[derive(Debug)]
pub struct Rivals {
    start: Timestamp,
    all: Vec<Rival>,
}

/// A rival of one workload, and what it is shown: no more than wellfed.
#[derive(Debug)]
struct Rival {
    baseline: Baseline,
    utilisation: Gauge,
    queue: Gauge,
    in_system: Gauge,
    /// The position of the signal that it reads pod by pod.
    each: Option<usize>,
    board: Board,
}

/// Where a workload stands, and how much of it can be seen.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The instant of the read.
    pub at: Timestamp,
    /// The workload.
    pub subject: &'a Subject,
    /// All work.
    pub plant: &'a Plant,
    /// The truth.
    pub look: &'a Look,
    /// Requests or samples that arrive a second.
    pub rate: f64,
}

impl Rivals {
    /// Nothing seen yet. A policy that is no rival keeps `maxReplicas`.
    pub fn new(policy: Policy, scenario: &Scenario) -> Self {
        let one = |subject: &Subject| {
            let (min, max) = (subject.policy.min.0, subject.policy.max.0);
            let hpa = |metric| Baseline::Hpa(Hpa::new(metric, min, max));
            match policy {
                Policy::HpaUtilisation => (hpa(Metric::Utilisation(subject.rivals.utilisation)), None),
                Policy::HpaQueue => (hpa(queue(subject)), None),
                Policy::HpaPods => match each_pod(subject) {
                    Some((signal, target)) => (hpa(Metric::EachPod(target)), Some(signal)),
                    None => (hpa(queue(subject)), None),
                },
                Policy::Keda => (Baseline::Keda(Keda::new(queue(subject), 0.0, max)), None),
                Policy::AlwaysOn | Policy::Wellfed | Policy::WellfedWithoutGate => (Baseline::AlwaysOn(max), None),
            }
        };
        let shown = |(baseline, each)| Rival {
            baseline,
            utilisation: Gauge::default(),
            queue: Gauge::default(),
            in_system: Gauge::default(),
            each,
            board: Board::default(),
        };
        Self { start: scenario.start, all: scenario.workloads.iter().map(one).map(shown).collect() }
    }

    /// One sync of the workload number `at`. A rival knows one target: the first pool's.
    pub fn turn(&mut self, now: f64, at: usize, sight: Sight<'_>, cluster: &mut Cluster) {
        let Some(number) = cluster.sets.iter().position(|set| set.workload == at) else { return };
        let rows = self.rows(at, sight, cluster);
        let Rival { baseline, utilisation, queue, in_system, .. } = &mut self.all[at];
        let Sight { at: instant, look, plant, .. } = sight;
        let telemetry = plant.telemetry(at);
        let seen = Seen {
            now,
            current: cluster.sets[number].asked,
            ready: cluster.of(at).map(Set::ready_pods).sum(),
            utilisation: utilisation.read(gpu(telemetry.gpu), look.utilisation, instant),
            queue: queue.read(telemetry.metrics, Some(look.queue), instant),
            in_system: in_system.read(telemetry.metrics, Some(look.in_system), instant),
            rows,
        };
        cluster.ask(number, baseline.desired(&seen));
    }

    /// What the pods of the workload number `at` show, if its rival reads that.
    fn rows(&mut self, at: usize, sight: Sight<'_>, cluster: &Cluster) -> Rows {
        let rival = &mut self.all[at];
        let Some(signal) = rival.each else { return Rows::default() };
        let pool = |set: &Set| PoolState { asked: Replicas(set.asked), pods: set.seen(self.start) };
        let pools: Vec<_> = cluster.of(at).map(pool).collect();
        let Sight { at: instant, subject, plant, look, rate } = sight;
        let shown = rival.board.read(subject, (plant, at), (look, rate), &pools, instant);
        shown.get(signal).map_or_else(Rows::default, |signal| rows(signal, &pools))
    }
}

fn rows(shown: &SignalState, pools: &[PoolState]) -> Rows {
    let SignalValue::Pods(values) = &shown.value else { return Rows::default() };
    let mut rows = Rows::default();
    for pod in pools.iter().flat_map(|pool| &pool.pods).filter(|pod| pod.is_live()) {
        match values.get(&pod.name).and_then(|value| value.believed().ok()) {
            _ if matches!(pod.state, PodState::Pending { .. }) => rows.pending += 1,
            Some(value) => {
                rows.sum += value;
                rows.known += 1;
            }
            None => rows.missing += 1,
        }
    }
    rows
}

/// The metric of the manifest's first signal that counts what waits, with its target.
fn queue(subject: &Subject) -> Metric {
    let asked = subject.rivals.waiting.map(Metric::Queue);
    let first = || counts(subject).next().map(|(_, metric, _)| metric);
    asked.or_else(first).unwrap_or(Metric::Queue(WAITING))
}

/// That signal's position and target, if it is one number a pod.
fn each_pod(subject: &Subject) -> Option<(usize, f64)> {
    let (signal, _, target) = counts(subject).next().filter(|_| subject.rivals.waiting.is_none())?;
    matches!(subject.readers[signal], Reader::Server(_) | Reader::PerPod(_)).then_some((signal, target))
}

/// The manifest's signals that count what waits: position, metric and target.
fn counts(subject: &Subject) -> impl Iterator<Item = (usize, Metric, f64)> {
    let signals = subject.policy.signals.iter().zip(&subject.readers).enumerate();
    signals.filter_map(|(position, (signal, reader))| {
        let Target::AverageValue(target) = signal.target else { return None };
        let metric = match reader {
            Reader::Server(Requests::Waiting) => Metric::Queue(target),
            Reader::Server(_) => Metric::InSystem(target),
            Reader::Whole(measured) | Reader::PerPod(measured) => match measured {
                Measured::Queue => Metric::Queue(target),
                Measured::InSystem => Metric::InSystem(target),
                Measured::ArrivalRate | Measured::Latency | Measured::GpuUtilisation => return None,
            },
            Reader::Scale(_) => return None,
        };
        Some((position, metric, target))
    })
}
