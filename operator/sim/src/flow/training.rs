//! Training is a fluid already; long steps are cut so that none jumps over an evaluation or a checkpoint.

use super::Work;
use crate::scenario::Training;
use crate::sim::training::{Pace, TrainingRun};
use crate::sim::{Ledger, Replica, Tick};
use std::collections::BTreeMap;

/// The longest piece of a step while the training has phases, seconds.
const PIECE: f64 = 5.0;

/// Plays `tick`; returns how many samples were finished.
pub(super) fn step(
    run: &mut TrainingRun,
    training: &Training,
    arrived: Work,
    replicas: &[Replica],
    tick: Tick,
    ledgers: &mut BTreeMap<String, Ledger>,
) -> f64 {
    let before = run.samples;
    let phases = &training.phases;
    let whole = phases.evaluation.is_none() && phases.checkpoint.is_none();
    let pieces = if whole { 1 } else { (tick.length() / PIECE).ceil().max(1.0) as u32 };
    let length = tick.length() / f64::from(pieces);
    for piece in 0..pieces {
        let from = tick.from + f64::from(piece) * length;
        run.step(training, arrived.amount / f64::from(pieces), replicas, Tick { from, until: from + length }, ledgers);
    }
    run.samples - before
}

/// Samples a second that `replicas` Ready ones, each limited to `cpu_limit` cores, work through at most, between phases.
pub(super) fn capacity(training: &Training, replicas: u32, cpu_limit: Option<f64>) -> f64 {
    if replicas == 0 {
        return 0.0;
    }
    let pace = Pace::of(training, replicas, cpu_limit);
    f64::from(replicas) * pace.samples / pace.step
}
