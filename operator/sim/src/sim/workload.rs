//! One workload at work: its causes, its arrivals and its state.

use super::{
    Tick,
    llm::LlmPool,
    replica::{Replica, Stage},
    service::ServicePool,
    source::{Source, Stretch},
    training::TrainingRun,
    truth::{Mark, Truth},
    usage::Ledger,
};
use crate::scenario::{Arrivals, Model, ScenarioError, SetError, Workload};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
};

/// Seconds over which throughput and activity are averaged in the truth.
const TRUTH_WINDOW: f64 = 5.0;
/// Bytes a second to each GPU while a replica loads its weights, and the GPU memory it has then, MiB.
const LOADING: (f64, f64) = (2.0e9, 30_000.0);

/// One workload at work.
#[derive(Debug)]
pub struct Running {
    /// Its causes now.
    pub spec: Workload,
    /// Where it stands.
    pub state: State,
    source: Source,
    arrived: f64,
    marks: VecDeque<Mark>,
    ready: usize,
    cause: String,
}

/// Where a workload stands, by kind.
#[derive(Debug)]
pub enum State {
    /// LLM servers.
    Llm(LlmPool),
    /// A training run.
    Training(TrainingRun),
    /// A service.
    Service(ServicePool),
}

impl Running {
    /// The state before anything arrived.
    pub(super) fn new(spec: &Workload, folder: &Path, seed: u64) -> Result<Self, ScenarioError> {
        let state = match &spec.model {
            Model::Llm(_) => State::Llm(LlmPool::default()),
            Model::Training(training) => State::Training(TrainingRun::new(training)),
            Model::Service(_) => State::Service(ServicePool::default()),
        };
        let source = Source::new(&spec.arrivals, folder, seed)?;
        let marks = VecDeque::new();
        Ok(Self { spec: spec.clone(), state, source, arrived: 0.0, marks, ready: 0, cause: "as written".into() })
    }

    /// Plays one tick; nothing arrives while `begun` is `None`.
    pub(super) fn step(
        &mut self,
        replicas: &[Replica],
        tick: Tick,
        begun: Option<f64>,
        ledgers: &mut BTreeMap<String, Ledger>,
    ) {
        self.ready = replicas.iter().filter(|replica| replica.stage == Stage::Ready).count();
        load(replicas, tick, ledgers);
        let stretch = begun.map(|begun| Stretch { from: tick.from, length: tick.length(), begun });
        let requests = |source: &mut Source, arrivals: &Arrivals| {
            stretch.map_or_else(Vec::new, |stretch| source.requests(arrivals, stretch))
        };
        match (&self.spec.model, &mut self.state) {
            (Model::Llm(llm), State::Llm(pool)) => {
                let new = requests(&mut self.source, &self.spec.arrivals);
                self.arrived += new.len() as f64;
                pool.step(llm, new, replicas, tick, ledgers);
            }
            (Model::Training(training), State::Training(run)) => {
                let new = stretch.map_or(0.0, |stretch| self.source.expected(&self.spec.arrivals, stretch));
                self.arrived += new;
                run.began = begun.map_or(f64::INFINITY, |begun| tick.from - begun);
                run.step(training, new, replicas, tick, ledgers);
            }
            (Model::Service(service), State::Service(pool)) => {
                let new = requests(&mut self.source, &self.spec.arrivals);
                self.arrived += new.len() as f64;
                pool.step(service, new, replicas, tick, ledgers);
            }
            _ => {}
        }
        self.mark(replicas, tick, ledgers);
    }

    /// Changes one cause; the kind of the model cannot change, since its path would not exist.
    pub(super) fn set(&mut self, path: &str, value: &serde_json::Value) -> Result<(), SetError> {
        let changed = self.spec.with(path, value)?;
        self.source.follow(&changed.arrivals).map_err(|error| SetError::BadValue {
            path: path.into(),
            value: value.to_string(),
            why: error.to_string(),
        })?;
        self.spec = changed;
        self.cause = format!("{path}: {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        Ok(())
    }

    fn mark(&mut self, replicas: &[Replica], tick: Tick, ledgers: &BTreeMap<String, Ledger>) {
        let gpu_busy =
            replicas.iter().filter_map(|pod| Some((pod.uid.clone(), ledgers.get(&pod.uid)?.used.gpu_busy))).collect();
        let done = match &self.state {
            State::Llm(pool) => pool.finished() as f64,
            State::Training(run) => run.samples,
            State::Service(pool) => pool.finished as f64,
        };
        let useful = if let State::Training(run) = &self.state { run.useful() } else { done };
        self.marks.push_back(Mark { at: tick.until, arrived: self.arrived, done, useful, gpu_busy });
        while self.marks.front().is_some_and(|mark| mark.at < tick.until - TRUTH_WINDOW) {
            self.marks.pop_front();
        }
    }

    /// Where it truly stands.
    pub fn truth(&self) -> Truth {
        let (queue, running) = match &self.state {
            State::Llm(pool) => {
                let running: usize = pool.engines.values().map(|engine| engine.running.len()).sum();
                ((pool.in_system() - running) as f64, running as f64)
            }
            State::Training(run) => (run.backlog, self.ready as f64),
            State::Service(pool) => (pool.waiting() as f64, (pool.in_system() - pool.waiting()) as f64),
        };
        Truth::over(&self.marks, &self.cause).with(queue, running, self.ready)
    }
}

/// A replica that is not Ready yet reads its weights.
pub(crate) fn load(replicas: &[Replica], tick: Tick, ledgers: &mut BTreeMap<String, Ledger>) {
    for replica in replicas.iter().filter(|replica| replica.stage == Stage::Starting) {
        let ledger = ledgers.entry(replica.uid.clone()).or_default();
        ledger.used.pcie_rx_bytes += LOADING.0 * tick.length();
        ledger.used.cpu_seconds += tick.length();
        ledger.level.gpu_memory_mib = LOADING.1;
        ledger.level.memory_bytes = 4e9;
    }
}
