//! A count, or a share of the workload's replicas.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// `4`, or `"80%"` of the workload's number, rounded down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrPercent {
    /// A count.
    Int(u32),
    /// A percentage, with its sign.
    Percent(String),
}

impl IntOrPercent {
    /// The percentage of a `"80%"`; none for a count or another text.
    pub fn percent(&self) -> Option<u32> {
        match self {
            Self::Int(_) => None,
            Self::Percent(text) => text.strip_suffix('%')?.parse().ok().filter(|percent| *percent <= 100),
        }
    }
}

impl JsonSchema for IntOrPercent {
    fn schema_name() -> Cow<'static, str> {
        "IntOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "pattern": "^(100|[1-9]?[0-9])%$",
            "minimum": 0,
            "maximum": 10000,
        })
    }
}
