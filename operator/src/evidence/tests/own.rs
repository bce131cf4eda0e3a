//! What is made of a workload's own signals: a sample a look, since demand exceeded its target, and lost for a day.

use super::*;
use crate::evidence::DIVERGED;
use wellfed_engine::evidence::{OwnEvidence, Trend};
use wellfed_engine::opinion::Lean;
use wellfed_engine::rules::RuleName;
use wellfed_engine::span::Span;

const SILENT: OwnSaid = OwnSaid { throughput: None, progress: None, quality: None };

fn working(rate: f64) -> OwnSaid {
    OwnSaid { throughput: Some(rate), ..SILENT }
}

/// A look a minute from the first on, at which the workload said this; demand exceeds its target since `since`.
fn heard(since: i64, said: &[OwnSaid]) -> OwnEvidence {
    let mut history = History::every(MINUTE);
    let workload = |own| Watched { own, ..watched(since, &[("a", -60)]) };
    for (minute, own) in (1..).zip(said) {
        history.hear(&[workload(*own)], at(minute));
        history.push(slice(minute, vec![engine("a", "g", 0.5)]), MINUTE * 120);
    }
    history.evidence(&workload(SILENT)).unwrap().own
}

#[test]
fn work_is_the_mean_since_demand_exceeded_its_target() {
    let said = [working(900.0), working(900.0), working(10.0), working(20.0)];

    assert_eq!(heard(2, &said).throughput, Some(Span::exact(15.0)));
    assert_eq!(heard(0, &[SILENT; 3]), OwnEvidence::default());
}

#[test]
fn a_look_without_a_value_widens_the_mean_and_none_at_all_is_lost() {
    let missing = heard(0, &[working(0.0), SILENT]).throughput.unwrap();
    assert!(!missing.below(1e6), "it may have worked meanwhile: {missing:?}");
    assert!((missing.low, missing.mean) == (0.0, 0.0));

    let lost = heard(2, &[working(5.0), working(5.0), SILENT]);
    assert_eq!((lost.throughput, lost.throughput_lost, lost.progress_lost), (None, true, false));
}

#[test]
fn a_loss_and_an_evaluation_move_from_the_first_third_to_the_last() {
    let said: Vec<OwnSaid> = (0..6_u8)
        .map(|minute| OwnSaid { progress: Some(3.0 - f64::from(minute) * 0.2), quality: Some(-0.5), ..SILENT })
        .collect();
    let own = heard(0, &said);

    let Some(Trend::Moved { first, last }) = own.progress else { panic!("{own:?}") };
    assert!((first - 2.9).abs() < 1e-9 && (last - 2.1).abs() < 1e-9, "{first} {last}");
    assert_eq!(own.quality, Some(Trend::Moved { first: -0.5, last: -0.5 }));
}

#[test]
fn a_loss_that_is_no_number_any_more_diverged_and_one_with_a_gap_at_an_end_is_lost() {
    let loss = |values: [Option<f64>; 4]| heard(0, &values.map(|progress| OwnSaid { progress, ..SILENT }));

    assert_eq!(loss([Some(2.0), Some(2.0), Some(2.0), Some(DIVERGED)]).progress, Some(Trend::Diverged));
    let gap = loss([Some(2.0), None, Some(2.0), Some(2.0)]);
    assert_eq!((gap.progress, gap.progress_lost), (None, true));
}

#[test]
fn a_signal_is_missed_for_a_day() {
    let missed = |minute: i64| {
        let mut history = History::every(MINUTE);
        let workload = |own| Watched { own, ..watched(minute - 1, &[("a", -60)]) };
        history.hear(&[workload(working(5.0))], at(0));
        history.hear(&[workload(SILENT)], at(minute));
        history.push(slice(minute, vec![engine("a", "g", 0.5)]), MINUTE * 120);
        history.evidence(&workload(SILENT)).unwrap().own.throughput_lost
    };

    assert_eq!([missed(5), missed(24 * 60), missed(24 * 60 + 1)], [true, true, false]);
}

#[test]
fn how_much_work_varies_is_told_by_five_looks_without_a_gap() {
    let noise = |rates: &[Option<f64>]| {
        let said: Vec<_> = rates.iter().map(|rate| rate.map_or(SILENT, working)).collect();
        heard(0, &said).throughput_noise
    };

    assert_eq!(noise(&[10.0, 14.0, 12.0, 10.0, 14.0].map(Some)), Some(2.0));
    assert_eq!(noise(&[10.0, 14.0, 12.0, 10.0].map(Some)), None);
    assert_eq!(noise(&[Some(10.0), Some(14.0), None, Some(12.0), Some(10.0), Some(14.0)]), None);
}

/// `rate(…[1h])` ten minutes after growth: it has hardly begun to show what was added. Kills: a small noise made of it.
#[test]
fn work_that_still_rises_has_no_noise_that_can_be_told_and_work_that_falls_has() {
    let rates: Vec<f64> = (0..10).map(|minute| 100.0 + f64::from(minute)).collect();
    let said: Vec<_> = rates.iter().copied().map(working).collect();
    let fallen: Vec<_> = rates.iter().rev().copied().map(working).collect();

    assert_eq!(heard(0, &said).throughput_noise, None);
    assert!(heard(0, &fallen).throughput_noise.is_some());
}

/// From the samples to the verdict: a trainer with names of its own that looks as if it hangs.
#[test]
fn a_trainer_whose_own_signal_counts_steps_is_not_called_a_hang() {
    let hung = [
        (Metric::Engine, 1.0),
        (Metric::Sm, 0.02),
        (Metric::Dram, 0.001),
        (Metric::Tensor, 0.0),
        (Metric::Power, 120.0),
        (Metric::Cores, 1.0),
    ];
    let leans = |own| {
        let mut history = History::every(MINUTE);
        let workload = Watched { own, ..watched(0, &[("a", -60)]) };
        for minute in 1..=10 {
            history.hear(std::slice::from_ref(&workload), at(minute));
            // Activity to the last digit the same, beside a power that moves, would be a frozen exporter.
            let moving = hung.map(|(metric, value)| (metric, value * (1.0 - 1e-4 * minute as f64)));
            history.push(said(minute, &moving), MINUTE * 120);
        }
        wellfed_engine::judge(&history.evidence(&workload).unwrap()).lean
    };

    assert_eq!(leans(SILENT), Lean::Refuse(RuleName::Stalled));
    assert_eq!(leans(working(0.0)), Lean::Refuse(RuleName::Stalled));
    assert_eq!(leans(working(0.02)), Lean::Allow);
}
