//! A scenario: nodes, workloads and the causes that change over time, read strictly from YAML.

mod arrivals;
mod check;
mod load;
mod memory;
mod model;
mod nodes;
mod series;
mod serving;
mod set;
mod span;
mod telemetry;
mod training;

pub use arrivals::{Arrivals, Rate, Step, Trace};
pub use load::ScenarioError;
pub use memory::{Crash, End, Footprint};
pub use model::{Llm, LlmServer, Model, Service, Tokenizer};
pub use nodes::{Capacity, Cloud, NodeGroup, NodeTaint};
pub use series::{Curve, Series};
pub use serving::{Batch, MaxTokens, Router};
pub use set::SetError;
pub use span::Span;
pub use telemetry::{CpuRows, GpuRows, Metrics, Telemetry};
pub use training::{
    CpuPool, Exchange, Launch, Link, Loader, Phase, Phases, Precision, Since, Slow, Storage, Training, Transfer,
};

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// A whole scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Step of the models.
    #[serde(default = "tick")]
    pub tick: Span,
    /// Seed of all chance in the scenario.
    #[serde(default)]
    pub seed: u64,
    /// dcgm-exporter's settings.
    #[serde(default)]
    pub exporter: Exporter,
    /// The kubelet's cAdvisor.
    #[serde(default)]
    pub cadvisor: Cadvisor,
    /// `node_exporter`'s settings.
    #[serde(default)]
    pub node_exporter: NodeExporter,
    /// Serve only nodes with these labels; none means every node with GPUs.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// When arrivals and changes begin.
    #[serde(default)]
    pub begin: Begin,
    /// Nodes to create.
    #[serde(default)]
    pub nodes: Vec<NodeGroup>,
    /// What runs.
    #[serde(default)]
    pub workloads: Vec<Workload>,
    /// Causes that change.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// Folder of the scenario's file: relative paths begin here.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// dcgm-exporter's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Exporter {
    /// How often values are collected; scrapes in between see the same ones.
    pub interval: Span,
    /// Also `DCGM_FI_PROF_SM_ACTIVE`, which the default counter file leaves out.
    pub sm_active: bool,
    /// Also `NVLink` rates, the FP32 pipe, clock event reasons and the power limit, which the default counter file leaves
    /// out.
    pub further_counters: bool,
    /// The driver's version in the label `DCGM_FI_DRIVER_VERSION`.
    pub driver_version: String,
}

impl Default for Exporter {
    fn default() -> Self {
        Self {
            interval: Span::millis(30_000),
            sm_active: false,
            further_counters: false,
            driver_version: "570.133.20".into(),
        }
    }
}

/// The kubelet's cAdvisor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Cadvisor {
    /// How often values are collected.
    pub interval: Span,
    /// Whether the kernel tells how long tasks wait for CPU and storage.
    pub pressure: bool,
}

impl Default for Cadvisor {
    fn default() -> Self {
        Self { interval: Span::millis(10_000), pressure: true }
    }
}

/// `node_exporter`'s settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NodeExporter {
    /// Pods reach each other over RDMA: their traffic shows at the ports of their node, and in no container's network.
    pub rdma: bool,
}

/// When the scenario's clock starts. Until then pods load and idle, nothing arrives and nothing changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Begin {
    /// Ready replicas that each named workload must have; none means at once.
    pub when_ready: BTreeMap<String, u32>,
}

/// One workload: pods, how they work, and what arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workload {
    /// Name within the scenario; also the label `queue`.
    pub name: String,
    /// Namespace of its pods.
    pub namespace: String,
    /// Which pods.
    pub selector: Selector,
    /// How they work.
    pub model: Model,
    /// What arrives.
    pub arrivals: Arrivals,
    /// What scrapers get to see.
    #[serde(default)]
    pub telemetry: Telemetry,
}

/// Which pods belong to a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    /// Labels that a pod must carry.
    pub match_labels: BTreeMap<String, String>,
}

/// A cause that changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// When, after the scenario began.
    pub at: Span,
    /// Whose.
    pub workload: String,
    /// Dotted paths under `model`'s kind, `arrivals`' kind or `telemetry`, and their new values,
    /// for example `model.training.loader.workers: 32` or `telemetry.metrics: Off`.
    pub set: BTreeMap<String, serde_json::Value>,
}

impl Workload {
    /// Whether a pod of `namespace` with `labels` is one of this workload's.
    pub fn owns(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        self.namespace == namespace
            && self.selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    }
}

fn tick() -> Span {
    Span::millis(100)
}
