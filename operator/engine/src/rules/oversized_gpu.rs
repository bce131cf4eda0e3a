//! The GPU is larger than its work.

use super::{Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{Evidence, GpuEvidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::span::Span;

/// Hardly active and mostly empty over a whole window, at its peak too, with nothing waiting. A server takes its memory in
/// advance: of that counts what its weights and its KV cache in use need.
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
        let cache = cache(seen);
        let fits = |gpu: &GpuEvidence| {
            if seen.servers.iter().any(ServerEvidence::keeps_a_cache) {
                cache.is_some_and(|cache| needed(gpu, cache.high) < limits.oversized_memory_below)
            } else {
                below(gpu.memory_peak, limits.oversized_memory_below)
            }
        };
        let small = |gpu: &GpuEvidence| below(gpu.activity(), limits.underused_below) && fits(gpu);
        let queued = seen.servers.iter().any(|server| at_least(server.waiting, limits.waiting_from));
        if seen.covers_a_window() && seen.most_gpus(small) && !queued {
            Says::Found(Weight::Advice, measured(cache, seen))
        } else {
            Says::NotMine
        }
    }
}

/// The KV cache in use at the fullest server; none where nobody has one, or one that counts it has a gap.
fn cache(seen: &Evidence) -> Option<Span> {
    let fuller = |one: Span, other: Span| if other.high > one.high { other } else { one };
    let used = seen.servers.iter().filter(|server| server.keeps_a_cache()).map(|server| server.kv);
    used.reduce(|one, other| one.zip(other).map(|(one, other)| fuller(one, other))).flatten()
}

/// Share of the GPU's memory that weights and this share of the cache need. Where the weights are not known, they count for
/// nothing: they fit wherever they are split or quantised to fit.
fn needed(gpu: &GpuEvidence, cache: f64) -> f64 {
    let Some(weights) = gpu.weights else { return cache };
    let taken = gpu.memory.map_or(1.0, |memory| memory.high);
    cache.mul_add((taken - weights).max(0.0), weights)
}

fn measured(cache: Option<Span>, seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    let limit = limits.oversized_memory_below;
    let weighed = |gpu: &GpuEvidence| Some(Span::exact(needed(gpu, cache?.mean))).filter(|_| gpu.weights.is_some());
    let peaks = seen.gpus.iter().filter_map(|gpu| gpu.memory_peak).map(|peak| peak.mean);
    let fullest = peaks.reduce(f64::max).filter(|_| cache.is_none());
    [
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.underused_below),
        measure(Quantity::KvUsage, cache.map(|cache| cache.mean), limit),
        measure(Quantity::MemoryNeeded, seen.gpu_mean(weighed), limit),
        measure(Quantity::MemoryPeak, fullest, limit),
    ]
    .into_iter()
    .flatten()
    .collect()
}
