//! What is written about one workload in one cycle.

use crate::events::Untold;
use kube::api::Patch;
use serde_json::{Value, json};
use wellfed_crds::{FindingStatus, GpuWorkloadStatus};
use wellfed_engine::units::WorkloadId;

/// To the API server.
pub struct Letter {
    /// About whom.
    pub id: WorkloadId,
    /// What its status becomes, as a JSON Patch; none where it stays.
    pub status: Option<Vec<Value>>,
    /// Told once the status stands.
    pub untold: Vec<Untold>,
}

impl Letter {
    /// For the API server; none if there is nothing to write.
    pub fn patch(&self) -> Option<Patch<()>> {
        let operations = Value::Array(self.status.clone()?);
        serde_json::from_value(operations).ok().map(Patch::Json)
    }
}

fn put(path: &str, value: &Value) -> Value {
    json!({ "op": "add", "path": path, "value": value })
}

/// The whole status anew.
pub fn whole(status: &GpuWorkloadStatus) -> Vec<Value> {
    vec![put("/status", &json!(status))]
}

/// What moves without a transition: the memory, and with it, at no write of its own, the times that each evaluation moves.
/// Everything else is as it was told, `told` the findings.
pub fn moved(status: &GpuWorkloadStatus, memory: &str, told: &[FindingStatus]) -> Vec<Value> {
    let expires = status.decision.as_ref().and_then(|decision| decision.veto_expires);
    let expires = expires.map(|at| put("/status/decision/vetoExpires", &json!(at)));
    let both = status.findings.iter().zip(told).enumerate();
    let seen = both.filter(|(_, (now, told))| now.last_seen.is_some() && now.last_seen != told.last_seen);
    let seen = seen.map(|(place, (now, _))| put(&format!("/status/findings/{place}/lastSeen"), &json!(now.last_seen)));
    std::iter::once(put("/status/memory", &json!(memory))).chain(expires).chain(seen).collect()
}
