//! The loss that a trainer reports.

use crate::meter::digest;

/// Loss that no training takes away, and the part that it does.
const LOSS: (f64, f64) = (1.9, 8.6);
/// Samples after which three quarters more halve the second part.
const SAMPLES: f64 = 20_000.0;
/// Most by which the loss of one batch is off, as a share.
const NOISE: f64 = 0.01;

/// Share of answers that are right before any training, and the part that training adds.
const RIGHT: (f64, f64) = (0.1, 0.75);
/// Most by which an evaluation is off, as a share: its samples are drawn anew each time.
const DRAWN: f64 = 0.004;

/// The share of right answers in the evaluation number `number` of a model that has learned from `learned` samples.
pub(super) fn quality(learned: f64, number: u64) -> f64 {
    let noise = digest(&("evaluation", number)) as f64 / u64::MAX as f64 * 2.0 - 1.0;
    (RIGHT.0 + RIGHT.1 * (1.0 - 1.0 / (1.0 + learned / SAMPLES).sqrt())) * (1.0 + DRAWN * noise)
}

/// The loss of the step number `step` of a model that has learned from `learned` samples.
pub(super) fn loss(learned: f64, step: u64) -> f64 {
    let noise = digest(&step) as f64 / u64::MAX as f64 * 2.0 - 1.0;
    (LOSS.0 + LOSS.1 / (1.0 + learned / SAMPLES).sqrt()) * (1.0 + NOISE * noise)
}
