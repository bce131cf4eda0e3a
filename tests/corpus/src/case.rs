//! One scenario of the corpus: a workload with its causes, its replicas' lives, and what an exporter garbles.

use crate::dice::{Drawn, Half};
use serde_json::Value;
use wellfed_sim::scenario::{End, Scenario};
use wellfed_sim::sim::{Replica, Stage};

/// The workload's name in its scenario, and its namespace.
pub const WORKLOAD: &str = "work";
/// The workload that shares its GPUs, where one does.
pub const NEIGHBOUR: &str = "neighbour";

/// What its owner would call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It answers requests.
    Inference,
    /// It trains a model.
    Training,
}

/// What the class of a scenario is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// A cause, by its name, that costs most of what the GPUs could do.
    Cause(&'static str),
    /// The same cause, which costs less than that: a veto must be right, none is asked for.
    Mild(&'static str),
    /// GPUs are at work, some of the time at least, and more of them would do more.
    Working,
    /// Demand never exceeds its target.
    Idle,
    /// What is measured does not tell what happens.
    Unknown,
}

impl Group {
    /// The cause, if there is one.
    pub const fn cause(self) -> Option<&'static str> {
        match self {
            Self::Cause(name) | Self::Mild(name) => Some(name),
            Self::Working | Self::Idle | Self::Unknown => None,
        }
    }
}

/// A stretch in which one replica is not Ready, seconds since the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Which replica.
    pub replica: u32,
    /// From when.
    pub from: f64,
    /// Until when.
    pub until: f64,
    /// Its node was taken back: another pod takes its place. Else its pod loads.
    pub gone: bool,
}

/// What stands between what happens and who measures it; the rest of broken telemetry is among a scenario's changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// This share of the looks fails.
    Gaps(f64),
    /// Profiling counters read zero and utilisation full, whatever happens.
    ProfilingZero,
    /// The pods of [`NEIGHBOUR`] run on the same GPUs.
    Shared,
    /// The same, and the exporter names only one of the pods that take turns on a GPU: ours.
    OneNamed,
    /// GPUs are MIG instances, of which the exporter sends nothing but the utilisation, which there is always zero.
    MigUtilisation,
    /// Two jobs of Prometheus scrape the same kubelet.
    ScrapedTwice,
    /// Every second replica runs on a GPU of another make, at this share of the others' clock; nobody knows either.
    UnknownMakes(f64),
    /// One of four samples of a GPU's activity is this much, in percent or as a share.
    Impossible(f64),
}

/// What an objective is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The time until a request is answered.
    Whole,
    /// The time to the first token of its answer.
    FirstToken,
}

/// An objective that asks for replicas while it is missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slo {
    /// The longest that it should take, seconds.
    pub seconds: f64,
    /// What should.
    pub of: Objective,
}

/// What an exporter sends beside its default counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exporter {
    /// Nothing.
    Default,
    /// SM activity.
    Sm,
    /// SM activity, links and clocks.
    Everything,
}

/// One scenario.
#[derive(Clone, Debug)]
pub struct Case {
    /// `A/DataLoader/3`.
    pub name: String,
    /// Its class.
    pub class: &'static str,
    /// What the class is about.
    pub group: Group,
    /// Which half of the ranges it was drawn from.
    pub half: Half,
    /// What happens in it.
    pub draft: Draft,
    /// The same as the models read it.
    pub world: Scenario,
    /// Every parameter that was drawn.
    pub drawn: Vec<Drawn>,
}

/// What a class of scenarios decides.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What its owner would call it.
    pub work: Work,
    /// The models' causes, as a scenario file writes them.
    pub model: Value,
    /// What arrives, as a scenario file writes it.
    pub arrivals: Value,
    /// Model and arrivals of the workload on the same GPUs.
    pub neighbour: Option<(Value, Value)>,
    /// Causes that change: second, path, value.
    pub changes: Vec<(f64, String, Value)>,
    /// GPU product, by the name that the driver gives it.
    pub product: &'static str,
    /// What the exporter sends beside its default counters.
    pub exporter: Exporter,
    /// Whether the workload's own metrics are scraped: a trainer's steps are in half of all cases.
    pub own_metrics: bool,
    /// Replicas that run.
    pub replicas: u32,
    /// GPUs of each.
    pub gpus: u32,
    /// Cores that the GPU container of each may use.
    pub cpu_limit: Option<f64>,
    /// What a replica should bear: requests inside and waiting, or samples that wait.
    pub target: f64,
    /// Length.
    pub minutes: u32,
    /// When replicas are not Ready.
    pub phases: Vec<Phase>,
    /// How telemetry is broken.
    pub fault: Option<Fault>,
    /// What asks for replicas in place of the target, where that is an objective.
    pub slo: Option<Slo>,
    /// Whether its owner declared that the model is split over the replicas.
    pub sharded: bool,
    /// Pods that ended and are still there, beside those that run: when, in seconds since the start, and of what.
    pub ended: Vec<(f64, End)>,
    /// Since when the cause is there, seconds.
    pub cause_from: f64,
    /// What mends the cause: path and value.
    pub mend: Vec<(String, Value)>,
    /// Seed of the arrivals.
    pub seed: u64,
}

/// A pod at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    /// As the models see it; its name is its uid.
    pub replica: Replica,
    /// Since when it is Ready or loads, seconds since the start; negative when before it.
    pub since: f64,
}

/// All replicas that are there from the start have been Ready for an hour.
const LONG_AGO: f64 = -3600.0;

impl Draft {
    /// The pods of the neighbour: one beside each of ours.
    pub fn neighbours(&self) -> Vec<Replica> {
        let count = if self.neighbour.is_some() { self.replicas } else { 0 };
        (0..count).map(|replica| Replica::ready(format!("{NEIGHBOUR}-{replica}"), self.gpus, None)).collect()
    }

    /// The pods at `second` when `count` replicas are asked for.
    pub fn pods(&self, count: u32, second: f64) -> Vec<Pod> {
        (0..count).filter_map(|replica| self.pod(replica, second)).collect()
    }

    fn pod(&self, replica: u32, second: f64) -> Option<Pod> {
        let own = || self.phases.iter().filter(|phase| phase.replica == replica);
        let now = own().find(|phase| (phase.from..phase.until).contains(&second));
        if now.is_some_and(|phase| phase.gone) {
            return None;
        }
        let lives = own().filter(|phase| phase.gone && phase.until <= second).count();
        let changed = own().map(|phase| phase.until).filter(|until| *until <= second).fold(LONG_AGO, f64::max);
        let stage = if now.is_some() { Stage::Starting } else { Stage::Ready };
        let uid = format!("{WORKLOAD}-{replica}-{lives}");
        let replica = Replica { stage, ..Replica::ready(uid, self.gpus, self.cpu_limit) };
        Some(Pod { replica, since: now.map_or(changed, |phase| phase.from) })
    }
}
