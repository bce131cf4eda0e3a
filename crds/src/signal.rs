//! Signals: what makes demand, and where it is read.

use crate::duration::GoDuration;
use crate::quantity::Quantity;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.role) && self.role == 'Latency' ? has(self.slo) && !has(self.target) : !has(self.slo)")
        .message("role Latency needs slo and no target; other roles take no slo"),
    validation = Rule::new("has(self.role) && self.role != 'Demand' ? (has(self.source.prometheus) || (self.role == 'Latency' && !has(self.source.scale))) && !has(self.target) && (!has(self.type) || self.type == 'External') : has(self.source.scale) != has(self.target)")
        .message("role Demand needs target, except for source.scale, which is a number of replicas itself; every other role is one number from source.prometheus, without target; role Latency may be read from a model server too"),
    validation = Rule::new("!has(self.source.vllm) || (has(self.source.vllm.metric) && self.source.vllm.metric in ['TimeToFirstToken', 'EndToEndLatency']) == (has(self.role) && self.role == 'Latency')")
        .message("of vllm role Latency needs metric TimeToFirstToken or EndToEndLatency, and no other role takes these"),
    validation = Rule::new("!has(self.source.sglang) || (has(self.source.sglang.metric) && self.source.sglang.metric in ['TimeToFirstToken', 'EndToEndLatency']) == (has(self.role) && self.role == 'Latency')")
        .message("of sglang role Latency needs metric TimeToFirstToken or EndToEndLatency, and no other role takes these"),
    validation = Rule::new("!has(self.better) || (has(self.role) && self.role == 'Quality')")
        .message("better is for role Quality: of throughput more is better, of latency and progress less"),
    validation = Rule::new("!(has(self.source.vllm) || has(self.source.sglang) || has(self.source.triton)) || (has(self.role) && self.role == 'Latency') || !has(self.type) || self.type == 'Pods'")
        .message("the requests in a model server are read per pod: leave type out, or set it to Pods"),
    validation = Rule::new("!has(self.source.scale) || !has(self.type) || self.type == 'External'")
        .message("source.scale is one number: leave type out, or set it to External"),
    validation = Rule::new("!has(self.target) || self.target.type == 'AverageValue' || !(has(self.source.vllm) || has(self.source.sglang) || has(self.source.triton) || (has(self.type) && self.type == 'Pods'))")
        .message("a signal per pod needs target.type AverageValue"),
)]
pub struct Signal {
    /// Unique within the workload.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// What it is for. Default: Demand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<SignalRole>,
    /// Whether its rows carry a live pod. Default: Pods for the requests in model servers, else External.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<SignalType>,
    /// Where it is read.
    pub source: SignalSource,
    /// What one replica should bear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<SignalTarget>,
    /// What the signal should not exceed, for role Latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<SignalSlo>,
    /// Which of its values are better, for role Quality. Default: Higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
}

/// A latency objective: it asks for more than what runs when it is exceeded for long enough, and for nothing when it is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("quantity(string(self.value)).isGreaterThan(quantity('0'))").message("value must be above zero"))]
pub struct SignalSlo {
    /// The most that the signal should be, in its own unit: `200m` is 0.2 seconds where the query returns seconds.
    pub value: Quantity,
    /// Exceeded for this long, it asks for more. No time counts while replicas of the last growth, or more than one in ten
    /// whoever asked for them, are on their way: not Ready, and waited for less than a quarter of an hour. Default: 2m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breach_for: Option<GoDuration>,
    /// How many more. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100))]
    pub step: i32,
}

const fn one() -> i32 {
    1
}

/// What a signal is for. Default: Demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SignalRole {
    /// It asks for replicas in proportion to its value.
    Demand,
    /// It asks for one step more while it exceeds its objective.
    Latency,
    /// Work done a second in any unit, such as tokens, samples or steps: more is better, and none while demand exceeds its target
    /// is a sign of a hang. It asks for nothing: findings compare it before and after, and the gate believes it before what GPUs
    /// look like.
    Throughput,
    /// How far a training run is from done, such as its loss: less is better, in any unit. It asks for nothing. A value that is no
    /// number (NaN or infinite) means that the run diverged, and one that stands still or rises beside the evaluation (role
    /// `Quality`) that it gets nowhere: the gate holds growth then. While it moves, the run does not hang. What only counts up,
    /// such as steps, is work: give its rate the role `Throughput`.
    Progress,
    /// How good the results are: an accuracy or a reward, of which more is better, or with `better: Lower` an evaluation loss, a
    /// perplexity or an error rate. It asks for nothing: findings compare it before and after, and the gate looks whether a run
    /// still gets better.
    Quality,
}

/// Which of its values are better, for role Quality. Default: Higher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Better {
    /// Larger ones.
    #[default]
    Higher,
    /// Smaller ones.
    Lower,
}

/// Whether a signal's rows carry a live pod. Default: Pods for the requests in model servers, else External.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SignalType {
    /// One row a pod, with labels `namespace` and `pod`; HPA's rules for Pods metrics.
    Pods,
    /// One number; HPA's rules for External metrics.
    External,
}

/// Where a signal is read: exactly one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.prometheus), has(self.vllm), has(self.sglang), has(self.triton), has(self.scale)].filter(set, set).size() == 1")
    .message("set exactly one source: prometheus, vllm, sglang, triton or scale"))]
pub struct SignalSource {
    /// A query of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<PrometheusSource>,
    /// Requests in a vLLM server, or how long they take, by its own metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vllm: Option<ServerSource>,
    /// Requests in an `SGLang` server that runs with `--enable-metrics`, or how long they take, by its own metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sglang: Option<ServerSource>,
    /// Requests that wait in a Triton server, by its own metrics; it does not say how many run. For role `Latency`: the mean
    /// time of a request in seconds over two minutes, of which it tells no quantile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triton: Option<TritonSource>,
    /// `spec.replicas` of this object, which users, an HPA or a `ScaledObject` may set through `/scale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<ScaleSource>,
}

/// A query of one's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrometheusSource {
    /// `PromQL` that returns an instant vector. It is confined to this namespace unless the administrator allows more.
    #[schemars(length(min = 1, max = 4096))]
    pub query: String,
    /// A Prometheus that the operator's configuration names. Default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub endpoint: Option<String>,
    /// Only rows with these labels, so that one query can serve many workloads.
    #[serde(default, rename = "match", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub rows: BTreeMap<String, String>,
}

/// Requests in a model server, or how long they take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.quantile) || (has(self.metric) && self.metric in ['TimeToFirstToken', 'EndToEndLatency'])")
        .message("quantile is for metric TimeToFirstToken and EndToEndLatency"),
    validation = Rule::new("!has(self.quantile) || (quantity(string(self.quantile)).isGreaterThan(quantity('0')) && quantity(string(self.quantile)).isLessThan(quantity('1')))")
        .message("quantile must be above 0 and below 1"),
)]
pub struct ServerSource {
    /// Which requests count, or which time of them for role `Latency`. Default: `RunningPlusWaiting`; waiting alone falls to
    /// zero whenever the queue is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<ServerMetric>,
    /// Which quantile of the time, over two minutes, by each pod's own buckets; of several pods their mean, weighted by their
    /// requests. Default: 0.95.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<Quantity>,
    /// A Prometheus that the operator's configuration names. Default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub endpoint: Option<String>,
}

/// Which requests count, or which time of them. Default: `RunningPlusWaiting`; waiting alone falls to zero whenever the queue
/// is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ServerMetric {
    /// In service and queued.
    RunningPlusWaiting,
    /// Queued.
    Waiting,
    /// In service.
    Running,
    /// Seconds until the first token of an answer, for role `Latency`.
    TimeToFirstToken,
    /// Seconds until the end of an answer, for role `Latency`.
    EndToEndLatency,
}

/// A Triton server: requests that wait, or for role `Latency` the mean time of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TritonSource {
    /// A Prometheus that the operator's configuration names. Default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub endpoint: Option<String>,
}

/// `spec.replicas` of this object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleSource {}

/// What one replica should bear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.type == 'AverageValue' ? has(self.averageValue) && !has(self.value) : has(self.value) && !has(self.averageValue)")
        .message("type AverageValue needs averageValue, type Value needs value, and not both"),
    validation = Rule::new("!has(self.averageValue) || quantity(string(self.averageValue)).isGreaterThan(quantity('0'))")
        .message("averageValue must be above zero"),
    validation = Rule::new("!has(self.value) || quantity(string(self.value)).isGreaterThan(quantity('0'))")
        .message("value must be above zero"),
)]
pub struct SignalTarget {
    /// Which of the two is set.
    #[serde(rename = "type")]
    pub kind: TargetType,
    /// The signal divided by the replicas should be this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_value: Option<Quantity>,
    /// The signal should be this, and moves in proportion to the replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Quantity>,
}

/// How a signal relates to the replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TargetType {
    /// It is shared among them.
    AverageValue,
    /// It moves in proportion to them.
    Value,
}
