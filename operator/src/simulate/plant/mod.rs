//! The work itself, played for the pods that there are.

mod flow;
mod requests;
mod utilisation;

use super::error::SimulateError;
use super::sampler::{SampledPod, Sampler};
use super::scenario::{Resolution, Scenario};
use flow::Fluid;
use requests::Requests;
use std::collections::BTreeMap;
use utilisation::Utilisation;
use wellfed_sim::scenario::Telemetry;
use wellfed_sim::sim::Replica;
use wellfed_sim::sim::training::TrainingRun;

/// Where one workload stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// Requests or samples that arrived so far.
    pub arrived: f64,
    /// Requests or samples that were finished so far.
    pub done: f64,
    /// Requests or samples that wait.
    pub queue: f64,
    /// Those, and requests that are being served.
    pub in_system: f64,
    /// Seconds that a request takes now, to its answer or to its first token; none for training.
    pub latency: Option<f64>,
    /// Share of time with a kernel on the GPU since the last look, mean over Ready replicas; none without one.
    pub utilisation: Option<f64>,
}

/// What one model server says of its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    /// In the batch.
    pub running: f64,
    /// Waiting.
    pub waiting: f64,
}

/// The work of all workloads.
#[derive(Debug)]
pub enum Plant {
    /// Request by request.
    Requests(Box<Requests>),
    /// As a fluid.
    Flow(Fluid),
}

impl Plant {
    /// Nothing has arrived yet.
    pub fn new(scenario: &Scenario) -> Result<Self, SimulateError> {
        Ok(match scenario.resolution {
            Resolution::Requests => Self::Requests(Box::new(Requests::new(scenario)?)),
            Resolution::Flow => Self::Flow(Fluid::new(scenario)?),
        })
    }

    /// Plays until `now` with these replicas of each workload.
    pub fn advance(&mut self, now: f64, replicas: &BTreeMap<String, Vec<Replica>>) {
        match self {
            Self::Requests(requests) => requests.advance(now, replicas),
            Self::Flow(fluid) => fluid.advance(now, replicas),
        }
    }

    /// Where the workload number `at` stands, and what happened since the last look at it.
    pub fn look(&mut self, at: usize, replicas: &[Replica]) -> Look {
        match self {
            Self::Requests(requests) => requests.look(at, replicas),
            Self::Flow(fluid) => fluid.look(at, replicas),
        }
    }

    /// What the model server in the pod `uid` says; none where there is none, or it does not serve yet.
    pub fn served(&self, at: usize, uid: &str) -> Option<Served> {
        match self {
            Self::Requests(requests) => requests.served(at, uid),
            Self::Flow(fluid) => fluid.served(at, uid),
        }
    }

    /// The training run of the workload number `at`, if it trains.
    pub fn run(&self, at: usize) -> Option<&TrainingRun> {
        match self {
            Self::Requests(requests) => requests.run(at),
            Self::Flow(fluid) => fluid.run(at),
        }
    }

    /// What scrapers get to see of the workload number `at`.
    pub fn telemetry(&self, at: usize) -> Telemetry {
        match self {
            Self::Requests(requests) => requests.telemetry(at),
            Self::Flow(fluid) => fluid.telemetry(at),
        }
    }

    /// One scrape of `pods` by everything that the gate's lane reads.
    pub fn scrape(&self, sampler: &mut Sampler, pods: &[SampledPod]) {
        match self {
            Self::Requests(requests) => sampler.scrape_sim(requests.sim(), pods),
            Self::Flow(fluid) => fluid.scrape(sampler, pods),
        }
    }
}
