//! The GPU is larger than its work.

use super::{Rule, RuleName, Says, Thresholds, at_least, measure};
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

    fn needs_demand(&self) -> bool {
        false
    }

    fn takes_a_day(&self) -> bool {
        true
    }

    fn may_apply(&self, seen: &Evidence) -> bool {
        let room = Room::of(seen);
        seen.most_seen_gpus(|gpu| room.is_small(gpu, |span| span.mean)) && !is_queued(seen)
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let room = Room::of(seen);
        if seen.covers_a_window() && seen.most_gpus(|gpu| room.is_small(gpu, |span| span.high)) && !is_queued(seen) {
            Says::Found(Weight::Advice, measured(room.cache, seen))
        } else {
            Says::NotMine
        }
    }
}

/// What the GPUs' memory is used for.
struct Room<'a> {
    limits: &'a Thresholds,
    /// Somebody keeps a KV cache.
    caches: bool,
    cache: Option<Span>,
}

impl<'a> Room<'a> {
    fn of(seen: &'a Evidence) -> Self {
        let caches = seen.servers.iter().any(ServerEvidence::keeps_a_cache);
        Self { limits: &seen.gate.thresholds, caches, cache: cache(seen) }
    }

    /// Hardly active and mostly empty, where each value is what `of` makes of its span.
    fn is_small(&self, gpu: &GpuEvidence, of: fn(Span) -> f64) -> bool {
        let below = |value: Option<Span>, limit: f64| value.is_some_and(|value| of(value) < limit);
        let most = self.limits.oversized_memory_below;
        let fits = match self.cache {
            _ if !self.caches => below(gpu.memory_peak, most),
            cache => cache.is_some_and(|cache| needed(gpu, of(cache), of) < most),
        };
        below(gpu.activity(), self.limits.underused_below) && fits
    }
}

fn is_queued(seen: &Evidence) -> bool {
    seen.servers.iter().any(|server| at_least(server.waiting, seen.gate.thresholds.waiting_from))
}

/// The KV cache in use at the fullest server; none where nobody has one, or one that counts it has a gap.
fn cache(seen: &Evidence) -> Option<Span> {
    let fuller = |one: Span, other: Span| if other.high > one.high { other } else { one };
    let used = seen.servers.iter().filter(|server| server.keeps_a_cache()).map(|server| server.kv);
    used.reduce(|one, other| one.zip(other).map(|(one, other)| fuller(one, other))).flatten()
}

/// Share of the GPU's memory that weights and this share of the cache need. Where the weights are not known, they count for
/// nothing: they fit wherever they are split or quantised to fit.
fn needed(gpu: &GpuEvidence, cache: f64, of: fn(Span) -> f64) -> f64 {
    let Some(weights) = gpu.weights else { return cache };
    let taken = gpu.memory.map_or(1.0, of);
    cache.mul_add((taken - weights).max(0.0), weights)
}

fn measured(cache: Option<Span>, seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    let limit = limits.oversized_memory_below;
    let weighed = |gpu: &GpuEvidence| {
        Some(Span::exact(needed(gpu, cache?.mean, |span| span.high))).filter(|_| gpu.weights.is_some())
    };
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
