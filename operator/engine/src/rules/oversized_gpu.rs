//! The GPU is larger than its work.

use super::{Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// Hardly active and mostly empty over a whole window, at its peak too, with nothing waiting. A server that takes its memory in advance is
/// not judged.
pub struct OversizedGpu;

impl Rule for OversizedGpu {
    fn name(&self) -> RuleName {
        RuleName::OversizedGpu
    }

    fn cause(&self) -> &'static str {
        "a smaller GPU would hold the work"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let limits = &seen.gate.thresholds;
        let empty = |gpu: &GpuEvidence| {
            below(gpu.activity(), limits.underused_below) && below(gpu.memory_peak, limits.oversized_memory_below)
        };
        let queued = seen.servers.iter().any(|server| at_least(server.waiting, limits.waiting_from));
        if seen.covers_a_window() && seen.most_gpus(empty) && !queued {
            Says::Found(Weight::Advice, measured(seen))
        } else {
            Says::NotMine
        }
    }
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    let peaks = seen.gpus.iter().filter_map(|gpu| gpu.memory_peak).map(|peak| peak.mean);
    let fullest = peaks.reduce(f64::max);
    [
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.underused_below),
        measure(Quantity::MemoryPeak, fullest, limits.oversized_memory_below),
    ]
    .into_iter()
    .flatten()
    .collect()
}
