//! From the types to the CRDs that are installed.

use crate::{GpuPool, GpuWorkload};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

/// Every CRD, as it is installed; none where a type can't be turned into one, which a test excludes.
pub fn all() -> Vec<Value> {
    [GpuWorkload::crd(), GpuPool::crd()].iter().filter_map(|crd| finished(crd).ok()).collect()
}

/// With the annotation that keeps it when a chart is uninstalled, and without what would only be noise.
fn finished(crd: &CustomResourceDefinition) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(crd)?;
    value["metadata"]["annotations"] = json!({ "helm.sh/resource-policy": "keep" });
    tidy(&mut value);
    Ok(value)
}

/// A field that may be left out is not also a field that may be `null`: clients leave out what is not set.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("nullable");
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The file name under `crds/yaml` of a CRD from [`all`].
pub fn yaml_of(crd: &Value) -> String {
    format!("{}.yaml", crd["metadata"]["name"].as_str().unwrap_or("unnamed"))
}
