//! What a look measured besides its findings: how well the workload does, and what could be checked at all.

use crate::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence, Trend};
use crate::figures::{Figures, SignalFigures, Throughput, WorkUnit};
use crate::gate::Waits;
use crate::span::Span;
use serde::{Deserialize, Serialize};

/// Beside an opinion; unknown is none, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// How well it does.
    pub figures: Figures,
    /// The queue's share of the time until an answer begins, 0–1, mean over servers. Where samples are missing: what it
    /// could be at most.
    pub queue_share: Option<f64>,
    /// How long requests wait, by the servers' own account.
    pub waits: Waits,
    /// What was measured well enough that a silent rule means something.
    pub checked: Checked,
}

/// Whether the means to find each cause were there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checked {
    /// Waiting for storage or data.
    pub data: bool,
    /// Traffic between GPUs.
    pub communication: bool,
    /// The CPU at its limit.
    pub cpu: bool,
}

impl Facts {
    /// Of `seen`.
    pub fn of(seen: &Evidence) -> Self {
        Self {
            figures: figures(seen),
            queue_share: queue_share(&seen.servers),
            waits: waits(&seen.servers),
            checked: checked(seen),
        }
    }
}

fn figures(seen: &Evidence) -> Figures {
    let fullest = largest(seen.gpus.iter().filter_map(|gpu| gpu.memory).map(|memory| memory.mean));
    // One that is no number makes the whole unknown: the mean of the others would hide it.
    let qualities: Option<Vec<f64>> = seen.trainers.iter().filter_map(|trainer| trainer.quality).map(last).collect();
    Figures {
        throughput: throughput(seen),
        activity: seen.gpu_mean(GpuEvidence::activity),
        latency: seen.server_mean(|server| server.whole_seconds),
        memory: fullest,
        quality: qualities.and_then(|all| mean(all.into_iter())),
        signals: SignalFigures::default(),
    }
    .rounded()
}

const fn last(trend: Trend) -> Option<f64> {
    match trend {
        Trend::Moved { last, .. } => Some(last),
        Trend::Diverged => None,
    }
}

fn largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::max)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// By the workload's own account, and only if every replica gives one.
fn throughput(seen: &Evidence) -> Option<Throughput> {
    let servers: Option<Vec<Span>> = seen.servers.iter().map(|server| server.progress).collect();
    let trainers: Option<Vec<Span>> = seen.trainers.iter().map(|trainer| trainer.throughput).collect();
    let served = servers.and_then(|each| Throughput::of(WorkUnit::Served, &each));
    served.or_else(|| Throughput::of(WorkUnit::Trained, &trainers?))
}

/// Over all servers; none where one of them does not say.
fn queue_share(servers: &[ServerEvidence]) -> Option<f64> {
    let most = servers.iter().map(|server| server.queue_share().map(|share| share.high.min(1.0)));
    let all: Option<Vec<f64>> = most.collect();
    mean(all?.into_iter())
}

/// Means over all servers; none where one of them lacks a sample.
fn waits(servers: &[ServerEvidence]) -> Waits {
    let complete = |field: fn(&ServerEvidence) -> Option<Span>| {
        let whole = |server| field(server).filter(|span| span.low >= span.high).map(|span| span.mean);
        let all: Option<Vec<f64>> = servers.iter().map(whole).collect();
        mean(all?.into_iter())
    };
    Waits {
        queue: complete(|server| server.queue_seconds),
        whole: complete(|server| server.whole_seconds),
        ..Waits::default()
    }
}

fn checked(seen: &Evidence) -> Checked {
    let all = |test: fn(&GpuEvidence) -> bool| !seen.gpus.is_empty() && seen.gpus.iter().all(test);
    let stored = !seen.containers.is_empty() && seen.containers.iter().all(|one| one.io_pressure.is_some());
    let told = !seen.trainers.is_empty() && seen.trainers.iter().all(|one| one.data_wait_seconds.is_some());
    let cpu = |one: &ContainerEvidence| one.of_limit().or(one.throttled).or(one.pressure).is_some();
    Checked {
        data: stored || told,
        communication: all(|gpu| gpu.nvlink.is_some() || gpu.pcie.is_some()),
        cpu: !seen.containers.is_empty() && seen.containers.iter().all(cpu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(queue: f64, first: f64, whole: f64) -> ServerEvidence {
        let exact = |value| Some(Span::exact(value));
        ServerEvidence {
            queue_seconds: exact(queue),
            first_token_seconds: exact(first),
            whole_seconds: exact(whole),
            ..ServerEvidence::default()
        }
    }

    #[test]
    fn the_queues_share_is_the_mean_over_the_servers() {
        assert_eq!(queue_share(&[says(0.5, 1.0, 10.0), says(0.25, 1.0, 10.0)]), Some(0.375));
        assert_eq!(queue_share(&[]), None);
    }

    /// Kills: a share over the servers that say it, and one over the means where samples are missing.
    #[test]
    fn a_server_that_says_nothing_makes_the_share_unknown_and_a_missing_sample_makes_it_larger() {
        assert_eq!(queue_share(&[says(0.1, 1.0, 10.0), ServerEvidence::default()]), None);
        let missing = Span { low: 0.1, mean: 0.1, high: 0.6 };
        let partial = ServerEvidence { queue_seconds: Some(missing), ..says(0.1, 1.0, 10.0) };
        assert_eq!(queue_share(&[partial]), Some(0.6));
    }
}
