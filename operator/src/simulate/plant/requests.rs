//! Work played request by request.

use super::{Look, Served, Utilisation};
use crate::simulate::error::SimulateError;
use crate::simulate::scenario::Scenario;
use std::collections::{BTreeMap, HashMap};
use wellfed_sim::scenario::{self, Model, Telemetry};
use wellfed_sim::sim::llm::LlmPool;
use wellfed_sim::sim::training::TrainingRun;
use wellfed_sim::sim::{Replica, Running, Sim, State};

/// Work played request by request.
#[derive(Debug)]
pub struct Requests {
    sim: Sim,
    tick: f64,
    looked: Vec<Looked>,
}

/// What the last look at a workload found.
#[derive(Debug, Default)]
struct Looked {
    utilisation: Utilisation,
    /// Seconds to the first token and how many, of each server.
    first_token: HashMap<String, (f64, u64)>,
}

impl Requests {
    /// Nothing has arrived yet.
    pub fn new(scenario: &Scenario) -> Result<Self, SimulateError> {
        let invalid = |error: &dyn std::fmt::Display| SimulateError::Invalid {
            file: scenario.name.clone(),
            path: "workloads".into(),
            problem: error.to_string(),
        };
        let empty = format!("{{tick: {}ms, seed: {}}}", (scenario.tick * 1000.0).round(), scenario.seed);
        let empty = scenario::Scenario::parse(&empty, &scenario.name, &scenario.folder);
        let mut whole = empty.map_err(|error| invalid(&error))?;
        whole.changes.clone_from(&scenario.changes);
        let mut sim = Sim::new(&whole).map_err(|error| invalid(&error))?;
        for subject in &scenario.workloads {
            sim.add(&subject.work).map_err(|error| invalid(&error))?;
        }
        let looked = scenario.workloads.iter().map(|_| Looked::default()).collect();
        Ok(Self { sim, tick: scenario.tick, looked })
    }

    /// The models.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// Plays whole ticks until `now`.
    pub fn advance(&mut self, now: f64, replicas: &BTreeMap<String, Vec<Replica>>) {
        while self.sim.now() + self.tick / 2.0 < now {
            self.sim.step(replicas);
        }
    }

    /// The training run, if it is one.
    pub fn run(&self, at: usize) -> Option<&TrainingRun> {
        if let State::Training(run) = &self.sim.workloads()[at].state { Some(run) } else { None }
    }

    /// What scrapers get to see.
    pub fn telemetry(&self, at: usize) -> Telemetry {
        self.sim.workloads()[at].spec.telemetry
    }

    /// What the server in the pod `uid` says.
    pub fn served(&self, at: usize, uid: &str) -> Option<Served> {
        let State::Llm(pool) = &self.sim.workloads()[at].state else { return None };
        let engine = pool.engines.get(uid)?;
        Some(Served { running: engine.running.len() as f64, waiting: engine.waiting.len() as f64 })
    }

    /// Where the workload stands.
    pub fn look(&mut self, at: usize, replicas: &[Replica]) -> Look {
        let now = self.sim.now();
        let workload = &self.sim.workloads()[at];
        let looked = &mut self.looked[at];
        let truth = workload.truth();
        let (done, in_system) = match &workload.state {
            State::Llm(pool) => (pool.finished() as f64, pool.in_system() as f64),
            State::Training(run) => (run.samples, run.backlog),
            State::Service(pool) => (pool.finished as f64, pool.in_system() as f64),
        };
        let latency = latency(workload, now, &mut looked.first_token);
        let busy = |uid: &str| self.sim.ledger(uid).used.gpu_busy;
        let utilisation = looked.utilisation.since(now, replicas, busy);
        Look { arrived: truth.arrivals, done, queue: truth.queue, in_system, latency, utilisation }
    }
}

/// For a service what a request that arrived as the oldest one in the queue has waited, and its own time; for a model
/// server the mean time to the first token since the last look, or the age of the oldest request without one.
fn latency(workload: &Running, now: f64, before: &mut HashMap<String, (f64, u64)>) -> Option<f64> {
    match (&workload.spec.model, &workload.state) {
        (Model::Service(service), State::Service(pool)) => {
            let waited = pool.queue.front().map_or(0.0, |request| now - request.at);
            Some(waited + service.cpu_seconds_per_request + service.gpu_seconds_per_request)
        }
        (_, State::Llm(pool)) => Some(first_token(pool, before).max(oldest(pool, now))),
        _ => None,
    }
}

fn first_token(pool: &LlmPool, before: &mut HashMap<String, (f64, u64)>) -> f64 {
    let (mut seconds, mut count) = (0.0, 0);
    for (uid, engine) in &pool.engines {
        let (sum, total) = (engine.first_token.sum, engine.first_token.total);
        let (sum_before, total_before) = before.get(uid).copied().unwrap_or_default();
        seconds += sum - sum_before;
        count += total - total_before;
        before.insert(uid.clone(), (sum, total));
    }
    before.retain(|uid, _| pool.engines.contains_key(uid));
    if count > 0 { seconds / count as f64 } else { 0.0 }
}

/// The age of the oldest request that waits.
fn oldest(pool: &LlmPool, now: f64) -> f64 {
    let waiting = pool.engines.values().filter_map(|engine| engine.waiting.front()).chain(pool.held.front());
    waiting.filter(|request| !request.scheduled).map(|request| now - request.arrived).fold(0.0, f64::max)
}
