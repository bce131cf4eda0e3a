//! How many replicas of a workload do anything: asked of the models, whatever the gate thinks.

use wellfed::simulate::Scenario;
use wellfed_sim::flow::{Flow, Work};
use wellfed_sim::scenario::{Arrivals, Llm, Model, Router, Service, Workload};

/// A replica that adds less than this share of what the others do on the average does not help.
const HELPS: f64 = 0.1;

/// Replicas that help, from each moment on, seconds; the moments rise, and the first is the start.
pub fn useful(scenario: &Scenario) -> Vec<(f64, u32)> {
    let Some(subject) = scenario.workloads.first() else { return Vec::new() };
    let mut changes: Vec<_> = scenario.changes.iter().collect();
    changes.sort_by(|one, other| one.at.seconds().total_cmp(&other.at.seconds()));
    let count = |work: &Workload| helping(work, subject.policy.max.0, subject.pod.cpu_limit);
    let mut work = subject.work.clone();
    let mut found = vec![(0.0, count(&work))];
    for change in changes {
        for (path, value) in &change.set {
            work = work.with(path, value).unwrap_or(work);
        }
        found.push((change.at.seconds(), count(&work)));
    }
    found
}

/// The most replicas of which each helps, however much there is to do.
fn helping(work: &Workload, most: u32, cpu_limit: Option<f64>) -> u32 {
    let flow = Flow::new(work);
    let does = |count: u32| delivered(&flow, work, count, cpu_limit);
    let helps = |count: &u32| does(*count) - does(*count - 1) >= HELPS * does(*count) / f64::from(*count);
    (1..=most).take_while(helps).last().unwrap_or(0)
}

/// Work a second that `count` replicas do without a queue that grows for ever at one of them.
fn delivered(flow: &Flow, work: &Workload, count: u32, cpu_limit: Option<f64>) -> f64 {
    let all = flow.capacity(like(&work.arrivals), count, cpu_limit);
    let Some(router) = router(&work.model).filter(|router| router.pinned > 0.0) else { return all };
    let stuck = flow.capacity(like(&work.arrivals), count.min(router.to), cpu_limit);
    all.min(stuck / router.pinned)
}

fn router(model: &Model) -> Option<&Router> {
    match model {
        Model::Llm(Llm { router, .. }) | Model::Service(Service { router, .. }) => router.as_ref(),
        Model::Training(_) => None,
    }
}

/// Work of the lengths that arrive.
fn like(arrivals: &Arrivals) -> Work {
    let (prompt, output) = match arrivals {
        Arrivals::Rate(rate) => (rate.prompt_tokens, rate.output_tokens),
        Arrivals::Series(series) => (series.prompt_tokens, series.output_tokens),
        Arrivals::Trace(_) => (0, 0),
    };
    Work { amount: 1.0, prompt_tokens: f64::from(prompt), output_tokens: f64::from(output) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::mixture::Mixture;

    /// What each cause leaves of `maxReplicas`, worked out by hand from the numbers of the mixture.
    #[test]
    fn replicas_help_up_to_where_their_common_cause_ends() {
        let mixture = Mixture::bundled().unwrap();
        for (name, as_is, mended) in [
            ("chat-70b", 40, None),
            // 2 333 samples a second from the storage; a replica takes 2 048 alone.
            ("slow-storage", 2, Some(16)),
            // 24 workers keep 24 of the 64 cores at work, and the third replica takes the last; mended, 4.36 feed one.
            ("shared-cores", 3, Some(15)),
            // 2 048 samples a step, which is never shorter than 0.75 s; one replica takes 1 s for them, two take 0.75 s.
            ("small-kernels", 2, Some(16)),
            // Two replicas take 95 % of the requests.
            ("sticky-sessions", 3, Some(16)),
            ("serial-chat", 24, Some(24)),
        ] {
            let entry = mixture.named(name).unwrap();
            let got = useful(&mixture.scenario(entry, true).unwrap());

            assert_eq!(got.first().map(|(_, count)| *count), Some(as_is), "{name} as it is");
            assert_eq!(got.get(1).map(|(_, count)| *count), mended, "{name}, mended");
        }
    }
}
