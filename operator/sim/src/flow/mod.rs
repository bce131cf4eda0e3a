//! The same workloads as a fluid, for long horizons: fourteen days in steps of 15 s instead of request by request.
//!
//! Amounts are real numbers and flow at the rate that the state allows, from the same causes as in [`crate::sim`]. Each
//! step is solved implicitly, so that its length does not matter to the result once arrivals are steady. What this
//! leaves out: the spread of lengths and of waiting times. Ask [`crate::sim::Sim`] for the tail of a latency.

mod batch;
mod busy;
mod engine;
mod inflow;
mod law;
mod lengths;
mod llm;
mod seats;
mod service;
mod spread;
mod training;

pub use inflow::Inflow;

use crate::scenario::{Model, Workload};
use crate::sim::{Ledger, Replica, Stage, Tick, load, training::TrainingRun};
use llm::LlmFlow;
use service::ServiceFlow;
use std::collections::BTreeMap;

/// An amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Requests, or samples.
    pub amount: f64,
    /// Prompt tokens of a request, on the average; only LLM servers look at it.
    pub prompt_tokens: f64,
    /// Output tokens of a request, on the average; only LLM servers look at it.
    pub output_tokens: f64,
}

/// One workload as a fluid.
#[derive(Debug)]
pub struct Flow {
    spec: Workload,
    state: State,
    ready: u32,
    finished: f64,
    throughput: f64,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // a scenario has a few of them
enum State {
    Llm(LlmFlow),
    Training(TrainingRun),
    Service(ServiceFlow),
}

impl Flow {
    /// The state before anything arrived.
    pub fn new(workload: &Workload) -> Self {
        let state = match &workload.model {
            Model::Llm(_) => State::Llm(LlmFlow::default()),
            Model::Training(training) => State::Training(TrainingRun::new(training)),
            Model::Service(_) => State::Service(ServiceFlow::default()),
        };
        Self { spec: workload.clone(), state, ready: 0, finished: 0.0, throughput: 0.0 }
    }

    /// Takes over causes that changed. What waits and runs stays, unless the kind of the model is another one.
    pub fn adopt(&mut self, workload: &Workload) {
        if std::mem::discriminant(&self.spec.model) == std::mem::discriminant(&workload.model) {
            self.spec = workload.clone();
        } else {
            *self = Self::new(workload);
        }
    }

    /// Plays `tick`, over which `arrived` comes in evenly; `ledgers` gets, by uid, what the replicas used.
    pub fn step(&mut self, arrived: Work, replicas: &[Replica], tick: Tick, ledgers: &mut BTreeMap<String, Ledger>) {
        load(replicas, tick, ledgers);
        self.ready = replicas.iter().filter(|replica| replica.stage == Stage::Ready).count() as u32;
        let finished = match (&self.spec.model, &mut self.state) {
            (Model::Llm(llm), State::Llm(flow)) => flow.step(llm, arrived, replicas, tick, ledgers),
            (Model::Service(service), State::Service(flow)) => flow.step(service, arrived, replicas, tick, ledgers),
            (Model::Training(model), State::Training(run)) => {
                training::step(run, model, arrived, replicas, tick, ledgers)
            }
            _ => 0.0,
        };
        self.finished += finished;
        self.throughput = finished / tick.length();
    }

    /// The training run, if it is one.
    pub fn run(&self) -> Option<&TrainingRun> {
        if let State::Training(run) = &self.state { Some(run) } else { None }
    }

    /// Requests or samples that wait.
    pub fn queue(&self) -> f64 {
        match &self.state {
            State::Llm(flow) => flow.queue(),
            State::Training(run) => run.backlog,
            State::Service(flow) => flow.queue(),
        }
    }

    /// Requests on the replicas; Ready replicas for training.
    pub fn running(&self) -> f64 {
        match &self.state {
            State::Llm(flow) => flow.running(),
            State::Training(_) => f64::from(self.ready),
            State::Service(flow) => flow.running(),
        }
    }

    /// Seconds from now to its first token (LLM) or its answer (service) for a request that comes in now, on the
    /// average. `None` while no replica is Ready, and for training.
    pub fn latency(&self) -> Option<f64> {
        match (&self.spec.model, &self.state) {
            (Model::Llm(llm), State::Llm(flow)) => flow.latency(llm),
            (_, State::Service(flow)) => flow.latency(),
            _ => None,
        }
    }

    /// Requests or samples finished a second, over the last step.
    pub fn throughput(&self) -> f64 {
        self.throughput
    }

    /// Requests or samples finished since the start.
    pub fn finished(&self) -> f64 {
        self.finished
    }

    /// Requests or samples a second that `replicas` Ready ones, each limited to `cpu_limit` cores, finish at most if
    /// all work is like `work`.
    pub fn capacity(&self, work: Work, replicas: u32, cpu_limit: Option<f64>) -> f64 {
        match &self.spec.model {
            Model::Llm(llm) => f64::from(replicas) * engine::capacity(llm, work.into(), cpu_limit),
            Model::Service(service) => f64::from(replicas) * service::capacity(service, work.into(), cpu_limit),
            Model::Training(model) => training::capacity(model, replicas, cpu_limit),
        }
    }
}
