//! What a look measured besides its findings: how well the workload does, and what could be checked at all.

use crate::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence, Trend};
use crate::figures::{Figures, SignalFigures, Throughput, WorkUnit};
use crate::span::Span;
use serde::{Deserialize, Serialize};

/// Beside an opinion; unknown is none, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// How well it does.
    pub figures: Figures,
    /// The queue's share of the time until an answer begins or of the whole answer's, whichever is larger, 0–1. Where
    /// samples are missing: what it could be at most.
    pub queue_share: Option<f64>,
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
        Self { figures: figures(seen), queue_share: queue_share(&seen.servers), checked: checked(seen) }
    }
}

fn figures(seen: &Evidence) -> Figures {
    let fullest = largest(seen.gpus.iter().filter_map(|gpu| gpu.memory).map(|memory| memory.mean));
    let quality = seen.trainers.iter().filter_map(|trainer| match trainer.quality? {
        Trend::Moved { last, .. } => Some(last),
        Trend::Diverged => None,
    });
    Figures {
        throughput: throughput(seen),
        activity: seen.gpu_mean(GpuEvidence::activity),
        latency: seen.server_mean(|server| server.whole_seconds),
        memory: fullest,
        quality: mean(quality),
        signals: SignalFigures::default(),
    }
    .rounded()
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

fn queue_share(servers: &[ServerEvidence]) -> Option<f64> {
    let share = |whole: fn(&ServerEvidence) -> Option<Span>| {
        let each: Option<Vec<f64>> =
            servers.iter().map(|server| Some(server.queue_seconds?.share_of(whole(server)?)?.high.min(1.0))).collect();
        each.and_then(|each| mean(each.into_iter()))
    };
    let shares = [share(|server| server.first_token_seconds), share(|server| server.whole_seconds)];
    largest(shares.into_iter().flatten())
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
