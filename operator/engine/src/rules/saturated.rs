//! GPUs are busy with real work: more of them would help.

use super::{Rule, RuleName, Says, at_least, measure};
use crate::evidence::{Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// Most GPUs active, and at work by SMs, memory bandwidth or tensor pipe.
pub struct Saturated;

impl Rule for Saturated {
    fn name(&self) -> RuleName {
        RuleName::Saturated
    }

    fn cause(&self) -> &'static str {
        "GPUs are busy with real work"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if seen.most_gpus(|gpu| at_work(gpu, seen)) {
            Says::Found(Weight::Support, measured(seen))
        } else {
            Says::NotMine
        }
    }
}

/// Activity alone overstates: a kernel that spins counts as active. The bandwidth arm keeps LLM decode in.
pub(super) fn at_work(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    at_least(gpu.activity(), limits.busy_from)
        && (at_least(gpu.sm, limits.sm_busy_from)
            || at_least(gpu.dram, limits.dram_busy_from)
            || at_least(gpu.tensor, limits.tensor_busy_from))
}

pub(super) fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.busy_from),
        measure(Quantity::SmActivity, seen.gpu_mean(|gpu| gpu.sm), limits.sm_busy_from),
        measure(Quantity::DramActivity, seen.gpu_mean(|gpu| gpu.dram), limits.dram_busy_from),
        measure(Quantity::TensorActivity, seen.gpu_mean(|gpu| gpu.tensor), limits.tensor_busy_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
