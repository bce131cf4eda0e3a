//! GPUs wait for their own memory: how LLM decode works. More GPUs help, and fewer bytes would too.

use super::{Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// Memory bandwidth at least half in use, while SMs or tensor pipe are not.
pub struct BandwidthBound;

impl Rule for BandwidthBound {
    fn name(&self) -> RuleName {
        RuleName::BandwidthBound
    }

    fn cause(&self) -> &'static str {
        "GPUs wait for their own memory"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if seen.most_gpus(|gpu| bound(gpu, seen)) { Says::Found(Weight::Advice, measured(seen)) } else { Says::NotMine }
    }
}

fn bound(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    at_least(gpu.dram, limits.bandwidth_from)
        && (below(gpu.sm, limits.sm_busy_from) || below(gpu.tensor, limits.tensor_busy_from))
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::DramActivity, seen.gpu_mean(|gpu| gpu.dram), limits.bandwidth_from),
        measure(Quantity::SmActivity, seen.gpu_mean(|gpu| gpu.sm), limits.sm_busy_from),
        measure(Quantity::TensorActivity, seen.gpu_mean(|gpu| gpu.tensor), limits.tensor_busy_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
