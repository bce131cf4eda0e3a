//! The causes of serving that servers have in common: routing, caps on answers, batching.

use super::check::{Problem, not_negative, positive, share};
use serde::{Deserialize, Serialize};

/// Requests that stick to some replicas, as sessions do; the others go to the replica with the fewest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Router {
    /// Share of requests that stick, 0–1.
    pub pinned: f64,
    /// To how many of the replicas, the oldest first.
    pub to: u32,
}

/// The cap on answers that requests ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MaxTokens {
    /// Tokens.
    pub asked: u32,
    /// Share of answers that run on until the cap stops them, 0–1.
    #[serde(default)]
    pub run_on: f64,
}

/// Batches made from what waits, as Triton's dynamic batcher does. A batch takes
/// `secondsPerBatch + Σ (secondsPerItem + secondsPerToken × tokens)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Batch {
    /// Most requests in a batch; 1 serves them one after the other.
    pub max: u32,
    /// Longest time for which the oldest request waits for others, seconds.
    #[serde(default)]
    pub wait_seconds: f64,
    /// GPU time of any batch, seconds.
    #[serde(default)]
    pub seconds_per_batch: f64,
    /// GPU time of each request in it, seconds.
    pub seconds_per_item: f64,
    /// GPU time of each token of a request, seconds.
    #[serde(default)]
    pub seconds_per_token: f64,
    /// Whether each request is padded to the longest of its batch.
    #[serde(default)]
    pub static_padding: bool,
}

impl Router {
    pub(super) fn check(&self) -> Result<(), Problem> {
        share("pinned", self.pinned)?;
        positive("to", f64::from(self.to))
    }
}

impl MaxTokens {
    pub(super) fn check(&self) -> Result<(), Problem> {
        positive("asked", f64::from(self.asked))?;
        share("runOn", self.run_on)
    }
}

impl Batch {
    /// No batching: each request takes the GPU for `seconds`.
    pub fn alone(seconds: f64) -> Self {
        Self {
            max: 1,
            wait_seconds: 0.0,
            seconds_per_batch: 0.0,
            seconds_per_item: seconds,
            seconds_per_token: 0.0,
            static_padding: false,
        }
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        positive("max", f64::from(self.max))?;
        not_negative("waitSeconds", self.wait_seconds)?;
        not_negative("secondsPerBatch", self.seconds_per_batch)?;
        positive("secondsPerItem", self.seconds_per_item)?;
        not_negative("secondsPerToken", self.seconds_per_token)
    }
}
