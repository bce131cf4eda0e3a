//! Requests are served one after another while others wait: the batch is small, not the GPU.

use super::{Certainty, Rule, RuleName, Says, measure};
use crate::evidence::{Evidence, GpuEvidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// Hardly more than one request in service, or in a batch, while at least one waits and the GPU has room for more.
pub struct SerialRequests;

impl Rule for SerialRequests {
    fn name(&self) -> RuleName {
        RuleName::SerialRequests
    }

    fn cause(&self) -> &'static str {
        "requests are served one after another while others wait"
    }

    fn certainty(&self) -> Certainty {
        Certainty::Counted
    }

    fn judge(&self, seen: &Evidence) -> Says {
        // Both: a prefill that fills the GPU, or a context that fills the KV cache, also runs alone, with good reason.
        if seen.most_servers(|server| serial(server, seen)) && seen.most_gpus(|gpu| has_room(gpu, seen)) {
            Says::Found(Weight::Veto, measured(seen))
        } else {
            Says::NotMine
        }
    }
}

fn serial(server: &ServerEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let alone = |value: Option<crate::span::Span>| value.is_some_and(|value| value.below(limits.serial_below));
    let waiting = server.waiting.is_some_and(|waiting| waiting.at_least(limits.waiting_from));
    let kv_allows_more = !server.kv_lost && server.kv.is_none_or(|kv| kv.below(limits.kv_limits_from));
    waiting && kv_allows_more && (alone(server.running) || alone(server.batch))
}

/// It waits half of the time; or it hardly multiplies, and what it does is wait for its memory or use few SMs.
fn has_room(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let waits = gpu.activity().is_some_and(|activity| activity.below(limits.starved_below));
    let multiplies_little = gpu.tensor.is_some_and(|tensor| tensor.below(limits.tensor_busy_from));
    // A model in FP32 leaves the tensor pipe alone and fills the SMs.
    let few_sms = !gpu.sm_lost && gpu.sm.is_none_or(|sm| sm.below(limits.sm_full_from));
    let decodes = gpu.dram.is_some_and(|dram| dram.at_least(limits.dram_busy_from));
    waits || (multiplies_little && (few_sms || decodes))
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::RequestsRunning, seen.server_mean(|server| server.running), limits.serial_below),
        measure(Quantity::BatchSize, seen.server_mean(|server| server.batch), limits.serial_below),
        measure(Quantity::RequestsWaiting, seen.server_mean(|server| server.waiting), limits.waiting_from),
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.starved_below),
        measure(Quantity::TensorActivity, seen.gpu_mean(|gpu| gpu.tensor), limits.tensor_busy_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
