//! Whether a workload does worse than before.

use super::{Figures, SignalFigures, Throughput};
use serde::{Deserialize, Serialize};

/// A figure that is worse than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Worse {
    /// Less work done by a replica.
    Throughput,
    /// Requests take longer.
    Latency,
    /// More memory in use at its peak.
    Memory,
    /// Worse results.
    Quality,
}

/// Two sets of figures over equal windows, compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Everything that was measured before is measured now, and nothing is worse.
    NotWorse,
    /// This is.
    Worse(Worse),
    /// Something was measured before and is not now, or not of as many replicas.
    Unknown,
}

/// Worse by less than this share is noise.
pub const TOLERANCE: f64 = 0.05;

/// More memory in use is worse only from here on: memory that is left over helps nobody.
pub const MEMORY_FULL: f64 = 0.90;

/// One figure, before and after; none where it was not measured before.
type Compared = Option<Comparison>;

impl Figures {
    /// `after` against these.
    pub fn against(&self, after: &Self) -> Comparison {
        let latency = |before: &f64, after: &f64| *after > before * (1.0 + TOLERANCE);
        let memory = |before: &f64, after: &f64| *after >= MEMORY_FULL && *after > before * (1.0 + TOLERANCE);
        // A measure of quality may be negative, as a reward or a log-likelihood is.
        let quality = |before: &f64, after: &f64| *after < before - before.abs() * TOLERANCE;
        let (told, now) = (&self.signals, &after.signals);
        let all = [
            self.work(after),
            compared(Worse::Latency, self.latency, after.latency, latency),
            compared(Worse::Latency, told.latency, now.latency, latency),
            compared(Worse::Memory, self.memory, after.memory, memory),
            compared(Worse::Quality, self.quality, after.quality, quality),
            compared(Worse::Quality, told.quality, now.quality, quality),
        ];
        let known = || all.iter().flatten().copied();
        let worse = known().find(|one| matches!(one, Comparison::Worse(_)));
        worse.or_else(|| known().find(|one| *one == Comparison::Unknown)).unwrap_or(Comparison::NotWorse)
    }

    /// By the workload's own signal, or by the replicas' account where that does not go on.
    fn work(&self, after: &Self) -> Compared {
        let by_account = self.throughput.zip(after.throughput).filter(|(before, after)| before.unit == after.unit);
        let by_account = by_account.map(|(before, after)| Work::of(before).against(Work::of(after)));
        let by_signal = Work::told(&self.signals, &after.signals).map(|(before, after)| before.against(after));
        let measured = self.throughput.is_some() || self.signals.throughput.is_some();
        by_signal.or(by_account).or(measured.then_some(Comparison::Unknown))
    }
}

fn compared(what: Worse, before: Option<f64>, after: Option<f64>, is_worse: impl Fn(&f64, &f64) -> bool) -> Compared {
    let before = before?;
    let Some(after) = after else { return Some(Comparison::Unknown) };
    Some(if is_worse(&before, &after) { Comparison::Worse(what) } else { Comparison::NotWorse })
}

/// Work done a second by so many replicas.
#[derive(Clone, Copy)]
struct Work {
    each: f64,
    replicas: f64,
}

impl Work {
    fn of(throughput: Throughput) -> Self {
        Self { each: throughput.each(), replicas: f64::from(throughput.replicas) }
    }

    /// By the signals, before and after. Where nobody counted the replicas, they count as the same.
    fn told(before: &SignalFigures, after: &SignalFigures) -> Option<(Self, Self)> {
        let (one, other) = before.replicas.zip(after.replicas).unwrap_or((1, 1));
        let work = |each, replicas| Self { each, replicas: f64::from(replicas) };
        Some((work(before.throughput?, one), work(after.throughput?, other)))
    }

    /// Of as many replicas or more, all together must do as much as before: each may do less, since the same arrivals are
    /// spread over more. Of fewer, each must; where each does less, that may be because less is asked of them.
    fn against(self, after: Self) -> Comparison {
        let falls = |before: f64, after: f64| after < before * (1.0 - TOLERANCE);
        if after.replicas < self.replicas {
            return if falls(self.each, after.each) { Comparison::Unknown } else { Comparison::NotWorse };
        }
        let fell = falls(self.each * self.replicas, after.each * after.replicas);
        if fell { Comparison::Worse(Worse::Throughput) } else { Comparison::NotWorse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::WorkUnit;
    use crate::span::Span;

    fn serving(each: f64) -> Figures {
        Figures { throughput: Throughput::of(WorkUnit::Tokens, &[Span::exact(each); 4]), ..Figures::default() }
    }

    #[test]
    fn five_percent_less_work_is_noise_and_six_percent_is_worse() {
        assert_eq!(serving(100.0).against(&serving(95.5)), Comparison::NotWorse);
        assert_eq!(serving(100.0).against(&serving(94.0)), Comparison::Worse(Worse::Throughput));
    }

    #[test]
    fn what_was_measured_before_and_is_not_now_is_unknown_not_worse_and_not_well() {
        assert_eq!(serving(100.0).against(&Figures::default()), Comparison::Unknown);
        assert_eq!(Figures::default().against(&serving(1.0)), Comparison::NotWorse);
        let with = |latency, quality| Figures { latency, quality, ..serving(100.0) };
        assert_eq!(with(None, Some(0.8)).against(&with(None, None)), Comparison::Unknown);
        assert_eq!(with(Some(1.0), None).against(&with(None, None)), Comparison::Unknown);
        assert_eq!(with(Some(1.0), Some(0.8)).against(&with(Some(2.0), None)), Comparison::Worse(Worse::Latency));
    }

    #[test]
    fn more_replicas_must_do_as_much_together_and_fewer_as_much_each() {
        let by = |replicas: usize, each: f64| Figures {
            throughput: Throughput::of(WorkUnit::Tokens, &vec![Span::exact(each); replicas]),
            ..Figures::default()
        };

        assert_eq!(by(4, 100.0).against(&by(8, 60.0)), Comparison::NotWorse);
        assert_eq!(by(4, 100.0).against(&by(8, 40.0)), Comparison::Worse(Worse::Throughput));
        assert_eq!(by(4, 100.0).against(&by(2, 100.0)), Comparison::NotWorse);
        assert_eq!(by(4, 100.0).against(&by(2, 80.0)), Comparison::Unknown);
    }

    #[test]
    fn a_signal_of_more_replicas_is_compared_by_its_total() {
        let told = |throughput, replicas| Figures {
            signals: SignalFigures { throughput: Some(throughput), replicas, ..SignalFigures::default() },
            ..Figures::default()
        };

        assert_eq!(told(100.0, Some(4)).against(&told(60.0, Some(8))), Comparison::NotWorse);
        assert_eq!(told(100.0, Some(4)).against(&told(60.0, Some(4))), Comparison::Worse(Worse::Throughput));
        let earlier: SignalFigures = serde_json::from_str("[100.0,null,0.5]").unwrap();
        assert_eq!((earlier.throughput, earlier.quality, earlier.replicas), (Some(100.0), Some(0.5), None));
    }

    /// A server moved from vLLM, which counts tokens, to Triton, which counts answers: a few hundred times fewer.
    #[test]
    fn work_that_is_counted_in_another_unit_is_unknown_not_worse() {
        let by =
            |unit, each| Figures { throughput: Throughput::of(unit, &[Span::exact(each); 4]), ..Figures::default() };
        let units = [WorkUnit::Tokens, WorkUnit::Answers, WorkUnit::Samples, WorkUnit::TrainedTokens];

        for (before, after) in units.iter().flat_map(|one| units.iter().map(move |other| (*one, *other))) {
            let expected = if before == after { Comparison::Worse(Worse::Throughput) } else { Comparison::Unknown };
            assert_eq!(by(before, 900.0).against(&by(after, 2.0)), expected, "{before:?} {after:?}");
        }
        let told = |unit, each| {
            let signals = SignalFigures { throughput: Some(each), ..SignalFigures::default() };
            Figures { signals, ..by(unit, each) }
        };
        let (before, after) = (told(WorkUnit::Tokens, 900.0), told(WorkUnit::Answers, 2.0));
        assert_eq!(before.against(&after), Comparison::Worse(Worse::Throughput), "the workload's own signal goes on");
    }

    /// ADR 0009: own signals outrank. Answers that got shorter are fewer tokens, and as many answers.
    #[test]
    fn the_workloads_own_signal_outranks_what_its_replicas_count() {
        let told = |own, each| {
            let signals = SignalFigures { throughput: Some(own), ..SignalFigures::default() };
            Figures { signals, ..serving(each) }
        };

        assert_eq!(told(10.0, 900.0).against(&told(10.0, 600.0)), Comparison::NotWorse);
        assert_eq!(told(10.0, 900.0).against(&told(8.0, 900.0)), Comparison::Worse(Worse::Throughput));
    }

    #[test]
    fn latency_and_quality_are_compared_beyond_the_noise() {
        let with = |latency, quality| Figures { latency: Some(latency), quality: Some(quality), ..serving(100.0) };
        let before = with(1.0, 0.80);

        assert_eq!(before.against(&with(1.06, 0.80)), Comparison::Worse(Worse::Latency));
        assert_eq!(before.against(&with(1.0, 0.75)), Comparison::Worse(Worse::Quality));
        assert_eq!(before.against(&with(1.04, 0.77)), Comparison::NotWorse);
    }

    /// Kills: a comparison that wants both to be positive.
    #[test]
    fn quality_that_collapses_to_zero_or_below_is_worse_and_a_reward_below_zero_may_improve() {
        let with = |quality| Figures { quality: Some(quality), ..serving(100.0) };

        assert_eq!(with(0.8).against(&with(0.0)), Comparison::Worse(Worse::Quality));
        assert_eq!(with(0.8).against(&with(-0.5)), Comparison::Worse(Worse::Quality));
        assert_eq!(with(-2.0).against(&with(-3.0)), Comparison::Worse(Worse::Quality));
        assert_eq!(with(-2.0).against(&with(-1.0)), Comparison::NotWorse);
    }

    #[test]
    fn more_memory_is_worse_only_where_little_is_left() {
        let with = |memory| Figures { memory: Some(memory), ..serving(100.0) };

        assert_eq!(with(0.05).against(&with(0.053)), Comparison::NotWorse);
        assert_eq!(with(0.80).against(&with(0.89)), Comparison::NotWorse);
        assert_eq!(with(0.80).against(&with(0.90)), Comparison::Worse(Worse::Memory));
        assert_eq!(with(0.93).against(&with(0.95)), Comparison::NotWorse);
    }

    #[test]
    fn small_figures_are_compared_as_finely_as_large_ones() {
        let steps = |each: f64| serving(each / 4.0).rounded();
        let p99 = |latency| Figures { latency: Some(latency), ..Figures::default() }.rounded();

        assert_eq!(steps(0.001_008).against(&steps(0.000_992)), Comparison::NotWorse);
        assert_eq!(p99(0.010_4).against(&p99(0.010_6)), Comparison::NotWorse);
        assert_eq!(p99(0.010_4).against(&p99(0.011_0)), Comparison::Worse(Worse::Latency));
    }

    #[test]
    fn signals_are_compared_with_themselves_only() {
        let told = |throughput, latency| Figures {
            signals: SignalFigures { throughput, latency, ..SignalFigures::default() },
            ..Figures::default()
        };

        assert_eq!(told(Some(10.0), None).against(&told(Some(9.0), None)), Comparison::Worse(Worse::Throughput));
        assert_eq!(told(Some(10.0), None).against(&serving(1.0)), Comparison::Unknown);
        assert_eq!(told(None, Some(0.2)).against(&told(None, Some(0.3))), Comparison::Worse(Worse::Latency));
        assert_eq!(told(None, Some(0.2)).against(&serving(1.0)), Comparison::Unknown);
    }
}
