//! How fast a workload may grow and shrink: HPA's own block.

use crate::quantity::Quantity;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// HPA's `behavior`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Behavior {
    /// Growing. Default: no window; the larger of +100 % and +4 replicas in 15 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_up: Option<ScalingRules>,
    /// Shrinking. Default: a window of 300 s; as far as needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScalingRules>,
}

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScalingRules {
    /// The window, in seconds, whose most cautious number holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3600))]
    pub stabilization_window_seconds: Option<i32>,
    /// Which policy wins. Default: Max.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select_policy: Option<SelectPolicy>,
    /// Limits of change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub policies: Vec<ScalingPolicy>,
    /// No change while the ratio to the target is this close to one. Default: 100m, that is 10 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Quantity>,
}

/// Which of several policies wins. Default: Max.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SelectPolicy {
    /// The one that allows most change.
    Max,
    /// The one that allows least change.
    Min,
    /// No change in this direction.
    Disabled,
}

/// One limit of change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScalingPolicy {
    /// What `value` counts.
    #[serde(rename = "type")]
    pub kind: PolicyType,
    /// How much within the period.
    #[schemars(range(min = 1, max = 10000))]
    pub value: i32,
    /// The period, in seconds.
    #[schemars(range(min = 1, max = 1800))]
    pub period_seconds: i32,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PolicyType {
    /// Replicas.
    Pods,
    /// Percent of the replicas at the start of the period.
    Percent,
}
