//! Where work comes from: a recorded trace, or a rate.

use super::{Series, Span};
use serde::{Deserialize, Serialize};

/// Where the work of a workload comes from. Time zero is the moment the scenario begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Arrivals {
    /// Requests replayed from a file.
    Trace(Trace),
    /// Poisson requests (LLM, service) or a steady flow of samples (training).
    Rate(Rate),
    /// The same at a rate that follows a recorded curve.
    Series(Series),
}

/// A CSV file (or `.csv.gz`) with the columns `arrival_s`, `prompt_tokens` and `output_tokens`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Trace {
    /// Path of the file, relative to the scenario's.
    pub file: String,
    /// Trace seconds in one real second: 4 plays an hour in fifteen minutes.
    #[serde(default = "one")]
    pub time_scale: f64,
    /// Where in the trace to begin.
    #[serde(default)]
    pub from: Span,
    /// Begin again at `from` when the trace ends; else nothing arrives after it.
    #[serde(default, rename = "loop")]
    pub repeat: bool,
}

/// Arrivals at a given rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rate {
    /// Requests, or samples, a second.
    pub per_second: f64,
    /// Rates that take over later, in order of time.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Seed of the arrival times; the scenario's own is mixed in.
    #[serde(default)]
    pub seed: u64,
    /// Prompt tokens of each request.
    #[serde(default = "prompt_tokens")]
    pub prompt_tokens: u32,
    /// Output tokens of each request.
    #[serde(default = "output_tokens")]
    pub output_tokens: u32,
    /// How unequal requests are: standard deviation of the logarithm of their lengths; 0 means all alike.
    #[serde(default)]
    pub length_spread: f64,
}

/// A rate that takes over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// From when on.
    pub at: Span,
    /// Requests, or samples, a second.
    pub per_second: f64,
}

impl Rate {
    /// The rate in force `seconds` after the scenario began.
    pub fn at(&self, seconds: f64) -> f64 {
        self.steps
            .iter()
            .rev()
            .find(|step| step.at.seconds() <= seconds)
            .map_or(self.per_second, |step| step.per_second)
    }
}

pub(super) fn one() -> f64 {
    1.0
}

pub(super) fn prompt_tokens() -> u32 {
    512
}

pub(super) fn output_tokens() -> u32 {
    128
}
