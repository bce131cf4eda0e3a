//! Whether GPUs wait for data, by the trainers' own count: where they count it, that outranks what hardware shows.

use super::{Evidence, GpuEvidence};

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
    /// that the GPU never sees: SMs that are at work most of the time tell.
    pub fn gpus_may_wait(&self) -> bool {
        self.most_gpus(|gpu| !may_be_at_work(gpu, self))
    }
}

/// Both counters must be high; one that was lost may have been.
fn may_be_at_work(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let active = gpu.engine.map_or(gpu.engine_lost, |engine| !engine.below(limits.busy_from));
    active && gpu.sm.map_or(gpu.sm_lost, |sm| !sm.below(limits.sm_busy_from))
}
