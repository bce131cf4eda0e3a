//! What would have been cheapest, had all arrivals been known beforehand.

use super::cluster::{Cluster, Set};
use super::error::SimulateError;
use super::optimum::{Optimum, with_ready};
use super::scenario::{Scenario, Subject};
use super::series::{POINTS, thinned};
use serde::{Deserialize, Serialize};
use wellfed_sim::flow::{Flow, Inflow, Work};
use wellfed_sim::scenario::{Change, Workload};

/// The least that any policy could have paid for work that is done as it arrives, if starts were foreseen and replicas
/// always full. Real requests come unevenly: who keeps an objective pays more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hindsight {
    /// GPUs × hours.
    pub gpu_hours: f64,
    /// Their price in the cheapest of the workload's pools.
    pub cost: f64,
    /// Starts of replicas.
    pub starts: u32,
    /// Stops of replicas.
    #[serde(default)]
    pub stops: u32,
    /// Changes of the number of replicas.
    #[serde(default)]
    pub scale_events: u32,
    /// Share of time in which work arrives faster than `maxReplicas` can do it, 0–1. At all other times it is done as it arrives:
    /// nothing waits, and no time is over an objective that a replica keeps when it is not full.
    #[serde(default)]
    pub time_over_slo: f64,
    /// Replicas over time: means over equal stretches.
    pub replicas: Vec<f64>,
}

/// More replicas that together do less than this much more are not needed, as a share.
const WORTH: f64 = 0.01;

/// The optimum of the workload number `at`.
pub fn hindsight(scenario: &Scenario, at: usize) -> Result<Hindsight, SimulateError> {
    let subject = &scenario.workloads[at];
    let failed = |error: wellfed_sim::scenario::ScenarioError| SimulateError::Invalid {
        file: scenario.name.clone(),
        path: format!("workloads[{at}].arrivals"),
        problem: error.to_string(),
    };
    let mut inflow = Inflow::new(&subject.work, &scenario.folder, scenario.seed + at as u64).map_err(failed)?;
    let mut changes: Vec<&Change> = scenario.changes.iter().filter(|one| one.workload == subject.id.name).collect();
    changes.sort_by(|one, other| other.at.seconds().total_cmp(&one.at.seconds()));
    let mut work = subject.work.clone();
    let mut needs = Needs::new(subject, &work);
    let (mut need, mut over) = (Vec::new(), 0.0);
    let mut now = 0.0;
    while now < scenario.length {
        while let Some(change) = changes.pop_if(|change| change.at.seconds() <= now) {
            work = changed(work, change);
            inflow.adopt(&work).map_err(failed)?;
            needs = Needs::new(subject, &work);
        }
        let seconds = scenario.cycle.min(scenario.length - now);
        let (fewest, enough) = needs.of(inflow.next(now, seconds), seconds);
        need.push(fewest);
        over += if enough { 0.0 } else { seconds };
        now += seconds;
    }
    // Every policy gets these for nothing.
    let ready = Cluster::new(scenario).of(at).map(Set::ready_pods).sum();
    let best = with_ready(&need, scenario.cycle, scenario.start_up, ready);
    Ok(Hindsight {
        time_over_slo: over / scenario.length.max(scenario.cycle),
        ..priced(scenario, subject, &best, ready)
    })
}

/// That every change can be made was checked at the start.
fn changed(work: Workload, change: &Change) -> Workload {
    change.set.iter().fold(work, |work, (path, value)| work.with(path, value).unwrap_or(work))
}

fn priced(scenario: &Scenario, subject: &Subject, best: &Optimum, ready: u32) -> Hindsight {
    let prices = subject.targets.iter().map(|(pool, _)| scenario.pools[*pool].price_per_gpu_hour);
    let gpu_hours = best.replica_hours * f64::from(subject.pod.gpus);
    let replicas: Vec<f64> = best.replicas.iter().map(|replicas| f64::from(*replicas)).collect();
    let (stops, scale_events) = turns(&best.replicas, ready);
    Hindsight {
        gpu_hours,
        cost: gpu_hours * prices.fold(f64::INFINITY, f64::min),
        starts: best.starts,
        stops,
        scale_events,
        time_over_slo: 0.0,
        replicas: thinned(&replicas, POINTS),
    }
}

/// Stops of replicas, `ready` of which there were at first, and changes of their number.
fn turns(replicas: &[u32], ready: u32) -> (u32, u32) {
    let before = std::iter::once(&ready).chain(replicas);
    before.zip(replicas).fold((0, 0), |(stops, changes), (before, now)| {
        (stops + before.saturating_sub(*now), changes + u32::from(before != now))
    })
}

/// How many replicas some work needs.
struct Needs {
    flow: Flow,
    cpu_limit: Option<f64>,
    most: u32,
    /// The lengths of work that `capacity` holds for.
    lengths: (f64, f64),
    /// What so many replicas do in a second.
    capacity: Vec<f64>,
}

impl Needs {
    fn new(subject: &Subject, work: &Workload) -> Self {
        let (cpu_limit, most) = (subject.pod.cpu_limit, subject.policy.max.0);
        Self { flow: Flow::new(work), cpu_limit, most, lengths: (-1.0, -1.0), capacity: Vec::new() }
    }

    /// The fewest that keep up with `work`, and true; where none do, the fewest to which more would add next to nothing, and
    /// false.
    fn of(&mut self, work: Work, seconds: f64) -> (u32, bool) {
        if self.lengths != (work.prompt_tokens, work.output_tokens) {
            self.lengths = (work.prompt_tokens, work.output_tokens);
            self.capacity = (0..=self.most).map(|count| self.flow.capacity(work, count, self.cpu_limit)).collect();
        }
        let most = self.capacity.iter().copied().fold(0.0, f64::max);
        let arrives = work.amount / seconds;
        let wanted = arrives.min(most * (1.0 - WORTH));
        let fewest = self.capacity.iter().position(|capacity| *capacity >= wanted - 1e-9);
        (fewest.and_then(|fewest| u32::try_from(fewest).ok()).unwrap_or(self.most), arrives <= most + 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ready_at_first_and_not_needed_stops_and_each_step_is_one_change() {
        assert_eq!(turns(&[1, 1, 3, 2, 0], 2), (4, 4));
        assert_eq!(turns(&[2, 2], 2), (0, 0));
        assert_eq!(turns(&[], 2), (0, 0));
    }
}
