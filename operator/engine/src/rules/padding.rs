//! Short prompts are filled up to the length of long ones.

use super::{Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{Evidence, GpuEvidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// Prompts of very different lengths in batches that are formed beforehand, beside GPUs that wait and hardly multiply.
/// A server that counts what runs forms its batches while it runs, and fills nothing up.
pub struct Padding;

impl Rule for Padding {
    fn name(&self) -> RuleName {
        RuleName::Padding
    }

    fn cause(&self) -> &'static str {
        "GPUs compute on padding"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let limits = &seen.gate.thresholds;
        let waits = |gpu: &GpuEvidence| {
            below(gpu.activity(), limits.starved_below) && below(gpu.tensor, limits.padding_tensor_below)
        };
        let uneven = |server: &ServerEvidence| {
            let formed_beforehand = server.batch.is_some() && server.running.is_none();
            formed_beforehand && at_least(server.prompt_spread, limits.prompt_spread_from)
        };
        if seen.most_gpus(waits) && seen.most_servers(uneven) {
            Says::Found(Weight::Advice, measured(seen))
        } else {
            Says::NotMine
        }
    }
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::PromptSpread, seen.server_mean(|server| server.prompt_spread), limits.prompt_spread_from),
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.starved_below),
        measure(Quantity::TensorActivity, seen.gpu_mean(|gpu| gpu.tensor), limits.padding_tensor_below),
    ]
    .into_iter()
    .flatten()
    .collect()
}
