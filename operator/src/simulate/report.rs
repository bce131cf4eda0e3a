//! All policies on the same arrivals, side by side.

use super::error::SimulateError;
use super::figures::Figures;
use super::hindsight::{Hindsight, hindsight};
use super::play::{Fared, play};
use super::rivals::Policy;
use super::scenario::{Resolution, Scenario};
use super::series::Point;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::thread;
use wellfed_engine::decide::panic_message;
use wellfed_sim::scenario::Model;

/// What the simulation of a scenario gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// Simulated time, seconds.
    pub seconds: f64,
    /// Time between cycles, seconds.
    pub cycle_seconds: f64,
    /// The seed of all chance.
    pub seed: u64,
    /// How finely work was played.
    pub resolution: Resolution,
    /// In the scenario's order.
    pub workloads: Vec<WorkloadReport>,
}

/// How one workload fared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadReport {
    /// Its name.
    pub name: String,
    /// Whether its arrivals are samples of a training run; else they are requests.
    pub training: bool,
    /// The longest that a request should take, seconds.
    pub slo_seconds: Option<f64>,
    /// Under each policy, in the order asked for.
    pub policies: Vec<PolicyReport>,
    /// The least that any policy could have paid.
    pub optimum: Hindsight,
}

/// How it fared under one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyReport {
    /// Who decided.
    pub policy: Policy,
    /// What it cost and gave.
    pub figures: Figures,
    /// How it went over time.
    pub points: Vec<Point>,
}

/// Plays `scenario` under each of `policies`, in as many threads.
pub fn simulate(scenario: &Scenario, policies: &[Policy]) -> Result<Report, SimulateError> {
    let played: Result<Vec<Vec<Fared>>, SimulateError> = thread::scope(|scope| {
        let one = |policy: &Policy| {
            let policy = *policy;
            scope.spawn(move || play(scenario, policy, &mut |_, _| {}))
        };
        let running: Vec<_> = policies.iter().map(one).collect();
        let whole =
            |thread: thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| Err(fell(panic.as_ref())));
        running.into_iter().map(whole).collect()
    });
    let mut played: Vec<_> = played?.into_iter().map(Vec::into_iter).collect();
    let mut workloads = Vec::with_capacity(scenario.workloads.len());
    for (at, subject) in scenario.workloads.iter().enumerate() {
        let fared = policies.iter().zip(&mut played);
        let fared = fared.filter_map(|(policy, fared)| {
            let Fared { figures, points } = fared.next()?;
            Some(PolicyReport { policy: *policy, figures, points })
        });
        workloads.push(WorkloadReport {
            name: subject.id.name.clone(),
            training: matches!(subject.work.model, Model::Training(_)),
            slo_seconds: subject.slo,
            policies: fared.collect(),
            optimum: hindsight(scenario, at)?,
        });
    }
    Ok(Report {
        scenario: scenario.name.clone(),
        seconds: scenario.length,
        cycle_seconds: scenario.cycle,
        seed: scenario.seed,
        resolution: scenario.resolution,
        workloads,
    })
}

fn fell(panic: &(dyn std::any::Any + Send)) -> SimulateError {
    SimulateError::Panicked { message: panic_message(panic) }
}

impl Report {
    /// Writes `report.json` and `report.svg` into `folder`, which is made if need be.
    pub fn write(&self, folder: &Path) -> Result<(), SimulateError> {
        let failed = |file: &Path| {
            let file = file.display().to_string();
            move |source| SimulateError::Write { file, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let json = folder.join("report.json");
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(&json)(error.into()))?;
        fs::write(&json, text + "\n").map_err(failed(&json))?;
        let svg = folder.join("report.svg");
        fs::write(&svg, super::picture::draw(self)?).map_err(failed(&svg))
    }
}
