//! `GpuWorkload`: what is wanted of one GPU workload.

use crate::behavior::Behavior;
use crate::duration::GoDuration;
use crate::gate::Gate;
use crate::model::Model;
use crate::shares::IntOrPercent;
use crate::signal::Signal;
use crate::status::GpuWorkloadStatus;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wanted.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "wellfed.dev",
    version = "v1alpha1",
    kind = "GpuWorkload",
    namespaced,
    shortname = "gpuw",
    status = "GpuWorkloadStatus",
    derive = "PartialEq",
    doc = "A GPU workload whose replicas wellfed decides: it grows only where more GPUs would help.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".status.desiredReplicas"),
    printcolumn(name = "Wanted", type_ = "integer", json_path = ".status.wantedReplicas"),
    printcolumn(name = "Max", type_ = "integer", json_path = ".spec.maxReplicas"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Why", type_ = "string", json_path = ".status.decision.why"),
    printcolumn(name = "Explanation", type_ = "string", json_path = ".status.decision.summary", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.minReplicas <= self.maxReplicas").message("minReplicas must not exceed maxReplicas"),
    validation = Rule::new("has(self.pools) && size(self.pools) > 0 ? (has(self.scaleTargetRef) ? size(self.pools) == 1 && self.pools.all(p, !has(p.scaleTargetRef)) : self.pools.all(p, has(p.scaleTargetRef))) : has(self.scaleTargetRef)")
        .message("set scaleTargetRef on the spec (with at most one pool), or on every pool"),
    validation = Rule::new("!has(self.pools) || size(self.pools) == 0 || self.pools.exists(p, !has(p.max) || type(p.max) == int)")
        .message("leave max out, or make it a count, on at least one pool: shares are rounded down, and the last replica would find no place"),
    validation = Rule::new("!has(self.pools) || self.pools.map(p, has(p.base) ? p.base : 0).sum() <= self.maxReplicas")
        .message("the bases of all pools together must not exceed maxReplicas"),
    validation = Rule::new("self.signals.exists(s, !has(s.role) || s.role == 'Demand' || s.role == 'Latency')")
        .message("at least one signal must have role Demand or Latency: the others ask for nothing"),
)]
pub struct GpuWorkloadSpec {
    /// What kind of work it is; picks defaults. Default: Inference.
    #[serde(default)]
    pub class: Class,
    /// Whether decisions are written. Default: Recommend, which decides and shows but writes nothing.
    #[serde(default)]
    pub mode: Mode,
    /// Never fewer replicas, over all pools.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10000))]
    pub min_replicas: i32,
    /// Never more replicas, over all pools.
    #[schemars(range(min = 1, max = 10000))]
    pub max_replicas: i32,
    /// For `/scale` only: the demand of a signal with `source.scale`. wellfed never writes it.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 10000))]
    pub replicas: i32,
    /// What is scaled, where no pool names its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_target_ref: Option<ScaleTargetRef>,
    /// What makes demand; the largest wins.
    #[schemars(length(min = 1, max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub signals: Vec<Signal>,
    /// How fast it may move: HPA's own block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Behavior>,
    /// Whether more GPUs would help is asked before they are added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// Where replicas run, in order of preference. None means one pool without a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub pools: Vec<WorkloadPool>,
    /// What to do when a signal keeps failing. None means that the workload keeps its replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// The model, so that its memory can be compared with that of the GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
}

const fn one() -> i32 {
    1
}

/// What kind of work it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Class {
    /// Answers requests.
    #[default]
    Inference,
    /// Trains a model.
    Training,
    /// Works through a queue and ends.
    Batch,
}

/// Whether decisions are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// Decide and show; write nothing.
    #[default]
    Recommend,
    /// Decide and write.
    Auto,
    /// Decide nothing.
    Paused,
}

/// An object with a `/scale` subresource, in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScaleTargetRef {
    /// For example `apps/v1`.
    #[schemars(length(min = 1, max = 253))]
    pub api_version: String,
    /// For example `Deployment`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// One pool of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadPool {
    /// A `GpuPool`.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Replicas that are kept here first. A pool without a base takes what is above the bases, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub base: Option<i32>,
    /// Never more here: a count, or a percentage of the workload's replicas, rounded down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<IntOrPercent>,
    /// Replicas that are not Ready after this are placed in another pool that has room. None means wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_after: Option<GoDuration>,
    /// After a spill this pool gets no new replicas for this long. Default: 15m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_after: Option<GoDuration>,
    /// What is scaled here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_target_ref: Option<ScaleTargetRef>,
}

/// What to do when a signal keeps failing; KEDA's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fallback {
    /// More failed reads in a row than this start the fallback.
    #[schemars(range(min = 1, max = 1000))]
    pub failure_threshold: i32,
    /// The number to fall back to.
    #[schemars(range(min = 1, max = 10000))]
    pub replicas: i32,
    /// How it combines with the present number. Default: static.
    #[serde(default)]
    pub behavior: FallbackBehavior,
}

/// How a fallback combines with the present number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FallbackBehavior {
    /// The fallback's number.
    #[default]
    Static,
    /// The present number.
    CurrentReplicas,
    /// The larger of the two.
    CurrentReplicasIfHigher,
    /// The smaller of the two.
    CurrentReplicasIfLower,
}
