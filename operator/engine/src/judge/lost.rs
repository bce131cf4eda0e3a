//! What a lost source may hide: it was seen within a day and is missing now, so a rule that it would have to speak against
//! may hold or not.

use super::{ask, attributable};
use crate::evidence::{Evidence, Source, Trend};
use crate::rules::{Rule, Says};
use crate::span::Span;

/// Of what a GPU does. Counters that never moved would be broken ones, and hide the GPU itself.
const NEARLY_NONE: f64 = 1e-6;

/// The evidence as it would be if what was lost spoke against no cause: each source alone, then all of them.
pub fn unopposed(seen: &Evidence) -> Vec<Unopposed> {
    let lost: Vec<Source> = Source::ALL.into_iter().filter(|source| source.is_lost(seen)).collect();
    let mut all: Vec<_> = lost.iter().flat_map(|source| silent(seen, &[*source])).collect();
    if lost.len() > 1 {
        all.extend(silent(seen, &lost));
    }
    all
}

/// Evidence in which a lost source speaks against nothing.
pub struct Unopposed {
    source: Source,
    seen: Evidence,
    /// What of it is the workload's alone, where not all is.
    own: Option<Evidence>,
}

/// The source that may hide the refusal of this rule, if one does.
pub fn hides(rule: &dyn Rule, says: &Says, unopposed: &[Unopposed]) -> Option<Source> {
    if says.refuses() {
        return None;
    }
    unopposed.iter().find(|one| ask(rule, &one.seen, one.own.as_ref()).refuses()).map(|one| one.source)
}

/// Most sources speak against a cause by being high. Memory bandwidth is a sign of some causes and speaks against others.
fn silent(seen: &Evidence, lost: &[Source]) -> Vec<Unopposed> {
    let bandwidth: &[f64] = if lost.contains(&Source::MemoryBandwidth) { &[NEARLY_NONE, 1.0] } else { &[NEARLY_NONE] };
    let filled = |dram: &f64| {
        let seen = filled(seen, lost, *dram);
        Some(Unopposed { source: *lost.first()?, own: attributable(&seen), seen })
    };
    bandwidth.iter().filter_map(filled).collect()
}

fn filled(seen: &Evidence, lost: &[Source], dram: f64) -> Evidence {
    let mut all = seen.clone();
    for source in lost {
        fill(&mut all, *source, dram);
    }
    all
}

fn fill(all: &mut Evidence, source: Source, dram: f64) {
    match source {
        Source::Sms => all.gpus.iter_mut().for_each(|gpu| rate(&mut gpu.sm, &mut gpu.sm_lost, NEARLY_NONE)),
        Source::MemoryBandwidth => all.gpus.iter_mut().for_each(|gpu| rate(&mut gpu.dram, &mut gpu.dram_lost, dram)),
        Source::TensorPipe => {
            all.gpus.iter_mut().for_each(|gpu| rate(&mut gpu.tensor, &mut gpu.tensor_lost, NEARLY_NONE));
        }
        Source::Power => all.gpus.iter_mut().for_each(|gpu| rate(&mut gpu.power, &mut gpu.power_lost, 0.0)),
        Source::Links => quiet(all),
        Source::KvCache => all.servers.iter_mut().for_each(|one| rate(&mut one.kv, &mut one.kv_lost, 0.0)),
        Source::Answers => all.servers.iter_mut().for_each(|one| rate(&mut one.progress, &mut one.progress_lost, 0.0)),
        // The whole time stands in for it.
        Source::FirstToken => all.servers.iter_mut().for_each(|one| one.first_token_lost = false),
        Source::Throughput => {
            rate(&mut all.own.throughput, &mut all.own.throughput_lost, 0.0);
            all.trainers.iter_mut().for_each(|one| rate(&mut one.throughput, &mut one.throughput_lost, 0.0));
        }
        Source::Steps => all.trainers.iter_mut().for_each(|one| rate(&mut one.steps, &mut one.steps_lost, 0.0)),
        Source::Loss => {
            level(&mut all.own.progress, &mut all.own.progress_lost);
            all.trainers.iter_mut().for_each(|one| level(&mut one.loss, &mut one.loss_lost));
        }
        Source::Quality => {
            level(&mut all.own.quality, &mut all.own.quality_lost);
            all.trainers.iter_mut().for_each(|one| level(&mut one.quality, &mut one.quality_lost));
        }
    }
}

fn quiet(all: &mut Evidence) {
    for gpu in &mut all.gpus {
        rate(&mut gpu.nvlink, &mut gpu.nvlink_lost, 0.0);
        rate(&mut gpu.pcie, &mut gpu.pcie_lost, 0.0);
    }
    for one in &mut all.containers {
        rate(&mut one.network, &mut one.network_lost, 0.0);
        rate(&mut one.rdma, &mut one.rdma_lost, 0.0);
    }
}

fn rate(value: &mut Option<Span>, lost: &mut bool, as_if: f64) {
    if std::mem::take(lost) {
        value.get_or_insert(Span::exact(as_if));
    }
}

fn level(value: &mut Option<Trend>, lost: &mut bool) {
    if std::mem::take(lost) {
        value.get_or_insert(STILL);
    }
}

/// A number that was not made anew: it tells of no progress. Whether it would have been a plateau, the rule knows itself.
const STILL: Trend = Trend::Moved { first: 1.0, last: 1.0 };
