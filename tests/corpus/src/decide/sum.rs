//! The hundred workloads together, each as often as it is there.

use super::bench::Played;
use super::mixture::Part;
use super::row::{Arm, Row};
use serde::Serialize;

/// What one arm cost all workloads of a part together, and what it gave, a day.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sum {
    /// Which arm.
    pub arm: Arm,
    /// GPUs × hours.
    pub gpu_hours: f64,
    /// Their price.
    pub cost: f64,
    /// What it cost beyond the optimum in hindsight of the same workloads, as a share of that.
    pub regret: f64,
    /// Share of requests over their objective, mean over the services; none without one.
    pub requests_over_slo: Option<f64>,
    /// Share of time over the objective, mean over the services.
    pub time_over_slo: Option<f64>,
    /// Share of what arrived that was not finished at the end, mean over the workloads.
    pub unserved: f64,
    /// Share of the work that was not done in time, mean over the workloads.
    pub missed: f64,
    /// Changes of the number of replicas.
    pub scale_events: f64,
    /// Those of them in the other direction within ten minutes.
    pub reversals: f64,
    /// GPUs × hours of replicas that did not help.
    pub gpu_hours_in_vain: f64,
    /// Times that the gate held growth.
    pub refusals: f64,
}

/// All arms over the workloads of `part`; of the whole mixture without one.
pub fn sums(played: &[Played], part: Option<Part>) -> Vec<Sum> {
    let of: Vec<&Played> = played.iter().filter(|one| part.is_none_or(|part| one.part == part)).collect();
    if of.is_empty() {
        return Vec::new();
    }
    let mendable = of.iter().any(|one| one.remedy.is_some());
    let shown = |arm: &Arm| mendable || !matches!(arm, Arm::Mended(_));
    Arm::all().filter(shown).map(|arm| sum(&of, arm)).collect()
}

fn sum(of: &[&Played], arm: Arm) -> Sum {
    let rows: Vec<(f64, &Row)> = of.iter().filter_map(|one| Some((f64::from(one.workloads), one.row(arm)?))).collect();
    let total = |value: fn(&Row) -> f64| rows.iter().map(|(count, row)| count * value(row)).sum::<f64>();
    let mean = |value: fn(&Row) -> Option<f64>| {
        let known = rows.iter().filter_map(|(count, row)| Some((count, value(row)?)));
        let (sum, all) = known.fold((0.0, 0.0), |(sum, all), (count, value)| (sum + count * value, all + count));
        (all > 0.0).then(|| sum / all)
    };
    let cost = total(|row| row.cost);
    let best: f64 = of.iter().map(|one| f64::from(one.workloads) * best(one, arm)).sum();
    Sum {
        arm,
        gpu_hours: total(|row| row.gpu_hours),
        cost,
        regret: if best > 0.0 { cost / best - 1.0 } else { 0.0 },
        requests_over_slo: mean(|row| row.requests_over_slo),
        time_over_slo: mean(|row| row.time_over_slo),
        unserved: mean(|row| Some(row.unserved)).unwrap_or_default(),
        missed: mean(|row| Some(row.missed())).unwrap_or_default(),
        scale_events: total(|row| row.scale_events),
        reversals: total(|row| row.reversals),
        gpu_hours_in_vain: total(|row| row.gpu_hours_in_vain),
        refusals: total(|row| row.refusals),
    }
}

/// The price of the optimum that `arm` is measured against.
fn best(one: &Played, arm: Arm) -> f64 {
    match arm {
        Arm::AsIs(_) | Arm::Holding => one.optimum_cost,
        Arm::Mended(_) => one.mended_optimum_cost.unwrap_or(one.optimum_cost),
    }
}
