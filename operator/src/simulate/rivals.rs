//! The other autoscalers, on the same arrivals.

use super::baselines::{Baseline, Hpa, Keda, Metric, Seen};
use super::board::{Gauge, gpu};
use super::cluster::{Cluster, Set};
use super::plant::Look;
use super::scenario::{Measured, Reader, Scenario, Subject};
use crate::signals::Requests;
use clap::ValueEnum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use wellfed_engine::policy::Target;
use wellfed_sim::scenario::Telemetry;

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
    /// A `ScaledObject` on the same, from zero.
    Keda,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Self; 6] =
        [Self::Wellfed, Self::WellfedWithoutGate, Self::AlwaysOn, Self::HpaUtilisation, Self::HpaQueue, Self::Keda];

    /// As it is shown, and as the command line takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wellfed => "wellfed",
            Self::WellfedWithoutGate => "wellfed-without-gate",
            Self::AlwaysOn => "always-on",
            Self::HpaUtilisation => "hpa-utilisation",
            Self::HpaQueue => "hpa-queue",
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
pub struct Rivals(Vec<Rival>);

/// A rival of one workload, and what it is shown: no more than wellfed.
#[derive(Debug)]
struct Rival {
    baseline: Baseline,
    utilisation: Gauge,
    queue: Gauge,
    in_system: Gauge,
}

/// Where a workload stands, and how much of it can be seen.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The instant of the read.
    pub at: Timestamp,
    /// The truth.
    pub look: &'a Look,
    /// What scrapers get to see of it.
    pub telemetry: Telemetry,
}

impl Rivals {
    /// Nothing seen yet. A policy that is no rival keeps `maxReplicas`.
    pub fn new(policy: Policy, scenario: &Scenario) -> Self {
        let one = |subject: &Subject| {
            let (min, max) = (subject.policy.min.0, subject.policy.max.0);
            match policy {
                Policy::HpaUtilisation => {
                    Baseline::Hpa(Hpa::new(Metric::Utilisation(subject.rivals.utilisation), min, max))
                }
                Policy::HpaQueue => Baseline::Hpa(Hpa::new(queue(subject), min, max)),
                Policy::Keda => Baseline::Keda(Keda::new(queue(subject), 0.0, max)),
                Policy::AlwaysOn | Policy::Wellfed | Policy::WellfedWithoutGate => Baseline::AlwaysOn(max),
            }
        };
        let shown = |baseline| Rival {
            baseline,
            utilisation: Gauge::default(),
            queue: Gauge::default(),
            in_system: Gauge::default(),
        };
        Self(scenario.workloads.iter().map(one).map(shown).collect())
    }

    /// One sync of the workload number `at`. A rival knows one target: the first pool's.
    pub fn turn(&mut self, now: f64, at: usize, sight: Sight<'_>, cluster: &mut Cluster) {
        let Some(number) = cluster.sets.iter().position(|set| set.workload == at) else { return };
        let Rival { baseline, utilisation, queue, in_system } = &mut self.0[at];
        let Sight { at: instant, look, telemetry } = sight;
        let seen = Seen {
            now,
            current: cluster.sets[number].asked,
            ready: cluster.of(at).map(Set::ready_pods).sum(),
            utilisation: utilisation.read(gpu(telemetry.gpu), look.utilisation, instant),
            queue: queue.read(telemetry.metrics, Some(look.queue), instant),
            in_system: in_system.read(telemetry.metrics, Some(look.in_system), instant),
        };
        cluster.ask(number, baseline.desired(&seen));
    }
}

/// The metric of the manifest's first signal that counts what waits, with its target.
fn queue(subject: &Subject) -> Metric {
    let signals = subject.policy.signals.iter().zip(&subject.readers);
    let counts = signals.filter_map(|(signal, reader)| match (signal.target, reader) {
        (Target::AverageValue(target), Reader::Server(Requests::Waiting)) => Some(Metric::Queue(target)),
        (Target::AverageValue(target), Reader::Server(_)) => Some(Metric::InSystem(target)),
        (Target::AverageValue(target), Reader::Whole(measured) | Reader::PerPod(measured)) => match measured {
            Measured::Queue => Some(Metric::Queue(target)),
            Measured::InSystem => Some(Metric::InSystem(target)),
            Measured::ArrivalRate | Measured::Latency | Measured::GpuUtilisation => None,
        },
        _ => None,
    });
    let asked = subject.rivals.waiting.map(Metric::Queue);
    asked.into_iter().chain(counts).next().unwrap_or(Metric::Queue(WAITING))
}
