//! Requests are served one after another while others wait: the batch is small, not the GPU.

use super::{Certainty, Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{Evidence, GpuEvidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::span::Span;

/// Hardly more than one request in service, or in a batch, while at least one waits and the GPU has room for more.
pub struct SerialRequests;

impl Rule for SerialRequests {
    fn name(&self) -> RuleName {
        RuleName::SerialRequests
    }

    fn cause(&self) -> &'static str {
        "requests are served one after another while others wait"
    }

    fn consequence(&self) -> &'static str {
        "one more GPU would serve one more at a time, a larger batch serves many"
    }

    fn certainty(&self) -> Certainty {
        Certainty::Counted
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if one_runs(seen) || one_a_batch(seen) { Says::Found(weight(seen), measured(seen)) } else { Says::NotMine }
    }
}

/// What generates tokens keeps a cache. Where it does not tell how full that is, one long context may fill it, unless the
/// GPU waits half of the time: a full cache keeps it busy.
fn weight(seen: &Evidence) -> Weight {
    let may_be_full = |server: &ServerEvidence| server.generates_tokens() && !server.keeps_a_cache();
    let waits = |gpu: &GpuEvidence| below(gpu.activity(), seen.gate.thresholds.starved_below);
    if seen.servers.iter().any(may_be_full) && !seen.most_gpus(waits) { Weight::Advice } else { Weight::Veto }
}

/// A prefill that fills the GPU, or a context that fills the KV cache, also runs alone, with good reason.
fn one_runs(seen: &Evidence) -> bool {
    let serial = |server: &ServerEvidence| queues(server, seen) && alone(server.running, seen);
    // What counts its running requests is an engine for language models, which multiplies in the tensor pipe.
    let has_room = |gpu: &GpuEvidence| has_room(gpu, seen) || (multiplies_little(gpu, seen) && sms_never_seen(gpu));
    seen.most_servers(serial) && seen.most_gpus(has_room)
}

/// Models of any kind and precision.
fn one_a_batch(seen: &Evidence) -> bool {
    let serial =
        |server: &ServerEvidence| queues(server, seen) && (alone(server.running, seen) || alone(server.batch, seen));
    seen.most_servers(serial) && seen.most_gpus(|gpu| has_room(gpu, seen))
}

fn alone(count: Option<Span>, seen: &Evidence) -> bool {
    below(count, seen.gate.thresholds.serial_below)
}

fn queues(server: &ServerEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let kv_allows_more = !server.kv_lost && server.kv.is_none_or(|kv| kv.below(limits.kv_limits_from));
    at_least(server.waiting, limits.waiting_from) && kv_allows_more
}

/// It waits half of the time; or it hardly multiplies, and what it does is wait for its memory or use few SMs.
fn has_room(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    // A model in FP32 leaves the tensor pipe alone and fills the SMs.
    let few_sms = below(gpu.sm, limits.sm_full_from);
    let decodes = at_least(gpu.dram, limits.dram_busy_from);
    below(gpu.activity(), limits.starved_below) || (multiplies_little(gpu, seen) && (few_sms || decodes))
}

fn multiplies_little(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    below(gpu.tensor, seen.gate.thresholds.tensor_busy_from)
}

fn sms_never_seen(gpu: &GpuEvidence) -> bool {
    gpu.sm.is_none() && !gpu.sm_lost
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
