//! Requests are late although none of them waits: the model itself takes too long.

use super::{Certainty, Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{Evidence, GpuEvidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::span::Span;

/// The objective is exceeded while the queue is a small share of the latency. It refuses only where requests do not slow
/// each other down either: a server that takes everything in at once queues inside its batch, and more replicas help it.
pub struct LatencyNotQueueBound;

impl Rule for LatencyNotQueueBound {
    fn name(&self) -> RuleName {
        RuleName::LatencyNotQueueBound
    }

    fn cause(&self) -> &'static str {
        "answers are late although no request waits"
    }

    fn consequence(&self) -> &'static str {
        "another replica would answer as late"
    }

    fn certainty(&self) -> Certainty {
        Certainty::Counted
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if !(seen.slo_breached && unqueued(seen)) {
            return Says::NotMine;
        }
        let undisturbed =
            alone(seen) || far_apart(seen) || few_decode(seen) || hardly_prompts(seen) || one_a_batch(seen);
        Says::Found(if undisturbed { Weight::Veto } else { Weight::Advice }, measured(seen))
    }
}

fn unqueued(seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let few_wait = |server: &ServerEvidence| below(server.waiting, limits.waiting_from);
    // Servers that form their batches beforehand do not say how many they serve.
    if seen.most_servers(|server| server.batch.is_some()) {
        let small = |server: &ServerEvidence| below(server.queue_share(), limits.queue_share_below);
        return seen.most_servers(|server| few_wait(server) && small(server));
    }
    seen.most_servers(few_wait) && hardly_queued(&seen.servers, limits.queue_share_below)
}

/// Whether less than `share` of all latency is queueing, by the requests in service: a server that hardly serves says hardly
/// anything of its latency, and it matters as little. What a server does not say of its latency may all be queueing, and how
/// many it serves is the number that speaks for the queue. Unknown, so no, where one does not say how many it serves.
fn hardly_queued(servers: &[ServerEvidence], share: f64) -> bool {
    let beyond = |server: &ServerEvidence| {
        let beyond = server.queue_share().map_or(1.0, |share| share.high.min(1.0)) - share;
        server.running.map(|running| beyond * if beyond > 0.0 { running.high } else { running.low })
    };
    servers.iter().try_fold(0.0, |sum, server| Some(sum + beyond(server)?)).is_some_and(|sum| sum < 0.0)
}

/// Hardly more than one at a time, and neither arithmetic nor long contexts that two would have to share.
fn alone(seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    // A model in FP32 leaves the tensor pipe alone and fills the SMs.
    let shares_nothing = |gpu: &GpuEvidence| {
        below(gpu.tensor, limits.tensor_busy_from)
            && (below(gpu.sm, limits.sm_full_from) || at_least(gpu.dram, limits.dram_busy_from))
    };
    let one = |server: &ServerEvidence| {
        below(server.running, limits.serial_below) && (!server.keeps_a_cache() || short(server, seen))
    };
    seen.most_servers(one) && seen.most_gpus(shares_nothing)
}

/// So seldom together that another replica shortens them by less than a tenth, even if all that run at one server share
/// its speed.
fn far_apart(seen: &Evidence) -> bool {
    let most = seen.servers.iter().map(|server| server.running.map_or(f64::INFINITY, |running| running.high));
    let Some(running) = most.reduce(f64::max).filter(|running| running.is_finite()) else { return false };
    gain(running, seen) < seen.gate.thresholds.gain_from
}

/// Share by which another replica shortens what takes `1 + others` of its time alone: a share `b = others / (1 + others)`
/// of a server is taken, so that it takes `1 / (1 - b)` of its time, and `1 / (1 - b n / (n + 1))` with one more than `n`.
fn gain(others: f64, seen: &Evidence) -> f64 {
    others / (seen.servers.len() as f64 + 1.0 + others)
}

/// Contexts that add so little to the reading of the weights that another replica, which takes some of them, shortens it
/// by less than a tenth. Taken for as much to read as the weights is a cache that is small no more.
fn short(server: &ServerEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    server.kv.is_some_and(|kv| {
        kv.below(limits.kv_small_below) && gain(kv.high / limits.kv_small_below, seen) < limits.gain_from
    })
}

/// Few enough to share the reading of the weights, and not so long that they add much to it.
fn few(server: &ServerEvidence, seen: &Evidence) -> bool {
    below(server.running, seen.gate.thresholds.few_running_below) && short(server, seen)
}

/// A few at a time, for which the GPU reads its weights once.
fn few_decode(seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let reads = |gpu: &GpuEvidence| {
        let room = gpu.sm.map_or(!gpu.sm_lost, |sm| sm.below(limits.sm_full_from));
        let reading = at_least(gpu.dram, limits.dram_busy_from) || room && at_least(gpu.dram, limits.decoding_from);
        reading && below(gpu.tensor, limits.tensor_busy_from)
    };
    seen.most_servers(|server| few(server, seen)) && seen.most_gpus(reads)
}

/// A few at a time whose answers take so much longer than their first tokens that prompts, which alone would share the
/// arithmetic, take less than a tenth of the time. Bandwidth does not tell it of GPUs that rest between requests.
fn hardly_prompts(seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let prompts = |server: &ServerEvidence| {
        let share = server.first_token_seconds?.share_of(server.whole_seconds?)?;
        Some(Span { high: share.high * server.running?.high, ..share })
    };
    let decodes = |server: &ServerEvidence| few(server, seen) && below(prompts(server), limits.gain_from);
    seen.most_servers(decodes) && seen.most_gpus(|gpu| below(gpu.tensor, limits.tensor_busy_from))
}

/// Models that answer at once, one request an execution, with time between them.
fn one_a_batch(seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    seen.most_servers(|server| below(server.batch, limits.serial_below))
        && seen.most_gpus(|gpu| below(gpu.activity(), limits.starved_below))
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    let context = |what, value: Option<f64>| value.map(|value| Measure::of(what, value, None));
    [
        measure(Quantity::QueueShare, seen.server_mean(ServerEvidence::queue_share), limits.queue_share_below),
        context(Quantity::FirstToken, seen.server_mean(|server| server.first_token_seconds)),
        context(Quantity::WholeTime, seen.server_mean(|server| server.whole_seconds)),
        measure(Quantity::RequestsWaiting, seen.server_mean(|server| server.waiting), limits.waiting_from),
        measure(Quantity::RequestsRunning, seen.server_mean(|server| server.running), limits.few_running_below),
        measure(Quantity::TensorActivity, seen.gpu_mean(|gpu| gpu.tensor), limits.tensor_busy_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
