//! Whether the gate is worth having, by what was measured.

use super::bench::Played;
use super::mixture::Part;
use super::row::{Arm, Row};
use wellfed::simulate::Policy;

/// Saturated workloads together may cost this share more or less.
const SAME: f64 = 0.01;
/// Who does next to nothing in time is taken to do this share of it.
const NOTHING: f64 = 1e-6;

/// Everything that speaks against the gate; nothing is good.
pub fn against(played: &[Played]) -> Vec<String> {
    saturated(played).into_iter().chain(starved(played)).collect()
}

/// All of them together: one that waits for its evidence and catches up later pays a little more, for which the table shows.
fn saturated(played: &[Played]) -> Option<String> {
    let hours = |policy| -> f64 {
        let all = played.iter().filter(|one| one.part == Part::Saturated);
        all.filter_map(|one| Some(f64::from(one.workloads) * one.row(Arm::AsIs(policy))?.gpu_hours)).sum()
    };
    let (with, without) = (hours(Policy::Wellfed), hours(Policy::WellfedWithoutGate));
    ((with - without).abs() > SAME * without).then(|| {
        format!("the gate changes the GPU-hours a day of the saturated workloads from {without:.1} to {with:.1}")
    })
}

fn starved(played: &[Played]) -> Option<String> {
    let of = |policy| starved_hours(played, Arm::AsIs(policy));
    let (with, without) = (of(Policy::Wellfed), of(Policy::WellfedWithoutGate));
    (with > without).then(|| {
        format!("starved workloads need {with:.0} GPU-hours a day for their work in time with the gate, {without:.0} without")
    })
}

/// GPUs × hours a day of all starved workloads, each as if it did all of its work in time at the rate of what it did: so
/// GPU-hours that were saved by leaving work undone are no gain.
pub fn starved_hours(played: &[Played], arm: Arm) -> f64 {
    let starved = played.iter().filter(|one| one.part == Part::Starved);
    let rows = starved.filter_map(|one| Some((f64::from(one.workloads), one.row(arm)?)));
    rows.map(|(count, row)| count * for_all(row)).sum()
}

fn for_all(row: &Row) -> f64 {
    row.gpu_hours / (1.0 - row.missed()).max(NOTHING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(policy: Policy, gpu_hours: f64, unserved: f64) -> Row {
        Row {
            arm: Arm::AsIs(policy),
            gpu_hours,
            cost: gpu_hours,
            regret: None,
            time_over_slo: None,
            requests_over_slo: None,
            unserved,
            waited: 0.0,
            scale_events: 0.0,
            reversals: 0.0,
            gpu_hours_in_vain: 0.0,
            refusals: 0.0,
            gpu_hours_refused: 0.0,
        }
    }

    /// GPU-hours and share undone, with the gate and without.
    fn played(part: Part, with: (f64, f64), without: (f64, f64)) -> Played {
        let rows = vec![row(Policy::Wellfed, with.0, with.1), row(Policy::WellfedWithoutGate, without.0, without.1)];
        Played {
            name: "one".to_owned(),
            why: String::new(),
            part,
            workloads: 3,
            days: 1.0,
            resolution: String::new(),
            replicas_that_help: 1,
            training: true,
            optimum_gpu_hours: 1.0,
            optimum_cost: 1.0,
            mended_optimum_gpu_hours: None,
            mended_optimum_cost: None,
            remedy: None,
            rows,
        }
    }

    #[test]
    fn saturated_workloads_may_change_by_one_percent_either_way() {
        for (with, count) in [(99.1, 0), (100.9, 0), (98.9, 1), (101.1, 1)] {
            let got = against(&[played(Part::Saturated, (with, 0.0), (100.0, 0.0))]);
            assert_eq!(got.len(), count, "{with}: {got:?}");
        }
    }

    #[test]
    fn hours_that_were_saved_by_leaving_work_undone_are_no_gain() {
        // 60 of 100 hours for half of the work: 120 for all of it.
        assert_eq!(against(&[played(Part::Starved, (60.0, 0.5), (100.0, 0.0))]).len(), 1);
        assert_eq!(against(&[played(Part::Starved, (60.0, 0.3), (100.0, 0.0))]).len(), 0);
    }

    #[test]
    fn what_one_starved_workload_loses_another_may_win() {
        let wins = played(Part::Starved, (50.0, 0.0), (100.0, 0.0));
        let loses = played(Part::Starved, (120.0, 0.0), (100.0, 0.0));

        assert_eq!(against(&[wins.clone(), loses.clone()]).len(), 0);
        assert_eq!(against(&[wins, loses.clone(), loses.clone(), loses]).len(), 1);
    }
}
