//! Arithmetic runs in FP32 while the faster pipe lies idle.

use super::{Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// A busy FP32 pipe beside an idle tensor pipe. More GPUs help; a lower precision helps more, and costs nothing.
pub struct PrecisionUnused;

impl Rule for PrecisionUnused {
    fn name(&self) -> RuleName {
        RuleName::PrecisionUnused
    }

    fn cause(&self) -> &'static str {
        "GPUs compute in FP32"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let limits = &seen.gate.thresholds;
        let fp32 = |gpu: &GpuEvidence| {
            at_least(gpu.fp32, limits.fp32_busy_from) && below(gpu.tensor, limits.tensor_idle_below)
        };
        if seen.most_gpus(fp32) { Says::Found(Weight::Advice, measured(seen)) } else { Says::NotMine }
    }
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::Fp32Activity, seen.gpu_mean(|gpu| gpu.fp32), limits.fp32_busy_from),
        measure(Quantity::TensorActivity, seen.gpu_mean(|gpu| gpu.tensor), limits.tensor_idle_below),
    ]
    .into_iter()
    .flatten()
    .collect()
}
