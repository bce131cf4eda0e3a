//! A run that gets nowhere: more GPUs get nowhere faster.

use super::{Certainty, Rule, RuleName, Says};
use crate::evidence::{Evidence, Trend};
use crate::opinion::{Measure, Quantity, Weight};
use crate::policy::Class;

/// A loss that is no number, a container that fails again and again, or loss and evaluation that both stand still, where
/// both were made anew within the window. A loss alone that stands still only advises: late in a run it hardly moves within
/// a window.
pub struct RunNotProgressing;

impl Rule for RunNotProgressing {
    fn name(&self) -> RuleName {
        RuleName::RunNotProgressing
    }

    fn cause(&self) -> &'static str {
        "the run makes no progress"
    }

    fn consequence(&self) -> &'static str {
        "with more GPUs it would get nowhere faster"
    }

    fn certainty(&self) -> Certainty {
        Certainty::Counted
    }

    fn infers(&self) -> bool {
        false
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if seen.class == Class::Inference {
            return Says::NotMine;
        }
        let run = Run::of(seen);
        let within = seen.gate.thresholds.plateau_within;
        let still = |change: Option<f64>| change.is_some_and(|change| change < within) && !run.lost;
        let stopped = run.diverged > 0.0 || run.failed >= seen.gate.thresholds.restarts_from;
        if stopped || (still(run.loss) && still(run.quality)) {
            Says::Found(Weight::Veto, run.measured(seen))
        } else if still(run.loss) && run.quality.is_none() {
            Says::Found(Weight::Advice, run.measured(seen))
        } else {
            Says::NotMine
        }
    }
}

/// How far a run came.
struct Run {
    /// Trainers whose loss is no number.
    diverged: f64,
    /// Failed exits of the container that had most of them. Those for want of GPU memory have a rule of their own.
    failed: f64,
    /// The largest change of the loss over its value.
    loss: Option<f64>,
    /// The largest change of the evaluation over its value.
    quality: Option<f64>,
    /// One of them was told lately and is not now.
    lost: bool,
}

impl Run {
    fn of(seen: &Evidence) -> Self {
        let failed = seen.exits().map(|exits| exits.failed.saturating_add(exits.host_memory));
        Self {
            diverged: seen.trainers.iter().filter(|one| one.loss == Some(Trend::Diverged)).count() as f64,
            failed: f64::from(failed.max().unwrap_or(0)),
            loss: largest(seen.trainers.iter().filter_map(|one| one.loss)),
            quality: largest(seen.trainers.iter().filter_map(|one| one.quality)),
            lost: seen.trainers.iter().any(|one| one.loss_lost || one.quality_lost),
        }
    }

    fn measured(&self, seen: &Evidence) -> Vec<Measure> {
        let limits = &seen.gate.thresholds;
        let told = |what, change: Option<f64>| {
            let change = change.filter(|change| change.is_finite())?;
            Some(Measure::of(what, change, Some(limits.plateau_within)))
        };
        let counted = |what, count: f64, from: f64| (count >= 1.0).then(|| Measure::of(what, count, Some(from)));
        [
            counted(Quantity::LossesDiverged, self.diverged, 1.0),
            counted(Quantity::FailedExits, self.failed, limits.restarts_from),
            told(Quantity::LossChange, self.loss),
            told(Quantity::QualityChange, self.quality),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// None where nobody tells; not a number where one change can't be told.
fn largest(trends: impl Iterator<Item = Trend>) -> Option<f64> {
    let told = trends.map(change).filter(|change| change.is_nan() || *change >= REPEATED);
    told.reduce(|one, other| if one.is_nan() || one > other { one } else { other })
}

/// A smaller change, but for rounding, is none at all: a gauge repeats its last number until the next one is made, and none
/// was made within the window. A number that was made anew is never quite the same.
const REPEATED: f64 = 1e-12;

fn change(trend: Trend) -> f64 {
    match trend {
        Trend::Moved { first, last } => ((last - first) / first.abs().max(last.abs())).abs(),
        Trend::Diverged => f64::INFINITY,
    }
}
