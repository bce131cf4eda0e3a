//! Work played as a fluid, a cycle at a time.

use super::{Look, Served, Utilisation};
use crate::evidence::Metric;
use crate::simulate::error::SimulateError;
use crate::simulate::sampler::{Said, SampledPod, Sampler, Scraped};
use crate::simulate::scenario::Scenario;
use std::collections::BTreeMap;
use wellfed_sim::flow::{Flow, Inflow, Work};
use wellfed_sim::scenario::{Change, Model, Telemetry, Workload};
use wellfed_sim::sim::training::TrainingRun;
use wellfed_sim::sim::{Ledger, Replica, Stage, Tick};

/// Work played as a fluid.
#[derive(Debug)]
pub struct Fluid {
    now: f64,
    streams: Vec<Stream>,
    ledgers: BTreeMap<String, Ledger>,
    /// Latest first.
    changes: Vec<Change>,
}

/// The work of one workload.
#[derive(Debug)]
struct Stream {
    spec: Workload,
    inflow: Inflow,
    flow: Flow,
    /// Lengths of the newest work.
    work: Work,
    arrived: f64,
    /// The replicas that served in the last step, by uid: one that has just turned Ready was not scraped yet.
    serving: Vec<String>,
    /// Since when somebody waits and no replica is Ready.
    unserved: Option<f64>,
    utilisation: Utilisation,
}

impl Fluid {
    /// Nothing has arrived yet.
    pub fn new(scenario: &Scenario) -> Result<Self, SimulateError> {
        let mut changes = scenario.changes.clone();
        changes.sort_by(|one, other| other.at.seconds().total_cmp(&one.at.seconds()));
        let streams = scenario.workloads.iter().enumerate().map(|(at, subject)| {
            let inflow = Inflow::new(&subject.work, &scenario.folder, scenario.seed + at as u64);
            Ok(Stream {
                spec: subject.work.clone(),
                inflow: inflow.map_err(|error| invalid(scenario, at, &error))?,
                flow: Flow::new(&subject.work),
                work: Work::default(),
                arrived: 0.0,
                serving: Vec::new(),
                unserved: None,
                utilisation: Utilisation::default(),
            })
        });
        Ok(Self { now: 0.0, streams: streams.collect::<Result<_, _>>()?, ledgers: BTreeMap::new(), changes })
    }

    /// Plays one step until `now`.
    pub fn advance(&mut self, now: f64, replicas: &BTreeMap<String, Vec<Replica>>) {
        self.change();
        let tick = Tick { from: self.now, until: now };
        let all: usize = replicas.values().map(Vec::len).sum();
        if self.ledgers.len() > all {
            self.ledgers.retain(|uid, _| replicas.values().flatten().any(|replica| replica.uid == *uid));
        }
        for stream in &mut self.streams {
            let replicas = replicas.get(&stream.spec.name).map_or(&[][..], Vec::as_slice);
            stream.step(replicas, tick, &mut self.ledgers);
        }
        self.now = now;
    }

    /// Carries out the changes that are due; that they can be was checked at the start.
    fn change(&mut self) {
        while let Some(change) = self.changes.pop_if(|change| change.at.seconds() <= self.now) {
            let Some(stream) = self.streams.iter_mut().find(|one| one.spec.name == change.workload) else { continue };
            for (path, value) in &change.set {
                if let Ok(spec) = stream.spec.with(path, value)
                    && stream.inflow.adopt(&spec).is_ok()
                {
                    stream.flow.adopt(&spec);
                    stream.spec = spec;
                }
            }
        }
    }

    /// The training run, if it is one.
    pub fn run(&self, at: usize) -> Option<&TrainingRun> {
        self.streams[at].flow.run()
    }

    /// What scrapers get to see.
    pub fn telemetry(&self, at: usize) -> Telemetry {
        self.streams[at].spec.telemetry
    }

    /// What the server in the pod `uid` says; all are alike.
    pub fn served(&self, at: usize, uid: &str) -> Option<Served> {
        let stream = &self.streams[at];
        stream.serves(uid).then(|| stream.served()).flatten()
    }

    /// Where the workload stands.
    pub fn look(&mut self, at: usize, replicas: &[Replica]) -> Look {
        let (now, ledgers) = (self.now, &self.ledgers);
        let stream = &mut self.streams[at];
        let (queue, training) = (stream.flow.queue(), matches!(stream.spec.model, Model::Training(_)));
        let busy = |uid: &str| ledgers.get(uid).map_or(0.0, |ledger| ledger.used.gpu_busy);
        Look {
            arrived: stream.arrived,
            done: stream.flow.finished(),
            queue,
            in_system: if training { queue } else { queue + stream.flow.running() },
            // Without a replica the first that came waits for as long as there is none.
            latency: stream.flow.latency().or_else(|| stream.unserved.filter(|_| !training).map(|since| now - since)),
            utilisation: stream.utilisation.since(now, replicas, busy),
        }
    }

    /// One scrape of `pods`.
    pub fn scrape(&self, sampler: &mut Sampler, pods: &[SampledPod]) {
        let scraped = |pod| {
            let pod: &SampledPod = pod;
            let stream = self.streams.iter().find(|one| one.spec.name == pod.workload)?;
            let serves = stream.serves(&pod.replica.uid);
            Some(Scraped {
                pod,
                ledger: self.ledgers.get(&pod.replica.uid).copied().unwrap_or_default(),
                said: serves.then(|| stream.said()).flatten(),
                telemetry: stream.spec.telemetry,
            })
        };
        let scraped: Vec<_> = pods.iter().filter_map(scraped).collect();
        sampler.scrape(self.now, &scraped);
    }
}

impl Stream {
    fn step(&mut self, replicas: &[Replica], tick: Tick, ledgers: &mut BTreeMap<String, Ledger>) {
        let work = self.inflow.next(tick.from, tick.length());
        if work.amount > 0.0 {
            self.work = work;
        }
        self.arrived += work.amount;
        let ready = || replicas.iter().filter(|replica| replica.stage == Stage::Ready).map(|replica| &replica.uid);
        if !self.serving.iter().eq(ready()) {
            self.serving = ready().cloned().collect();
        }
        self.flow.step(work, replicas, tick, ledgers);
        let unserved = self.serving.is_empty() && self.flow.queue() > 0.0;
        self.unserved = unserved.then(|| self.unserved.unwrap_or(tick.from));
    }

    fn serves(&self, uid: &str) -> bool {
        self.serving.iter().any(|serving| serving == uid)
    }

    fn served(&self) -> Option<Served> {
        let ready = self.serving.len() as f64;
        (ready > 0.0).then(|| Served { running: self.flow.running() / ready, waiting: self.flow.queue() / ready })
    }

    /// What a model server says. A fluid has no request that is thrown out of the cache.
    fn said(&self) -> Option<Said> {
        let Model::Llm(llm) = &self.spec.model else { return None };
        let Served { running, waiting } = self.served()?;
        // Half of its answer is there, on the average.
        let held = running * (self.work.prompt_tokens + self.work.output_tokens / 2.0);
        let kv = (held / f64::from(llm.kv_capacity_tokens)).min(1.0);
        let progress = self.flow.finished() * self.work.output_tokens / self.serving.len() as f64;
        Some(Said {
            gauges: vec![(Metric::Running, running), (Metric::Waiting, waiting), (Metric::Kv, kv)],
            counters: vec![(Metric::Progress, progress)],
            ..Said::default()
        })
    }
}

fn invalid(scenario: &Scenario, at: usize, error: &dyn std::fmt::Display) -> SimulateError {
    SimulateError::Invalid {
        file: scenario.name.clone(),
        path: format!("workloads[{at}].arrivals"),
        problem: error.to_string(),
    }
}
