//! The file as it is written, read strictly.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wellfed_sim::scenario::{Arrivals, Change, Model, Span, Telemetry};

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    /// How much time is simulated.
    #[serde(rename = "for")]
    pub length: Span,
    /// Time between cycles.
    #[serde(default = "cycle")]
    pub cycle: Span,
    /// Seed of all chance.
    #[serde(default)]
    pub seed: u64,
    /// The instant at which it starts. Default: a Monday's midnight.
    #[serde(default = "monday")]
    pub start: Timestamp,
    /// How finely work is played.
    #[serde(default)]
    pub resolution: Resolution,
    /// Step of the request-level models; of no effect on `Flow`.
    #[serde(default = "tick")]
    pub tick: Span,
    /// From the moment that a replica has a node until it is Ready: image, weights, compilation.
    #[serde(default = "start_up")]
    pub start_up: Span,
    /// dcgm-exporter's settings.
    #[serde(default)]
    pub exporter: Exporter,
    /// Where replicas run.
    pub pools: Vec<PoolShape>,
    /// What runs.
    pub workloads: Vec<Entry>,
    /// Causes that change.
    #[serde(default)]
    pub changes: Vec<Change>,
}

/// dcgm-exporter's settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Exporter {
    /// Also `DCGM_FI_PROF_SM_ACTIVE`, which the default counter file leaves out.
    pub sm_active: bool,
    /// Also `NVLink` rates, the FP32 pipe, clock event reasons and the power limit.
    pub further_counters: bool,
}

/// How finely work is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resolution {
    /// As a flow, a cycle at a time: days in seconds.
    #[default]
    Flow,
    /// Request by request.
    Requests,
}

/// A pool of equal nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolShape {
    /// Its name, as workloads give it.
    pub name: String,
    /// GFD's product name.
    #[serde(default = "product")]
    pub product: String,
    /// GPUs of a node.
    #[serde(default = "eight")]
    pub gpus_per_node: u32,
    /// Nodes that always exist.
    pub nodes: u32,
    /// The most nodes there can be; those beyond `nodes` come when replicas wait for them, and go after ten idle minutes.
    #[serde(default)]
    pub max_nodes: Option<u32>,
    /// How long a node takes to come.
    #[serde(default = "provisioning")]
    pub provisioning: Span,
    /// Price of a GPU for an hour.
    pub price_per_gpu_hour: f64,
    /// For spot: the mean time after which a node is taken away; a new one takes `provisioning` to come.
    #[serde(default)]
    pub reclaimed_every: Option<Span>,
}

/// One workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// A `GpuWorkload`, as it would be applied.
    pub manifest: serde_json::Value,
    /// What each pod of its targets asks for.
    #[serde(default)]
    pub pods: PodShape,
    /// Replicas at the start. Default: the manifest's `minReplicas`.
    #[serde(default)]
    pub replicas: Option<u32>,
    /// What each signal with `source.prometheus` reads, by the signal's name.
    #[serde(default)]
    pub signals: BTreeMap<String, Measured>,
    /// The longest that a request should take.
    #[serde(default)]
    pub slo: Option<Span>,
    /// What the other autoscalers aim at.
    #[serde(default)]
    pub rivals: Targets,
    /// How it works.
    pub model: Model,
    /// What arrives.
    pub arrivals: Arrivals,
    /// What scrapers get to see.
    #[serde(default)]
    pub telemetry: Telemetry,
}

/// What a pod asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PodShape {
    /// GPUs.
    pub gpus: u32,
    /// Cores that the GPU container may use; none means no limit.
    pub cpu_limit: Option<f64>,
}

impl Default for PodShape {
    fn default() -> Self {
        Self { gpus: 1, cpu_limit: None }
    }
}

/// What the other autoscalers aim at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Targets {
    /// Share of time with a kernel on the GPU, 0–1.
    pub utilisation: f64,
    /// Requests or samples that wait for each replica. Default: the target of the manifest's first signal that counts what
    /// waits or is in the system; without one 10.
    pub waiting: Option<f64>,
}

impl Default for Targets {
    fn default() -> Self {
        Self { utilisation: 0.7, waiting: None }
    }
}

/// What can be measured of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measured {
    /// Requests or samples that wait.
    Queue,
    /// Requests that wait or are being served.
    InSystem,
    /// Requests or samples that arrive a second.
    ArrivalRate,
    /// Seconds that a request takes to its answer, or to its first token.
    Latency,
    /// Share of time with a kernel on the GPU, mean over Ready replicas, 0–1.
    GpuUtilisation,
}

impl File {
    /// The scenario in `text`, with the line of what is wrong.
    pub fn parse(text: &str) -> Result<Self, serde_saphyr::Error> {
        // YAML 1.2 booleans: `Off` is a word here, a state of the telemetry.
        let options = serde_saphyr::options! { strict_booleans: true };
        serde_saphyr::from_str_with_options(text, options)
    }
}

fn cycle() -> Span {
    Span::millis(15_000)
}

fn monday() -> Timestamp {
    Timestamp::constant(1_767_571_200, 0) // 2026-01-05T00:00:00Z
}

fn tick() -> Span {
    Span::millis(500)
}

fn start_up() -> Span {
    Span::millis(120_000)
}

fn provisioning() -> Span {
    Span::millis(300_000)
}

fn product() -> String {
    "NVIDIA-H100-80GB-HBM3".into()
}

fn eight() -> u32 {
    8
}
