//! What a workload's own signals say of its work; where they do, they outrank what hardware lets one infer.

use super::Trend;
use crate::span::Span;
use serde::{Deserialize, Serialize};

/// The signals of roles `Throughput`, `Progress` and `Quality` over the window, each of all replicas together; none where
/// there is no such signal, or nothing to believe of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnEvidence {
    /// Work done a second, in whatever unit; any is progress.
    pub throughput: Option<Span>,
    /// How much `throughput` varies from look to look (standard deviation), all of them there; none of too few looks, and while
    /// it still rises: what was added has not had its whole effect then.
    #[serde(default)]
    pub throughput_noise: Option<f64>,
    /// `throughput` was told within the last day and is missing now: nobody knows whether it stands still.
    pub throughput_lost: bool,
    /// How far the run is from done, such as its loss; less is better.
    pub progress: Option<Trend>,
    /// The same of `progress`.
    pub progress_lost: bool,
    /// How good the results are; more is better.
    pub quality: Option<Trend>,
    /// The same of `quality`.
    pub quality_lost: bool,
}

impl OwnEvidence {
    /// Whether what it says of its work moves.
    pub fn moves(&self) -> Moves {
        let rate = Moves::rate(self.throughput, self.throughput_lost, f64::MIN_POSITIVE);
        let levels = [Moves::level(self.progress, self.progress_lost), Moves::level(self.quality, self.quality_lost)];
        levels.into_iter().fold(rate, Moves::max)
    }
}

/// Whether work goes on, by what counts it; of several the largest holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moves {
    /// Nobody counts it, or what was counted was not made anew.
    Untold,
    /// It surely stands still.
    Stands,
    /// It goes on, or what would tell is missing.
    May,
}

impl Moves {
    /// Of work a second, which stands still below `slowest`.
    pub fn rate(rate: Option<Span>, lost: bool, slowest: f64) -> Self {
        match rate {
            Some(rate) if rate.below(slowest) => Self::Stands,
            None if !lost => Self::Untold,
            Some(_) | None => Self::May,
        }
    }

    /// Of a number that is made anew while work goes on. One that stands may be made seldom, and one that is no number any
    /// more says nothing.
    pub fn level(trend: Option<Trend>, lost: bool) -> Self {
        match trend {
            Some(moved @ Trend::Moved { .. }) if moved.rise().is_some_and(|rise| !rise.is_nan()) => Self::May,
            None if lost => Self::May,
            Some(_) | None => Self::Untold,
        }
    }
}
