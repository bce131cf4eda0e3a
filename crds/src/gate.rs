//! The gate: whether more GPUs would help is asked before they are added.

use crate::duration::GoDuration;
use crate::quantity::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the gate treats this workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    /// Whether a refusal holds the number. Default: Enforce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<GateMode>,
    /// How much of the past is judged, since demand exceeded its target; at least three looks (the operator's
    /// `--evidence-interval`, 60s unless it is told another). Default: 10m for Inference, 30m otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<GoDuration>,
    /// How long a replica is not judged after it turned Ready. Default: 5m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<GoDuration>,
    /// A veto that no evaluation has confirmed for so long ends by itself; each one that shows its cause renews it.
    /// Default: 30m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_after: Option<GoDuration>,
    /// What missing evidence means for growth. Default: Allow for Inference, Hold otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unknown: Option<OnUnknown>,
    /// What the rules compare with, by name, such as `busyFrom: 800m` or `"0.8"`; shares are from 0 to 1. What is not named is
    /// as the operator's configuration says, else as built in. `docs/thresholds.md` lists all names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 128))]
    pub thresholds: BTreeMap<String, Quantity>,
    /// Rules that only advise, or are not asked, by name, such as `DataLoader: Advise`. A rule that is not named is as the
    /// mode says. `docs/findings` has a page for each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub rules: BTreeMap<String, RuleStance>,
}

/// What becomes of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RuleStance {
    /// What it refuses is only said.
    Advise,
    /// It is not asked.
    Off,
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
