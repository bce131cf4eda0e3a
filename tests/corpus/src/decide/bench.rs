//! Plays the mixture.

use super::mixture::{Entry, Mixture, Part};
use super::row::{Arm, Row};
use super::useful::useful;
use anyhow::{Context, Result};
use serde::Serialize;
use wellfed::simulate::{Policy, PolicyReport, Scenario, simulate};
use wellfed_engine::policy::OnUnknown;

/// How one kind of workload fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Played {
    /// Its name.
    pub name: String,
    /// Why it is in the mixture.
    pub why: String,
    /// Whether its GPUs are at work.
    pub part: Part,
    /// How many of the hundred are like it.
    pub workloads: u32,
    /// Simulated time, days.
    pub days: f64,
    /// How finely work was played: as a flow, or request by request.
    pub resolution: String,
    /// Replicas that help as it is.
    pub replicas_that_help: u32,
    /// Whether it trains.
    pub training: bool,
    /// GPUs × hours a day of the optimum in hindsight.
    pub optimum_gpu_hours: f64,
    /// Its price a day.
    pub optimum_cost: f64,
    /// GPUs × hours a day of the optimum when the cause is mended.
    pub mended_optimum_gpu_hours: Option<f64>,
    /// Its price a day.
    pub mended_optimum_cost: Option<f64>,
    /// What the owner does.
    pub remedy: Option<String>,
    /// Under each arm.
    pub rows: Vec<Row>,
}

impl Played {
    /// How it fared under `arm`; what has no cause to mend fares as it is.
    pub fn row(&self, arm: Arm) -> Option<&Row> {
        let find = |arm| self.rows.iter().find(|row| row.arm == arm);
        find(arm).or_else(|| find(Arm::AsIs(arm.policy())))
    }
}

/// Plays every entry; `told` hears of each.
pub fn play(mixture: &Mixture, mut told: impl FnMut(&Played)) -> Result<Vec<Played>> {
    let one = |entry: &Entry| {
        let played = play_one(mixture, entry, &|scenario| scenario)?;
        told(&played);
        Ok(played)
    };
    mixture.scenarios.iter().map(one).collect()
}

/// Plays `entry`, each scenario as `adjusted`.
pub fn play_one(mixture: &Mixture, entry: &Entry, adjusted: &dyn Fn(Scenario) -> Scenario) -> Result<Played> {
    let as_is = adjusted(mixture.scenario(entry, false)?);
    let (mut rows, best) = arms(&as_is, &Policy::ALL, Arm::AsIs)?;
    rows.extend(arms(&holding(as_is.clone()), &[Policy::Wellfed], |_| Arm::Holding)?.0);
    let mut mended_best = None;
    if entry.mend.is_some() {
        let (more, best) = arms(&adjusted(mixture.scenario(entry, true)?), &Arm::MENDED, Arm::Mended)?;
        rows.extend(more);
        mended_best = Some(best);
    }
    Ok(Played {
        name: entry.name.clone(),
        why: entry.why.clone(),
        part: entry.part,
        workloads: entry.workloads,
        days: as_is.length / 86_400.0,
        resolution: format!("{:?}", as_is.resolution),
        replicas_that_help: useful(&as_is).first().map_or(0, |(_, count)| *count),
        training: rows.iter().all(|row| row.requests_over_slo.is_none()),
        optimum_gpu_hours: best.0,
        optimum_cost: best.1,
        mended_optimum_gpu_hours: mended_best.map(|best| best.0),
        mended_optimum_cost: mended_best.map(|best| best.1),
        remedy: entry.mend.as_ref().map(|mend| mend.remedy.clone()),
        rows,
    })
}

/// The same with gates that hold growth until they know.
fn holding(mut scenario: Scenario) -> Scenario {
    scenario.workloads.iter_mut().for_each(|subject| subject.policy.gate.on_unknown = OnUnknown::Hold);
    scenario
}

/// A row for each policy, and GPU-hours and price of the optimum, a day.
fn arms(scenario: &Scenario, policies: &[Policy], arm: fn(Policy) -> Arm) -> Result<(Vec<Row>, (f64, f64))> {
    let useful = useful(scenario);
    let report = simulate(scenario, policies)?;
    let workload = report.workloads.first().with_context(|| format!("{} has no workload", scenario.name))?;
    let row = |one: &PolicyReport| Row::of(arm(one.policy), one, &workload.optimum, scenario, &useful);
    let daily = 86_400.0 / scenario.length;
    let best = (workload.optimum.gpu_hours * daily, workload.optimum.cost * daily);
    Ok((workload.policies.iter().map(row).collect(), best))
}
