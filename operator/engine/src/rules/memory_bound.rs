//! A trainer's GPU memory is full while its SMs are not.

use super::{Certainty, Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{Evidence, GpuEvidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::policy::Class;
use crate::span::Span;

/// Only where nothing takes memory in advance: a server fills it at its start, and says nothing by it. More replicas hold
/// the same each, unless the model is split over them: then it is only said.
pub struct MemoryBound;

/// Weights that take this much leave no room for gradients as large as they are: they fill the memory, not what a step keeps.
const MOSTLY_WEIGHTS: f64 = 0.5;

impl Rule for MemoryBound {
    fn name(&self) -> RuleName {
        RuleName::MemoryBound
    }

    fn cause(&self) -> &'static str {
        "GPU memory is full before the GPUs are busy"
    }

    fn certainty(&self) -> Certainty {
        Certainty::AtLimit
    }

    fn consequence(&self) -> &'static str {
        "another replica would hold as much and be as slow"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let reserves = seen.servers.iter().any(ServerEvidence::keeps_a_cache);
        if seen.class != Class::Training || reserves || !seen.most_gpus(|gpu| full(gpu, seen)) {
            return Says::NotMine;
        }
        Says::Found(if seen.sharded { Weight::Advice } else { Weight::Veto }, measured(seen))
    }
}

fn full(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let few_sms = match gpu.sm {
        Some(sm) => sm.below(limits.sm_busy_from),
        None => !gpu.sm_lost && below(gpu.activity(), limits.starved_below),
    };
    // Memory bandwidth or tensor pipe at work on an active GPU is work, however few SMs it takes. Where the SMs are measured
    // and half of them rest, the tensor pipe does a little all the same.
    let some = if gpu.sm.is_some() { limits.spinning_tensor_below } else { limits.tensor_busy_from };
    let idle_pipes = below(gpu.dram, limits.dram_busy_from) && below(gpu.tensor, some);
    let at_rest = below(gpu.activity(), limits.starved_below);
    at_least(gpu.memory, limits.memory_full_from) && few_sms && (at_rest || idle_pipes)
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::MemoryUsed, seen.gpu_mean(|gpu| gpu.memory), limits.memory_full_from),
        measure(Quantity::MemorySwing, seen.gpu_mean(|gpu| gpu.memory_swing), limits.memory_moves_from),
        measure(Quantity::MemoryOfWeights, seen.gpu_mean(|gpu| gpu.weights.map(Span::exact)), MOSTLY_WEIGHTS),
        measure(Quantity::SmActivity, seen.gpu_mean(|gpu| gpu.sm), limits.sm_busy_from),
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.starved_below),
    ]
    .into_iter()
    .flatten()
    .collect()
}
