//! Whether GPUs wait for data, by the trainers' own count: where they count it, that outranks what hardware shows.

use super::{Evidence, GpuEvidence};
use crate::span::Span;

/// What the trainers say of their wait for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataWait {
    /// None of them counts it.
    Uncounted,
    /// Most of them wait for data.
    High,
    /// Surely no wait to speak of.
    Low,
    /// It is counted, but samples are missing.
    Unsure,
}

impl Evidence {
    /// What the trainers say of their wait for data.
    pub fn data_wait(&self) -> DataWait {
        // What is won by not waiting any more is to be at least what one more trainer, which waits as long, brings.
        let worth = 1.0 / (self.trainers.len() as f64 + 1.0);
        let from = self.gate.thresholds.data_wait_from.max(worth);
        let counting = || self.trainers.iter().filter(|one| one.counts_its_wait());
        if counting().next().is_none() {
            return DataWait::Uncounted;
        }
        if self.most_trainers(|one| one.data_wait_share().is_some_and(|share| share.at_least(from))) {
            return DataWait::High;
        }
        let low = counting().all(|one| one.data_wait_share().is_some_and(|share| share.below(from)));
        if low { DataWait::Low } else { DataWait::Unsure }
    }

    /// Whether most GPUs do not contradict a trainer that says it waits. A host that runs ahead of its GPU counts waits
    /// that the GPU never sees: SMs that are at work most of the time tell, or else memory bandwidth or tensor pipe.
    pub fn gpus_may_wait(&self) -> bool {
        self.most_gpus(|gpu| !may_be_at_work(gpu, self))
    }
}

/// The engine must be busy, and what it does must be work; a counter that was lost may have been high.
fn may_be_at_work(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let may = |value: Option<Span>, lost: bool, from: f64| value.map_or(lost, |value| !value.below(from));
    let piped = may(gpu.dram, gpu.dram_lost, limits.dram_busy_from)
        || may(gpu.tensor, gpu.tensor_lost, limits.tensor_busy_from);
    let works = gpu.sm.map_or(gpu.sm_lost || piped, |sm| !sm.below(limits.sm_busy_from));
    may(gpu.engine, gpu.engine_lost, limits.busy_from) && works
}
