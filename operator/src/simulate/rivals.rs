//! The other autoscalers, on the same arrivals.

use super::cluster::Cluster;
use super::plant::Look;
use super::scenario::Scenario;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

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
}

impl Policy {
    /// Every policy.
    pub const ALL: [Self; 3] = [Self::Wellfed, Self::WellfedWithoutGate, Self::AlwaysOn];

    /// As it is shown, and as the command line takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wellfed => "wellfed",
            Self::WellfedWithoutGate => "wellfed-without-gate",
            Self::AlwaysOn => "always-on",
        }
    }
}

/// A rival, for every workload.
#[derive(Debug)]
pub struct Rivals {
    most: Vec<u32>,
}

impl Rivals {
    /// Nothing seen yet.
    pub fn new(_: Policy, scenario: &Scenario) -> Self {
        Self { most: scenario.workloads.iter().map(|one| one.policy.max.0).collect() }
    }

    /// One sync of the workload number `at`.
    pub fn turn(&mut self, _now: f64, at: usize, _look: &Look, cluster: &mut Cluster) {
        let set = cluster.sets.iter().position(|set| set.workload == at);
        set.into_iter().for_each(|set| cluster.ask(set, self.most[at]));
    }
}
