//! What a training process says of its own work; where it does, it outranks what hardware lets one infer.

use super::Moves;
use crate::span::Span;
use serde::{Deserialize, Serialize};

/// One trainer's means over the window; none where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // each tells of one source that was lost
pub struct TrainerEvidence {
    /// Length of a step, seconds.
    pub step_seconds: Option<Span>,
    /// Time of a step in which the GPU waits for data, seconds.
    pub data_wait_seconds: Option<Span>,
    /// `data_wait_seconds` was measured here within the last day and is missing now.
    pub data_wait_lost: bool,
    /// Tokens or samples a second.
    pub throughput: Option<Span>,
    /// `throughput` was measured here within the last day and is missing now: nobody knows whether it stands still.
    pub throughput_lost: bool,
    /// `throughput` counts tokens, since samples are not counted.
    pub tokens: bool,
    /// Steps that it finished, a second.
    pub steps: Option<Span>,
    /// `steps` was measured here within the last day and is missing now: nobody knows whether it stands still.
    pub steps_lost: bool,
    /// The training loss; less is better.
    pub loss: Option<Trend>,
    /// The evaluation metric; more is better.
    pub quality: Option<Trend>,
    /// `loss` was measured here within the last day and is missing now: nobody knows whether it stands still.
    pub loss_lost: bool,
    /// The same of `quality`.
    pub quality_lost: bool,
}

impl TrainerEvidence {
    /// The share of a step in which the GPU waits for data, 0–1.
    pub fn data_wait_share(&self) -> Option<Span> {
        self.data_wait_seconds?.share_of(self.step_seconds?)
    }

    /// Whether it counts its wait for data, now or until lately.
    pub const fn counts_its_wait(&self) -> bool {
        self.data_wait_seconds.is_some() || self.data_wait_lost
    }

    /// Whether what it says of its work moves.
    pub fn moves(&self, slowest: f64) -> Moves {
        let rates = [
            Moves::rate(self.throughput, self.throughput_lost, slowest),
            // A step may take minutes: any is progress.
            Moves::rate(self.steps, self.steps_lost, f64::MIN_POSITIVE),
        ];
        let levels = [Moves::level(self.loss, self.loss_lost), Moves::level(self.quality, self.quality_lost)];
        rates.into_iter().chain(levels).max().unwrap_or(Moves::Untold)
    }
}

/// How a number moved over the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Trend {
    /// Real numbers at both ends.
    Moved {
        /// Mean of the first third of the window.
        first: f64,
        /// Mean of the last third.
        last: f64,
    },
    /// The newest samples are no numbers (NaN or infinite), as a run that diverged shows them.
    Diverged,
}

/// A smaller change over the value, but for rounding, is none at all: a gauge repeats its last number until the next one is
/// made, and none was made within the window. A number that was made anew is never quite the same.
const REPEATED: f64 = 1e-12;

impl Trend {
    /// The change within the window over its value, above zero where it rose; not a number where it can't be told, none
    /// where no number was made.
    pub fn rise(self) -> Option<f64> {
        match self {
            Self::Moved { first, last } => {
                let rise = (last - first) / first.abs().max(last.abs());
                (rise.is_nan() || rise.abs() >= REPEATED).then_some(rise)
            }
            Self::Diverged => Some(f64::INFINITY),
        }
    }
}
