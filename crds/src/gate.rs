//! The gate: whether more GPUs would help is asked before they are added.

use crate::duration::GoDuration;
use crate::quantity::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the gate treats this workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    /// Whether a refusal holds the number. Default: Enforce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<GateMode>,
    /// How much of the past is judged, since demand exceeded its target. Default: 10m for Inference, 30m otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<GoDuration>,
    /// How long a replica is not judged after it turned Ready. Default: 5m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<GoDuration>,
    /// A veto ends by itself after this. Default: 30m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_after: Option<GoDuration>,
    /// What missing evidence means for growth. Default: Allow for Inference, Hold otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unknown: Option<OnUnknown>,
    /// What the rules compare with; shares from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<GateThresholds>,
}

/// Whether a refusal holds the number. Default: Enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum GateMode {
    /// It does.
    Enforce,
    /// It is only said.
    Advise,
    /// Nothing is judged.
    Off,
}

/// What missing evidence means for growth. Default: Allow for Inference, Hold otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnUnknown {
    /// Grow all the same.
    Allow,
    /// Wait for evidence.
    Hold,
}

/// Overrides of single thresholds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateThresholds {
    /// GPU activity below which a GPU is hardly used. Default: 300m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underused_below: Option<Quantity>,
    /// GPU activity below which a GPU waits for something. Default: 500m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starved_below: Option<Quantity>,
    /// GPU activity from which a GPU is busy, if it also does work. Default: 700m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_from: Option<Quantity>,
    /// CPU used over its limit from which the CPU is the bottleneck. Default: 850m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_of_limit_from: Option<Quantity>,
    /// Throttled periods over all periods from which the CPU is the bottleneck. Default: 250m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_from: Option<Quantity>,
    /// Share of time spent waiting for a CPU from which the CPU is the bottleneck. Default: 200m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_from: Option<Quantity>,
}
