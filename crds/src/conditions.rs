//! Conditions, in the shape that every Kubernetes tool reads.

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// One aspect of a workload, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which aspect.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it stands.
    pub status: ConditionStatus,
    /// Why, in one `CamelCase` word.
    pub reason: String,
    /// Why, in words.
    pub message: String,
    /// When `status` last changed.
    #[schemars(schema_with = "date_time")]
    pub last_transition_time: Timestamp,
    /// The generation that it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// How a condition stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody knows yet.
    Unknown,
}

pub(crate) fn date_time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}
