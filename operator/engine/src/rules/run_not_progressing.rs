//! A run that gets nowhere: more GPUs get nowhere faster.

use super::{Certainty, Rule, RuleName, Says};
use crate::evidence::{Demand, Evidence, Source, Trend};
use crate::opinion::{Gap, Measure, Quantity, Weight};
use crate::policy::Class;
use std::iter;

/// A loss that is no number, a container that fails again and again, or loss and evaluation that both stand still or get
/// worse, where both were made anew within the window. A loss alone only advises, and only while more is asked for: late in a
/// run it hardly moves within a window. The workload's own signals outrank what its trainers say.
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

    fn needs_demand(&self) -> bool {
        false
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if seen.class == Class::Inference {
            return Says::NotMine;
        }
        let run = Run::of(seen);
        let measured = || run.measured(seen);
        if run.diverged > 0.0 || run.failed >= seen.gate.thresholds.restarts_from {
            return Says::Found(Weight::Veto, measured());
        }
        match (run.loss.course, run.quality.course) {
            (Course::Stuck, Course::Stuck) => Says::Found(Weight::Veto, measured()),
            (Course::Stuck, Course::Untold) if seen.demand == Demand::Above => Says::Found(Weight::Advice, measured()),
            (Course::Stuck, Course::Lost) => lost(Source::Quality),
            (Course::Lost, Course::Stuck) => lost(Source::Loss),
            _ => Says::NotMine,
        }
    }
}

/// What is still told gets nowhere; what is missing may.
const fn lost(source: Source) -> Says {
    Says::Unsure(Gap::SourceLost { rule: RuleName::RunNotProgressing, source })
}

/// How far a run came.
struct Run {
    /// Trainers whose loss is no number, the workload's own signal counted as one.
    diverged: f64,
    /// Failed exits of the container that had most of them. Those for want of GPU memory have a rule of their own.
    failed: f64,
    /// By the signal of role `Progress`, or else by the trainers.
    loss: Level,
    /// By the signal of role `Quality`, or else by the trainers.
    quality: Level,
}

impl Run {
    fn of(seen: &Evidence) -> Self {
        let failed = seen.exits().map(|exits| exits.failed.saturating_add(exits.host_memory));
        let (own, trainers) = (&seen.own, &seen.trainers);
        let losses = trainers.iter().map(|one| (one.loss, one.loss_lost));
        let qualities = trainers.iter().map(|one| (one.quality, one.quality_lost));
        let all = losses.clone().chain([(own.progress, false)]);
        Self {
            diverged: all.filter(|(loss, _)| *loss == Some(Trend::Diverged)).count() as f64,
            failed: f64::from(failed.max().unwrap_or(0)),
            loss: Level::of(&outranked((own.progress, own.progress_lost), losses), -1.0, seen),
            quality: Level::of(&outranked((own.quality, own.quality_lost), qualities), 1.0, seen),
        }
    }

    fn measured(&self, seen: &Evidence) -> Vec<Measure> {
        let limits = &seen.gate.thresholds;
        let told = |what, level: &Level| {
            let change = level.change.filter(|change| change.is_finite())?;
            Some(Measure::of(what, change, Some(limits.plateau_within)))
        };
        let counted = |what, count: f64, from: f64| (count >= 1.0).then(|| Measure::of(what, count, Some(from)));
        [
            counted(Quantity::LossesDiverged, self.diverged, 1.0),
            counted(Quantity::FailedExits, self.failed, limits.restarts_from),
            told(Quantity::LossChange, &self.loss),
            told(Quantity::QualityChange, &self.quality),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A level, and whether it was told lately and is not now.
type Told = (Option<Trend>, bool);

/// What the workload's own signal says, where there is one; else what the trainers say.
fn outranked(own: Told, trainers: impl Iterator<Item = Told> + Clone) -> impl Iterator<Item = Told> + Clone {
    let outranks = own.0.is_some() || own.1;
    iter::once(own).filter(move |_| outranks).chain(trainers.filter(move |_| !outranks))
}

/// Whether a level gets anywhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// Nobody tells it, or it was not made anew.
    Untold,
    /// It moves for the better, or for the worse by no more than noise may.
    Moves,
    /// It stands still, or gets worse.
    Stuck,
    /// What is told does, and some that was told lately is missing.
    Lost,
}

/// What is known of a level.
struct Level {
    course: Course,
    /// The largest change over its value, of all that tell it.
    change: Option<f64>,
}

impl Level {
    /// `better` is 1 where more is better, and -1 where less is.
    fn of(told: &(impl Iterator<Item = Told> + Clone), better: f64, seen: &Evidence) -> Self {
        let limits = &seen.gate.thresholds;
        let rises = || told.clone().filter_map(|(trend, _)| trend.and_then(Trend::rise));
        // A change that can't be told is not known to be none.
        let stuck = |rise: f64| rise.abs() < limits.plateau_within || rise * better <= -limits.worse_from;
        let missing = told.clone().any(|(trend, lost)| trend.is_none() && lost);
        let course = match (rises().all(stuck), missing) {
            (false, _) => Course::Moves,
            (true, true) => Course::Lost,
            (true, false) if rises().next().is_none() => Course::Untold,
            (true, false) => Course::Stuck,
        };
        Self { course, change: rises().map(f64::abs).reduce(larger) }
    }
}

fn larger(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}
