//! What the operator answers: how many, how many were wanted, and why.

use crate::conditions::{Condition, date_time};
use jiff::Timestamp;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Written only when something in it changes; live values are metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuWorkloadStatus {
    /// The generation that this speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The sum of `spec.replicas` over the targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// What it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,
    /// What is wanted once behavior, minReplicas and maxReplicas have been applied: what the gate is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_replicas: Option<i32>,
    /// Selects exactly the live pods; absent where no one selector does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// How each aspect stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The intent with its defaults filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyStatus>,
    /// Each pool's share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub pools: Vec<PoolStatus>,
    /// The decision in force, step by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionStatus>,
    /// What keeps the GPUs from their work, and what to do about it; what refuses growth first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["rule".into()]))]
    pub findings: Vec<FindingStatus>,
    /// What later decisions need; not for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub memory: Option<String>,
}

/// The intent with its defaults filled in, as far as they depend on the class or on the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// GPUs that one replica asks for, read from the target's pods.
    pub gpus_per_replica: i32,
    /// Whether a refusal holds the number.
    pub gate_mode: String,
    /// How much of the past the gate judges.
    pub gate_window: String,
    /// What missing evidence means for growth.
    pub on_unknown: String,
    /// The stabilisation window before shrinking.
    pub scale_down_window: String,
    /// What the model of `spec.model` needs, by its size or as it was measured, and the cheapest pool that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The gate's thresholds that are not as built in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thresholds: BTreeMap<String, String>,
    /// The gate's rules that only advise, or are not asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, String>,
}

/// One pool's share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// The pool; `default` where the workload names none.
    pub name: String,
    /// `spec.replicas` of its target.
    pub replicas: i32,
    /// What it should be.
    pub desired_replicas: i32,
}

/// The decision in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionStatus {
    /// The binding step, and its reason in one word.
    pub why: String,
    /// One sentence.
    pub summary: String,
    /// The step that last moved the number.
    pub binding: String,
    /// Whether more GPUs would help: Allow, Refuse or Unknown.
    pub verdict: String,
    /// When a refusal ends by itself, unless an evaluation shows its cause again before that; at most a minute behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub veto_expires: Option<Timestamp>,
    /// Every step, in order.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["step".into()]))]
    pub steps: Vec<StepStatus>,
}

/// What one step did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepStatus {
    /// Which step.
    pub step: String,
    /// What came in.
    pub before: i32,
    /// What went out.
    pub after: i32,
    /// Why.
    pub message: String,
}

/// One thing that keeps the GPUs from their work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingStatus {
    /// The same for this workload and rule as long as the workload exists.
    #[serde(default)]
    pub id: String,
    /// The rule that found it; `docs/findings/` has a page on it.
    pub rule: String,
    /// High: work stands still or is lost. Medium: GPUs wait. Low: something could be better.
    #[serde(default)]
    pub severity: String,
    /// Open, Retesting (the pod template changed since), Resolved, Regressed or `NotSeenAgain` (nobody could look any more).
    #[serde(default)]
    pub state: String,
    /// Veto speaks against more GPUs; Either says that more GPUs help and so does a remedy; Advice is only said.
    pub weight: String,
    /// Medium where SM activity is not measured.
    pub confidence: String,
    /// What was measured when it was found, in one line.
    pub evidence: String,
    /// What was measured, beside what it was compared with.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub measured: Vec<Measured>,
    /// What to do, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<String>,
    /// How well the workload did over a window before the pod template changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FiguresStatus>,
    /// How well it did over a window of the same length after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FiguresStatus>,
    /// Of Regressed: why, and how to go back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way_back: Option<String>,
    /// Of `ScaleOutIneffective`: where to look, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub checklist: Vec<CheckStatus>,
    /// Commands to look deeper with, the one that tells most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandStatus>,
    /// GPUs that mending it would free, and money, against what adding GPUs would cost. Money is left out where a price is
    /// not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub savings: Option<String>,
    /// When it was first seen.
    #[schemars(schema_with = "date_time")]
    pub first_seen: Timestamp,
    /// When an evaluation last showed it; at most a minute behind. Absent where nobody asks for more: nothing is written then
    /// to say that it still shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_seen: Option<Timestamp>,
    /// Since when it is in this state.
    #[schemars(schema_with = "date_time")]
    pub since: Timestamp,
}

/// How well a workload does; absent where it is not measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FiguresStatus {
    /// Work done a second by one replica: tokens, answers or samples by its own account, or by a signal of role Throughput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<String>,
    /// Share of time that the GPUs are active, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_activity: Option<String>,
    /// By a signal of role Latency, in its unit; without one the mean time of a request at the server, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<String>,
    /// The most memory that was in use at one time of the fullest GPU, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_memory: Option<String>,
    /// The workload's own measure of its results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<String>,
}

/// One point of a checklist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckStatus {
    /// data, communication or CPU.
    pub name: String,
    /// Passed, Failed, or Unknown where it is not measured.
    pub result: String,
}

/// A command to look deeper with, or a piece of code for the workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandStatus {
    /// What it shows, and what it needs or disturbs.
    pub shows: String,
    /// To be copied as it is.
    pub run: String,
}

/// One measured value beside its threshold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// What.
    pub name: String,
    /// How much; shares from 0 to 1, rates in bytes a second.
    pub value: String,
    /// What it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<String>,
}
