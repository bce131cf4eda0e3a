//! The gate looks on: evidence as its lane would sample it, judged each minute and counted as the engine counts it.

use crate::case::{Case, Fault, NEIGHBOUR, Pod, WORKLOAD, Work};
use crate::garble::garbled;
use crate::label::exceeds;
use crate::play::{Moment, Onlooker};
use anyhow::{Result, anyhow};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use wellfed::config::Config;
use wellfed::evidence::{Exit, ExitCause, History, LONGEST, OwnSaid, Watched, WatchedPod};
use wellfed::intent::{Settings, intent};
use wellfed::simulate::sampler::{SampledPod, Sampler};
use wellfed_engine::evidence::Evidence;
use wellfed_engine::gate::{GateMemory, Verdict};
use wellfed_engine::judge;
use wellfed_engine::opinion::Opinion;
use wellfed_engine::policy::{Class, GatePolicy};
use wellfed_engine::rules::RuleName;
use wellfed_sim::scenario::End;
use wellfed_sim::sim::training::Outage;
use wellfed_sim::sim::{Replica, Sim, Stage, State};

/// Seconds between scrapes, and between looks of the lane.
const SCRAPE: f64 = 15.0;
const LOOK: f64 = 60.0;
/// An objective must be missed for this long to count, seconds.
const BREACHED_FOR: f64 = 120.0;
/// Time over which an objective's quantile is taken, seconds.
const QUANTILE_OVER: f64 = 120.0;
const CONTAINER: &str = "gpu";
/// When every scenario starts, seconds since 1970.
const START: i64 = 1_800_000_000;

/// The verdict of one minute in which the gate was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Seconds since the start.
    pub second: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The evidence and the opinion on it.
    pub behind: Option<(Evidence, Opinion)>,
}

/// The gate, its memory and its lane.
#[derive(Debug)]
pub struct Watch<'a> {
    case: &'a Case,
    gate: GatePolicy,
    sampler: Sampler,
    history: History,
    memory: GateMemory,
    /// Since when demand exceeds its target.
    since: Option<f64>,
    /// When it did so last.
    exceeded: f64,
    next: Next,
    /// The last stretch in which no process of the workload ran.
    outage: Option<Outage>,
    /// How its processes ended.
    exits: Vec<Exit>,
    /// Looks taken, and those of them that failed.
    looks: (u32, f64),
    /// What it said while it was asked, one a minute.
    pub said: Vec<Said>,
}

/// When the next of each is due, seconds.
#[derive(Debug)]
struct Next {
    scrape: f64,
    look: f64,
}

/// The gate's policy for a workload that says nothing about its gate.
pub fn defaults(work: Work) -> Result<GatePolicy> {
    let class = match work {
        Work::Inference => "Inference",
        Work::Training => "Training",
    };
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": WORKLOAD});
    let spec = json!({"class": class, "maxReplicas": 100, "signals": [], "scaleTargetRef": target});
    let settings = Settings { config: Config::default(), evidence_interval: SignedDuration::from_mins(1) };
    let intent = intent(&serde_json::from_value(spec)?, WORKLOAD, &settings);
    intent.map(|intent| intent.policy.gate).map_err(|refusals| anyhow!("the default gate is refused: {refusals:?}"))
}

impl<'a> Watch<'a> {
    /// The gate with `policy` before it has seen anything of `case`.
    pub fn new(case: &'a Case, policy: GatePolicy) -> Self {
        Self {
            case,
            gate: policy,
            sampler: Sampler::new(case.world.exporter.clone()),
            history: History::every(SignedDuration::from_secs(LOOK as i64)),
            memory: GateMemory::default(),
            since: None,
            exceeded: f64::NEG_INFINITY,
            next: Next { scrape: 0.0, look: LOOK },
            outage: None,
            exits: Vec::new(),
            looks: (0, 0.0),
            said: Vec::new(),
        }
    }

    /// The rules that refused, each with the second at which it first did.
    pub fn refusals(&self) -> Vec<(RuleName, f64)> {
        let mut found: Vec<(RuleName, f64)> = Vec::new();
        for said in &self.said {
            if let Verdict::Refuse { rule, .. } = said.verdict
                && !found.iter().any(|(other, _)| *other == rule)
            {
                found.push((rule, said.second));
            }
        }
        found
    }

    fn cycle(&mut self, moment: &Moment) {
        if exceeds(self.case, moment) {
            self.exceeded = moment.second;
        }
        // A quantile of latencies is that of some minutes: a late answer shows in it for as long.
        let shown_for = if self.case.draft.slo.is_some() { QUANTILE_OVER } else { 0.0 };
        let asked = moment.second - self.exceeded <= shown_for;
        self.since = asked.then(|| self.since.unwrap_or(moment.second));
    }

    fn scrape(&mut self, sim: &Sim, pods: &[Pod]) {
        let own = self.own(pods);
        let others = self.case.draft.neighbours().into_iter().enumerate();
        let others = others.map(|(at, replica)| self.sampled(NEIGHBOUR, &replica, &format!("{WORKLOAD}-{at}-0")));
        let all: Vec<SampledPod> = own.into_iter().chain(others).collect();
        self.sampler.scrape_sim(sim, &all);
    }

    fn own(&self, pods: &[Pod]) -> Vec<SampledPod> {
        pods.iter().map(|pod| self.sampled(WORKLOAD, &pod.replica, &pod.replica.uid)).collect()
    }

    /// A pod of `workload` on the GPUs that carry the name `place`.
    fn sampled(&self, workload: &str, replica: &Replica, place: &str) -> SampledPod {
        SampledPod {
            workload: workload.to_owned(),
            key: (WORKLOAD.to_owned(), replica.uid.clone()),
            container: CONTAINER.to_owned(),
            product: self.case.draft.product.to_owned(),
            gpus: gpus(replica, place),
            replica: replica.clone(),
        }
    }

    fn minute(&mut self, second: f64, pods: &[Pod]) {
        let slice = garbled(self.case.draft.fault, self.sampler.slice(at(second)), &self.own(pods));
        if !self.fails() {
            self.history.push(slice, LONGEST);
        }
        let watched = self.since.map(|since| self.watched(since, second, pods));
        let evidence = watched.and_then(|watched| self.history.evidence(&watched));
        let behind = evidence.map(|evidence| (evidence.clone(), judge(&evidence)));
        self.memory.count(behind.as_ref().map(|(_, opinion)| opinion), &self.gate, at(second));
        if self.since.is_some() {
            self.said.push(Said { second, verdict: self.memory.verdict(&self.gate), behind });
        }
    }

    /// Whether this look is one of those that fail, spread evenly.
    fn fails(&mut self) -> bool {
        let Some(Fault::Gaps(share)) = self.case.draft.fault else { return false };
        self.looks.0 += 1;
        let due = share * f64::from(self.looks.0);
        let fails = due - self.looks.1 >= 0.5;
        self.looks.1 += f64::from(u8::from(fails));
        fails
    }

    /// Takes in how processes ended: what the models say, and pods that ended beside them.
    fn note_ends(&mut self, sim: &Sim) {
        let cause = |end| match end {
            End::GpuMemory => ExitCause::GpuMemory,
            End::HostMemory => ExitCause::HostMemory,
            End::Failed => ExitCause::Failed,
        };
        let shared = self.named_by_node();
        let beside = self.case.draft.ended.iter().enumerate().filter(|(_, (second, _))| *second <= sim.now());
        let beside = beside.map(|(at, (second, end))| (format!("{WORKLOAD}-ended-{at}"), *second, cause(*end)));
        self.exits = beside.map(|(pod, second, cause)| Exit { pod, at: at(second), cause, shared }).collect();
        if let Some(State::Training(run)) = sim.workloads().first().map(|workload| &workload.state) {
            self.outage = run.outage();
            let own = run.ends().iter();
            self.exits.extend(own.map(|one| Exit {
                pod: one.uid.clone(),
                at: at(one.at),
                cause: cause(one.of),
                shared,
            }));
        }
    }

    /// Whether the device plugin labels the node as sharing its GPUs, and the exporter names one of their pods alone.
    const fn named_by_node(&self) -> bool {
        matches!(self.case.draft.fault, Some(Fault::OneNamed))
    }

    fn watched(&self, since: f64, second: f64, pods: &[Pod]) -> Watched {
        let draft = &self.case.draft;
        let down = self.outage.is_some_and(|outage| second < outage.until);
        let ready = pods.iter().filter(|pod| pod.replica.stage == Stage::Ready && !down);
        let up = self.outage.map_or(f64::NEG_INFINITY, |outage| outage.until);
        Watched {
            uid: self.case.name.clone(),
            namespace: WORKLOAD.to_owned(),
            class: match draft.work {
                Work::Inference => Class::Inference,
                Work::Training => Class::Training,
            },
            gate: self.gate,
            since: Some(at(since)),
            pods: ready
                .map(|pod| WatchedPod {
                    name: pod.replica.uid.clone(),
                    ready_since: at(pod.since.max(up)),
                    container: CONTAINER.to_owned(),
                    cpu_limit: pod.replica.cpu_limit,
                    cpu_at_hand: None,
                    shared: self.named_by_node(),
                    gpus: pod.replica.gpus,
                    node: None,
                })
                .collect(),
            exits: self.exits.clone(),
            backlog_lasts: true,
            slo_breached: draft.slo.is_some() && second >= since + BREACHED_FOR,
            sharded: draft.sharded,
            sources: wellfed_engine::evidence::Sources::default(),
            own: OwnSaid::default(),
            weights: None,
        }
    }
}

impl Onlooker for Watch<'_> {
    fn look(&mut self, sim: &Sim, pods: &[Pod], moment: Option<&Moment>) {
        let now = sim.now();
        if let Some(moment) = moment {
            self.cycle(moment);
        }
        if now >= self.next.scrape {
            self.next.scrape += SCRAPE;
            self.scrape(sim, pods);
        }
        if now >= self.next.look {
            self.next.look += LOOK;
            self.note_ends(sim);
            self.minute(now, pods);
        }
    }
}

/// Seconds since the start as a time of day.
fn at(second: f64) -> Timestamp {
    Timestamp::from_millisecond(START * 1000 + (second * 1000.0) as i64).unwrap_or_default()
}

/// The GPUs of a replica, whose node has the name `place`.
fn gpus(replica: &Replica, place: &str) -> Vec<String> {
    (0..replica.gpus).map(|gpu| format!("GPU-{place}-{gpu}")).collect()
}
