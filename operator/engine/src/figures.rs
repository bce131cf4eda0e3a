//! How well a workload does: what is compared before and after a change, and before and after growth.

mod comparison;

use crate::evidence::OwnEvidence;
use crate::span::Span;
use crate::units::Replicas;
use crate::world::Measures;
use serde::{Deserialize, Serialize};

pub use comparison::{Comparison, MEMORY_FULL, TOLERANCE, Worse};

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
    /// The most memory that was in use at one time of the fullest GPU, 0–1.
    pub memory: Option<f64>,
    /// The trainers' own measure of their results; more is better.
    pub quality: Option<f64>,
    /// By the signals of the workload that describe its work.
    pub signals: SignalFigures,
}

/// What a workload's own signals say, whatever their units; never compared with what is measured otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Option<f64>>", into = "[Option<f64>; 4]")]
pub struct SignalFigures {
    /// Work done a second by one replica; more is better.
    pub throughput: Option<f64>,
    /// The first latency signal; less is better.
    pub latency: Option<f64>,
    /// How good the results are; more is better.
    pub quality: Option<f64>,
    /// How many replicas did that work.
    pub replicas: Option<u32>,
}

/// Earlier the list ended with quality.
impl From<Vec<Option<f64>>> for SignalFigures {
    fn from(list: Vec<Option<f64>>) -> Self {
        let figure = |at: usize| list.get(at).copied().flatten();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // it was a u32 when it was written
        let replicas = figure(3).map(|replicas| replicas as u32);
        Self { throughput: figure(0), latency: figure(1), quality: figure(2), replicas }
    }
}

impl From<SignalFigures> for [Option<f64>; 4] {
    fn from(figures: SignalFigures) -> Self {
        [figures.throughput, figures.latency, figures.quality, figures.replicas.map(f64::from)]
    }
}

impl SignalFigures {
    /// Of `measures` now, `replicas` being Ready; blended into what they were, so that after a window the old is mostly
    /// forgotten: `share` is the time since then over the window.
    pub fn blended(before: Self, measures: &Measures, replicas: Replicas, share: f64) -> Self {
        let share = share.clamp(0.0, 1.0);
        let blend = |old: Option<f64>, new: Option<f64>| match (old, new) {
            (Some(old), Some(new)) => significant(old + (new - old) * share),
            (_, new) => new.and_then(significant),
        };
        let each = measures.throughput.filter(|_| replicas > Replicas::ZERO);
        Self {
            throughput: blend(before.throughput, each.map(|work| work / f64::from(replicas.0))),
            latency: blend(before.latency, measures.latency),
            quality: blend(before.quality, measures.quality),
            replicas: each.map(|_| replicas.0),
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
    /// Tokens of the answers of model servers.
    #[serde(alias = "Served")] // before version 3 of the memory, which forgets it
    Tokens,
    /// Answers of model servers that count no tokens.
    Answers,
    /// Samples trained on.
    #[serde(alias = "Trained")]
    Samples,
    /// Tokens trained on.
    TrainedTokens,
    /// What the workload's own signal counts, whatever that is.
    Own,
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
    /// Standard deviation between the replicas: zero of one replica, none where any sample is missing. Of the workload's own
    /// signal, which is one number of all of them: that of the total over time; none where that can't be told.
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
        Self::sum(each.iter().map(|one| Some((unit, *one))))
    }

    /// Of replicas by what each says of its own work; none of no replica, where one says nothing, and where not all count the
    /// same.
    pub fn sum(each: impl Iterator<Item = Option<(WorkUnit, Span)>> + Clone) -> Option<Self> {
        let (unit, _) = each.clone().next()??;
        let same = |one: Option<(WorkUnit, Span)>| one.filter(|(other, _)| *other == unit).map(|(_, span)| span);
        let add = |(sum, count, whole), one| {
            let span = same(one)?;
            Some((sum + span.mean, count + 1, whole && span.low >= span.high))
        };
        let (total, replicas, whole) = each.clone().try_fold((0.0, 0_u32, true), add)?;
        let spread = whole.then(|| deviation(each.filter_map(same), total, replicas));
        f64::is_finite(total).then_some(Self { unit, total, replicas, spread })
    }

    /// Of `replicas` together by the workload's own signal; none where a sample is missing.
    pub fn told(own: &OwnEvidence, replicas: u32) -> Option<Self> {
        let whole = own.throughput.filter(|total| total.low >= total.high && replicas > 0)?;
        Some(Self { unit: WorkUnit::Own, total: whole.mean, replicas, spread: own.throughput_noise })
    }

    /// The standard error of the total; none where it can't be told. Looks at a rate overlap, so that many of them are no
    /// surer than one.
    pub fn error(self) -> Option<f64> {
        match self.unit {
            WorkUnit::Own => self.spread,
            WorkUnit::Tokens | WorkUnit::Answers | WorkUnit::Samples | WorkUnit::TrainedTokens => {
                Some(self.spread? * f64::from(self.replicas).sqrt())
            }
        }
    }

    /// Of one replica.
    pub fn each(self) -> f64 {
        self.total / f64::from(self.replicas.max(1))
    }
}

fn deviation(each: impl Iterator<Item = Span>, total: f64, replicas: u32) -> f64 {
    if replicas < 2 {
        return 0.0;
    }
    let mean = total / f64::from(replicas);
    let squares: f64 = each.map(|one| (one.mean - mean).powi(2)).sum();
    (squares / f64::from(replicas - 1)).sqrt()
}

impl Figures {
    /// To [`significant`] digits, whatever their size: a step may take milliseconds, or hours.
    #[must_use]
    pub fn rounded(self) -> Self {
        Self {
            throughput: self.throughput.map(|work| Throughput {
                total: significant(work.total).unwrap_or(work.total),
                spread: work.spread.and_then(significant),
                ..work
            }),
            activity: self.activity.and_then(significant),
            latency: self.latency.and_then(significant),
            memory: self.memory.and_then(significant),
            quality: self.quality.and_then(significant),
            ..self
        }
    }
}

/// To six significant digits: enough to compare and to blend by, few enough to keep in status. None where it is no number: it
/// could not be read back.
pub(crate) fn significant(value: f64) -> Option<f64> {
    // Beyond these a number is not read back from JSON exactly as it was written, and is no figure of any work.
    match value.abs() {
        0.0..1e-12 => Some(0.0),
        1e-12..1e18 => Some(six_digits(value)),
        _ => None,
    }
}

/// Up to ten to the 22nd every power of ten is exact, and so the result is the double nearest to those digits. Each look
/// at each workload comes here: nothing is printed to be read again.
#[allow(clippy::cast_possible_truncation)] // an exponent between -13 and 18
fn six_digits(value: f64) -> f64 {
    let finer = 5 - value.abs().log10().floor() as i32;
    let scale = 10.0_f64.powi(finer.abs());
    if finer >= 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_kept_of_every_number_and_nothing_of_what_is_none() {
        assert_eq!(significant(123_456_789.123), Some(123_457_000.0));
        assert_eq!(significant(-0.001_234_567_8), Some(-0.001_234_57));
        assert_eq!([f64::INFINITY, f64::NAN, 1e300].map(significant), [None; 3]);
        assert_eq!(significant(5.217_29e-122), Some(0.0), "which JSON gives back as another number");
    }

    /// Kills: a blend whose steps are rounded away.
    #[test]
    fn a_blend_of_small_numbers_moves() {
        let of = |latency| Measures { latency: Some(latency), ..Measures::default() };
        let first = SignalFigures::blended(SignalFigures::default(), &of(0.004), Replicas(1), 1.0);
        let blended = (0..60).fold(first, |now, _| SignalFigures::blended(now, &of(0.008), Replicas(1), 0.1));

        assert!((blended.latency.unwrap() - 0.008).abs() < 1e-5, "{blended:?}");
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
        let spread = |each: &[Span]| Throughput::of(WorkUnit::Tokens, each).unwrap().spread;
        let missing = Span { low: 5.0, mean: 10.0, high: 20.0 };

        assert_eq!(spread(&[Span::exact(8.0), Span::exact(10.0), Span::exact(12.0)]), Some(2.0));
        assert_eq!(spread(&[Span::exact(8.0)]), Some(0.0));
        assert_eq!(spread(&[Span::exact(8.0), missing]), None);
    }

    #[test]
    fn replicas_that_count_different_things_have_no_sum() {
        let says = |unit, value| Some((unit, Span::exact(value)));
        let all = [says(WorkUnit::Tokens, 900.0), says(WorkUnit::Tokens, 100.0)];
        let mixed = [all[0], says(WorkUnit::Answers, 2.0)];

        assert_eq!(Throughput::sum(all.into_iter()).map(|work| (work.total, work.replicas)), Some((1_000.0, 2)));
        assert_eq!(Throughput::sum(mixed.into_iter()), None);
        assert_eq!(Throughput::sum([all[0], None].into_iter()), None, "one says nothing");
    }
}
