//! The pure core: causes and pods in, work done out. No clock, no network, no metric names.

pub(crate) mod cfs;
mod even;
pub mod histogram;
mod lengths;
pub mod llm;
mod replica;
pub mod service;
pub(crate) mod source;
pub mod training;
mod truth;
mod usage;
mod workload;

pub use replica::{Replica, Stage};
pub use truth::Truth;
pub use usage::{Ledger, Level, Usage};
pub(crate) use workload::load;
pub use workload::{Running, State};

use crate::scenario::{Change, Scenario, ScenarioError, SetError, Workload};
use std::collections::BTreeMap;

/// The stretch of the models' clock that one step covers, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// Its start.
    pub from: f64,
    /// Its end.
    pub until: f64,
}

impl Tick {
    /// Its length.
    pub fn length(self) -> f64 {
        self.until - self.from
    }
}

/// All workloads of a scenario, played forward in steps. The same seed and the same pods give the same history.
#[derive(Debug)]
pub struct Sim {
    scenario: Scenario,
    /// Ticks played: counted, since adding up their length would drift.
    ticks: u64,
    /// The tick at which the scenario began.
    begun: Option<u64>,
    workloads: Vec<Running>,
    changes: Vec<Change>,
    ledgers: BTreeMap<String, Ledger>,
}

impl Sim {
    /// The state before anything happened.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let mut changes = scenario.changes.clone();
        changes.sort_by(|one, other| other.at.seconds().total_cmp(&one.at.seconds()));
        let workloads = scenario.workloads.iter().enumerate();
        Ok(Self {
            workloads: workloads
                .map(|(index, workload)| Running::new(workload, &scenario.folder, scenario.seed + index as u64))
                .collect::<Result<_, _>>()?,
            scenario: scenario.clone(),
            ticks: 0,
            begun: None,
            changes,
            ledgers: BTreeMap::new(),
        })
    }

    /// Plays one tick. `pods` gives each workload, by name, its replicas.
    pub fn step(&mut self, pods: &BTreeMap<String, Vec<Replica>>) {
        let tick = Tick { from: self.now(), until: self.seconds(self.ticks + 1) };
        self.begin(pods);
        self.change();
        let begun = self.begun();
        for workload in &mut self.workloads {
            let replicas = pods.get(&workload.spec.name).map_or(&[][..], Vec::as_slice);
            workload.step(replicas, tick, begun, &mut self.ledgers);
        }
        self.ledgers.retain(|uid, _| pods.values().flatten().any(|replica| replica.uid == *uid));
        self.ticks += 1;
    }

    fn begin(&mut self, pods: &BTreeMap<String, Vec<Replica>>) {
        let ready = |name: &String| {
            pods.get(name).map_or(0, |pods| pods.iter().filter(|pod| pod.stage == Stage::Ready).count())
        };
        let due = self.scenario.begin.when_ready.iter().all(|(name, least)| ready(name) >= *least as usize);
        if self.begun.is_none() && due {
            self.begun = Some(self.ticks);
        }
    }

    fn change(&mut self) {
        let Some(begun) = self.begun() else { return };
        while let Some(change) = self.changes.pop_if(|change| change.at.seconds() <= begun) {
            for (path, value) in &change.set {
                if let Err(error) = self.set(&change.workload, path, value) {
                    tracing::error!(workload = change.workload, %error, "a change of the scenario was left out");
                }
            }
        }
    }

    /// Changes one cause of the workload `name`; nothing changes on an error.
    pub fn set(&mut self, name: &str, path: &str, value: &serde_json::Value) -> Result<(), SetError> {
        let known = || self.workloads.iter().map(|one| one.spec.name.as_str()).collect::<Vec<_>>().join(", ");
        let Some(index) = self.workloads.iter().position(|workload| workload.spec.name == name) else {
            return Err(SetError::UnknownWorkload { name: name.into(), known: known() });
        };
        self.workloads[index].set(path, value)
    }

    /// Adds a workload while the world runs.
    pub fn add(&mut self, workload: &Workload) -> Result<(), ScenarioError> {
        let invalid =
            |path: String, problem: String| ScenarioError::Invalid { file: "new workload".into(), path, problem };
        workload.check().map_err(|(path, problem)| invalid(path, problem))?;
        if self.workloads.iter().any(|other| other.spec.name == workload.name) {
            let problem = format!("\"{}\" exists already; remove it first or choose another name", workload.name);
            return Err(invalid("name".into(), problem));
        }
        let seed = self.scenario.seed + self.workloads.len() as u64;
        self.workloads.push(Running::new(workload, &self.scenario.folder, seed)?);
        Ok(())
    }

    /// Forgets the workload `name`; whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.workloads.len();
        self.workloads.retain(|workload| workload.spec.name != name);
        self.workloads.len() < before
    }

    /// The workloads.
    pub fn workloads(&self) -> &[Running] {
        &self.workloads
    }

    /// What the pod `uid` did so far.
    pub fn ledger(&self, uid: &str) -> Ledger {
        self.ledgers.get(uid).copied().unwrap_or_default()
    }

    /// Seconds since the first step.
    pub fn now(&self) -> f64 {
        self.seconds(self.ticks)
    }

    /// Seconds since the scenario began; `None` before.
    pub fn begun(&self) -> Option<f64> {
        self.begun.map(|begun| self.seconds(self.ticks - begun))
    }

    fn seconds(&self, ticks: u64) -> f64 {
        (ticks as f64 * self.scenario.tick.seconds() * 1e6).round() / 1e6
    }
}
