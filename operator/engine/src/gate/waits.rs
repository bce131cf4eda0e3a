//! How long work waits, by whoever says so: where arrivals set the throughput, growth shows only here.

use crate::figures::{TOLERANCE, significant};
use crate::policy::Target;
use crate::reading::Reading;
use crate::world::{SignalValue, Workload};
use serde::{Deserialize, Serialize};

/// Waits of one window, less being better; none where it is not known of every replica. Written as a short list, since they
/// are kept in status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[Option<f64>; 4]", into = "[Option<f64>; 4]")]
pub struct Waits {
    /// In the servers' own queues, seconds.
    pub queue: Option<f64>,
    /// From a request's arrival at a server to its end, seconds.
    pub whole: Option<f64>,
    /// The first latency signal, in its own unit.
    pub told: Option<f64>,
    /// What the demand signals ask for, in replicas' worth of their targets.
    pub backlog: Option<f64>,
}

impl From<[Option<f64>; 4]> for Waits {
    fn from([queue, whole, told, backlog]: [Option<f64>; 4]) -> Self {
        Self { queue, whole, told, backlog }
    }
}

impl From<Waits> for [Option<f64>; 4] {
    fn from(waits: Waits) -> Self {
        [waits.queue, waits.whole, waits.told, waits.backlog]
    }
}

/// What became of the waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// One of them is shorter beyond the noise.
    Shorter,
    /// All that were known before are known now, and none is shorter.
    NoShorter,
    /// One is known of one side only: a lost sample never speaks against growth.
    Unknown,
    /// Nobody said anything, before or after.
    Untold,
}

impl Waits {
    /// What the servers say, and what the workload's own signals say now.
    pub(super) fn now(servers: Self, workload: &Workload) -> Self {
        Self { told: workload.measures.latency, backlog: backlog(workload), ..servers }
    }

    /// The signals' latest values blended into what they were; the servers' are means over the window already.
    pub(super) fn blended(self, before: Option<Self>, share: f64) -> Self {
        let blend = |old: Option<f64>, new: Option<f64>| match (old, new) {
            (Some(old), Some(new)) => significant(old + (new - old) * share.clamp(0.0, 1.0)),
            (_, new) => new.and_then(significant),
        };
        let before = before.unwrap_or_default();
        Self {
            queue: self.queue.and_then(significant),
            whole: self.whole.and_then(significant),
            told: blend(before.told, self.told),
            backlog: blend(before.backlog, self.backlog),
        }
    }

    /// `after` against these.
    pub(super) fn against(self, after: Self) -> Waiting {
        let pairs: [_; 4] = [
            (self.queue, after.queue),
            (self.whole, after.whole),
            (self.told, after.told),
            (self.backlog, after.backlog),
        ];
        let shorter = |(before, after): &(Option<f64>, Option<f64>)| {
            before.zip(*after).is_some_and(|(before, after)| after < before * (1.0 - TOLERANCE))
        };
        if pairs.iter().any(shorter) {
            Waiting::Shorter
        } else if pairs.iter().any(|(before, after)| before.is_some() != after.is_some()) {
            Waiting::Unknown
        } else if pairs.iter().all(|(before, _)| before.is_none()) {
            Waiting::Untold
        } else {
            Waiting::NoShorter
        }
    }
}

/// Over all demand signals; none where one of them is not wholly known.
fn backlog(workload: &Workload) -> Option<f64> {
    let policies = workload.policy.signals.iter().zip(&workload.signals);
    let demands = policies.filter(|(policy, _)| !matches!(policy.target, Target::Slo(_)));
    let worth = demands.map(|(policy, state)| Some(total(&state.value, workload)? / policy.target.number()));
    let all: Option<Vec<f64>> = worth.collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum()).and_then(significant)
}

fn total(value: &SignalValue, workload: &Workload) -> Option<f64> {
    match value {
        SignalValue::External(reading) => reading.believed().ok(),
        SignalValue::Pods(rows) => {
            let ready = workload.pods().filter(|pod| pod.is_ready());
            ready.map(|pod| rows.get(&pod.name).map(Reading::believed)?.ok()).sum()
        }
        SignalValue::PodsUnread(_) => None,
    }
}
