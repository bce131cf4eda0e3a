//! Pools are the cluster's: a test's own carry its namespace in their name and as a label.

use super::OperatorFixture;
use crate::fixture::OWNER;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use wellfed_crds::GpuPool;

impl OperatorFixture {
    /// Makes the pool `<namespace>-<name>`, of this test's own nodes, with more of a spec; returns its name.
    pub async fn pool(&self, name: &str, spec: Value) -> anyhow::Result<String> {
        let full = self.pool_name(name);
        let mut object = json!({
            "apiVersion": "wellfed.dev/v1alpha1",
            "kind": "GpuPool",
            "metadata": {"name": full, "labels": {OWNER: self.namespace}},
            "spec": {"capacityType": "OnDemand", "nodeSelector": {OWNER: self.namespace}},
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        let pool: GpuPool = serde_json::from_value(object)?;
        Api::all(self.client()).create(&PostParams::default(), &pool).await?;
        Ok(full)
    }

    /// The full name of this test's pool `name`.
    pub fn pool_name(&self, name: &str) -> String {
        format!("{}-{name}", self.namespace)
    }
}
