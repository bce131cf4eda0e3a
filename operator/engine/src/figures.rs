//! How well a workload does: what is compared before and after a change, and before and after growth.

use crate::span::Span;
use crate::units::Replicas;
use crate::world::Measures;
use serde::{Deserialize, Serialize};

/// Means over one window; none where it is not measured. Rounded, so that they read back as they were written; written as
/// a short list, since they are kept in status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "List", into = "List")]
pub struct Figures {
    /// Work done, over all replicas.
    pub throughput: Option<Throughput>,
    /// Share of time that the GPUs are active, 0–1. Shown only: better code may need less of it.
    pub activity: Option<f64>,
    /// From a request's arrival at the server to its end, seconds.
    pub latency: Option<f64>,
    /// Memory in use of the fullest GPU, 0–1.
    pub memory: Option<f64>,
    /// The trainers' own measure of their results; more is better.
    pub quality: Option<f64>,
    /// By the signals of the workload that describe its work.
    pub signals: SignalFigures,
}

/// What a workload's own signals say, whatever their units; never compared with what is measured otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[Option<f64>; 3]", into = "[Option<f64>; 3]")]
pub struct SignalFigures {
    /// Work done a second by one replica; more is better.
    pub throughput: Option<f64>,
    /// The first latency signal; less is better.
    pub latency: Option<f64>,
    /// How good the results are; more is better.
    pub quality: Option<f64>,
}

impl From<[Option<f64>; 3]> for SignalFigures {
    fn from([throughput, latency, quality]: [Option<f64>; 3]) -> Self {
        Self { throughput, latency, quality }
    }
}

impl From<SignalFigures> for [Option<f64>; 3] {
    fn from(figures: SignalFigures) -> Self {
        [figures.throughput, figures.latency, figures.quality]
    }
}

impl SignalFigures {
    /// Of `measures` now, `replicas` being Ready; blended into what they were, so that after a window the old is mostly
    /// forgotten: `share` is the time since then over the window.
    pub fn blended(before: Self, measures: &Measures, replicas: Replicas, share: f64) -> Self {
        let share = share.clamp(0.0, 1.0);
        let blend = |old: Option<f64>, new: Option<f64>| match (old, new) {
            (Some(old), Some(new)) => thousandths(old + (new - old) * share),
            (_, new) => new.and_then(thousandths),
        };
        let each = measures.throughput.filter(|_| replicas > Replicas::ZERO);
        Self {
            throughput: blend(before.throughput, each.map(|work| work / f64::from(replicas.0))),
            latency: blend(before.latency, measures.latency),
            quality: blend(before.quality, measures.quality),
        }
    }
}

type List = (Option<Throughput>, Option<f64>, Option<f64>, Option<f64>, Option<f64>, SignalFigures);

impl From<List> for Figures {
    fn from((throughput, activity, latency, memory, quality, signals): List) -> Self {
        Self { throughput, activity, latency, memory, quality, signals }
    }
}

impl From<Figures> for List {
    fn from(figures: Figures) -> Self {
        let Figures { throughput, activity, latency, memory, quality, signals } = figures;
        (throughput, activity, latency, memory, quality, signals)
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkUnit {
    /// Tokens or answers of model servers.
    Served,
    /// Tokens or samples of trainers.
    Trained,
}

/// Work done a second; written as a short list, since it is kept in status.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct Throughput {
    /// Of what.
    pub unit: WorkUnit,
    /// Of all replicas together.
    pub total: f64,
    /// How many replicas that is.
    pub replicas: u32,
    /// Standard deviation between the replicas; zero of one replica, none where any sample is missing.
    pub spread: Option<f64>,
}

type Listed = (WorkUnit, f64, u32, Option<f64>);

impl From<Listed> for Throughput {
    fn from((unit, total, replicas, spread): Listed) -> Self {
        Self { unit, total, replicas, spread }
    }
}

impl From<Throughput> for Listed {
    fn from(one: Throughput) -> Self {
        (one.unit, one.total, one.replicas, one.spread)
    }
}

impl Throughput {
    /// Of replicas that each do this much; none of no replica.
    pub fn of(unit: WorkUnit, each: &[Span]) -> Option<Self> {
        let replicas = u32::try_from(each.len()).ok().filter(|replicas| *replicas > 0)?;
        let total: f64 = each.iter().map(|one| one.mean).sum();
        let whole = each.iter().all(|one| one.low >= one.high);
        (total * 1000.0).is_finite().then(|| Self {
            unit,
            total,
            replicas,
            spread: whole.then(|| deviation(each, total)),
        })
    }

    /// Of one replica.
    pub fn each(self) -> f64 {
        self.total / f64::from(self.replicas.max(1))
    }
}

fn deviation(each: &[Span], total: f64) -> f64 {
    if each.len() < 2 {
        return 0.0;
    }
    let mean = total / each.len() as f64;
    let squares: f64 = each.iter().map(|one| (one.mean - mean).powi(2)).sum();
    (squares / (each.len() - 1) as f64).sqrt()
}

/// A figure that is worse than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Worse {
    /// Less work done by a replica.
    Throughput,
    /// Requests take longer.
    Latency,
    /// More memory in use.
    Memory,
    /// Worse results.
    Quality,
}

/// Two sets of figures over equal windows, compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Nothing that was measured both times is worse.
    NotWorse,
    /// This is.
    Worse(Worse),
    /// The work done was measured before, and is not now.
    Unknown,
}

/// Worse by less than this share is noise.
pub const TOLERANCE: f64 = 0.05;

impl Figures {
    /// `after` against these.
    pub fn against(&self, after: &Self) -> Comparison {
        let work = |figures: &Self| figures.throughput.map(|work| (work.unit, work.each()));
        let by_account = match (work(self), work(after)) {
            (Some((unit, before)), Some((same, after))) if unit == same => Some((before, after)),
            _ => None,
        };
        let done = by_account.or_else(|| self.signals.throughput.zip(after.signals.throughput));
        let measured = self.throughput.is_some() || self.signals.throughput.is_some();
        if done.is_none() && measured {
            return Comparison::Unknown;
        }
        let grew = |before, after| grown(before, after, 1.0 + TOLERANCE);
        let fell = |before, after| grown(after, before, 1.0 / (1.0 - TOLERANCE));
        if done.is_some_and(|(before, after)| after < before * (1.0 - TOLERANCE)) {
            Comparison::Worse(Worse::Throughput)
        } else if grew(self.latency, after.latency) || grew(self.signals.latency, after.signals.latency) {
            Comparison::Worse(Worse::Latency)
        } else if grew(self.memory, after.memory) {
            Comparison::Worse(Worse::Memory)
        } else if fell(self.quality, after.quality) || fell(self.signals.quality, after.signals.quality) {
            Comparison::Worse(Worse::Quality)
        } else {
            Comparison::NotWorse
        }
    }

    /// To thousandths, which is more than anyone can read from them.
    #[must_use]
    pub fn rounded(self) -> Self {
        Self {
            throughput: self.throughput.map(|work| Throughput {
                total: (work.total * 1000.0).round() / 1000.0,
                spread: work.spread.and_then(thousandths),
                ..work
            }),
            activity: self.activity.and_then(thousandths),
            latency: self.latency.and_then(thousandths),
            memory: self.memory.and_then(thousandths),
            quality: self.quality.and_then(thousandths),
            ..self
        }
    }
}

/// Whether `after` exceeds `before` by more than this factor; both must be known and positive.
fn grown(before: Option<f64>, after: Option<f64>, factor: f64) -> bool {
    before.zip(after).is_some_and(|(before, after)| before > 0.0 && after > before * factor)
}

/// None where it is no number: it could not be read back.
fn thousandths(value: f64) -> Option<f64> {
    let rounded = (value * 1000.0).round() / 1000.0;
    rounded.is_finite().then_some(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving(each: f64) -> Figures {
        Figures { throughput: Throughput::of(WorkUnit::Served, &[Span::exact(each); 4]), ..Figures::default() }
    }

    #[test]
    fn five_percent_less_work_is_noise_and_six_percent_is_worse() {
        assert_eq!(serving(100.0).against(&serving(95.5)), Comparison::NotWorse);
        assert_eq!(serving(100.0).against(&serving(94.0)), Comparison::Worse(Worse::Throughput));
    }

    #[test]
    fn work_that_is_not_measured_any_more_is_unknown_not_worse() {
        assert_eq!(serving(100.0).against(&Figures::default()), Comparison::Unknown);
        assert_eq!(Figures::default().against(&serving(1.0)), Comparison::NotWorse);
    }

    #[test]
    fn latency_memory_and_quality_are_compared_where_both_are_known() {
        let with = |latency, memory, quality| Figures { latency, memory, quality, ..serving(100.0) };
        let before = with(Some(1.0), Some(0.5), Some(0.80));

        assert_eq!(before.against(&with(Some(1.06), None, None)), Comparison::Worse(Worse::Latency));
        assert_eq!(before.against(&with(None, Some(0.53), None)), Comparison::Worse(Worse::Memory));
        assert_eq!(before.against(&with(None, None, Some(0.75))), Comparison::Worse(Worse::Quality));
        assert_eq!(before.against(&with(Some(1.04), Some(0.52), Some(0.77))), Comparison::NotWorse);
    }

    #[test]
    fn signals_are_compared_with_themselves_only() {
        let told = |throughput, latency| Figures {
            signals: SignalFigures { throughput, latency, quality: None },
            ..Figures::default()
        };

        assert_eq!(told(Some(10.0), None).against(&told(Some(9.0), None)), Comparison::Worse(Worse::Throughput));
        assert_eq!(told(Some(10.0), None).against(&serving(1.0)), Comparison::Unknown);
        assert_eq!(told(None, Some(0.2)).against(&told(None, Some(0.3))), Comparison::Worse(Worse::Latency));
        assert_eq!(told(None, Some(0.2)).against(&serving(1.0)), Comparison::NotWorse);
    }

    #[test]
    fn a_signal_is_blended_over_the_window_and_begins_with_its_first_value() {
        let measures = |throughput| Measures { throughput: Some(throughput), ..Measures::default() };
        let first = SignalFigures::blended(SignalFigures::default(), &measures(400.0), Replicas(4), 0.1);
        let second = SignalFigures::blended(first, &measures(800.0), Replicas(4), 0.1);

        assert_eq!((first.throughput, second.throughput), (Some(100.0), Some(110.0)));
        assert_eq!(SignalFigures::blended(second, &Measures::default(), Replicas(4), 0.1).throughput, None);
    }

    #[test]
    fn the_spread_is_that_between_replicas_and_unknown_where_a_sample_is_missing() {
        let spread = |each: &[Span]| Throughput::of(WorkUnit::Served, each).unwrap().spread;
        let missing = Span { low: 5.0, mean: 10.0, high: 20.0 };

        assert_eq!(spread(&[Span::exact(8.0), Span::exact(10.0), Span::exact(12.0)]), Some(2.0));
        assert_eq!(spread(&[Span::exact(8.0)]), Some(0.0));
        assert_eq!(spread(&[Span::exact(8.0), missing]), None);
    }
}
