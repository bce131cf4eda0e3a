//! What a training process says of its own work; where it does, it outranks what hardware lets one infer.

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
    /// The training loss.
    pub loss: Option<Trend>,
    /// The evaluation metric.
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
