//! A manifest inside a scenario: parsed and resolved as the operator does it.

use super::check::Problem;
use crate::config::{Config, PrometheusConfig};
use crate::intent::{Intent, Settings, intent};
use jiff::SignedDuration;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use wellfed_crds::{GpuWorkload, GpuWorkloadSpec};

/// Time between looks of the gate's lane.
pub const LOOK_EVERY: f64 = 60.0;

/// The `GpuWorkload` in `manifest`; a field that it does not have is refused, as by `kubectl apply --validate=strict`.
pub fn parse(manifest: &Value) -> Result<GpuWorkload, Problem> {
    let malformed = |error: serde_json::Error| ("manifest".to_owned(), format!("is no GpuWorkload: {error}"));
    let parsed: GpuWorkload = serde_json::from_value(manifest.clone()).map_err(malformed)?;
    let known = serde_json::to_value(&parsed).map_err(malformed)?;
    for (field, expected) in [("apiVersion", "wellfed.dev/v1alpha1"), ("kind", "GpuWorkload")] {
        if manifest.get(field).and_then(Value::as_str) != Some(expected) {
            return Err((format!("manifest.{field}"), format!("must be {expected}")));
        }
    }
    if let Some(path) = unknown(manifest, &known) {
        return Err((format!("manifest.{path}"), "is no field of a GpuWorkload; docs/api.md lists them".into()));
    }
    if parsed.metadata.name.as_deref().unwrap_or_default().is_empty() {
        return Err(("manifest.metadata.name".into(), "is missing; give the workload a name".into()));
    }
    bounds(&parsed.spec)?;
    Ok(parsed)
}

/// The path of the first field of `given` that is not in `known`; what is empty may have been left out there.
fn unknown(given: &Value, known: &Value) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => given.iter().find_map(|(name, value)| match known.get(name) {
            Some(same) => unknown(value, same).map(|rest| join(name, &rest)),
            None if is_empty(value) => None,
            None => Some(name.clone()),
        }),
        (Value::Array(given), Value::Array(known)) => {
            let mut pairs = given.iter().zip(known).enumerate();
            pairs.find_map(|(at, (value, same))| unknown(value, same).map(|rest| join(&format!("[{at}]"), &rest)))
        }
        _ => None,
    }
}

fn join(name: &str, rest: &str) -> String {
    if rest.starts_with('[') { format!("{name}{rest}") } else { format!("{name}.{rest}") }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// What the schema checks on a real API server and a simulation would stumble over.
fn bounds(spec: &GpuWorkloadSpec) -> Result<(), Problem> {
    let refuse = |path: &str, problem: &str| Err((format!("manifest.spec.{path}"), problem.to_owned()));
    if spec.min_replicas < 1 || spec.max_replicas > 10_000 {
        return refuse("minReplicas", "minReplicas must be at least 1, and maxReplicas at most 10000");
    }
    if spec.min_replicas > spec.max_replicas {
        return refuse("minReplicas", "minReplicas must not exceed maxReplicas");
    }
    if spec.signals.is_empty() {
        return refuse("signals", "is empty: name at least one signal");
    }
    if spec.scale_target_ref.is_none()
        && (spec.pools.is_empty() || spec.pools.iter().any(|p| p.scale_target_ref.is_none()))
    {
        return refuse("scaleTargetRef", "set scaleTargetRef on the spec (with at most one pool), or on every pool");
    }
    Ok(())
}

/// What the operator makes of the manifest. Every Prometheus that it names exists here.
pub fn resolve(manifest: &GpuWorkload, namespace: &str) -> Result<Intent, Problem> {
    let settings = Settings { config: config(&manifest.spec), spacing: SignedDuration::from_secs(30) };
    intent(&manifest.spec, namespace, &settings).map_err(|refusals| {
        let first = refusals.first().map(|refusal| (refusal.path.clone(), refusal.message.clone()));
        let (path, message) = first.unwrap_or_default();
        (format!("manifest.{path}"), message)
    })
}

fn config(spec: &GpuWorkloadSpec) -> Config {
    let mut names = BTreeSet::from(["default".to_owned()]);
    for source in spec.signals.iter().map(|signal| &signal.source) {
        let prometheus = source.prometheus.as_ref().and_then(|one| one.endpoint.clone());
        let servers = [&source.vllm, &source.sglang].into_iter().flatten().filter_map(|one| one.endpoint.clone());
        let triton = source.triton.as_ref().and_then(|one| one.endpoint.clone());
        names.extend(prometheus.into_iter().chain(servers).chain(triton));
    }
    let prometheus = names.into_iter().map(|name| PrometheusConfig {
        name,
        url: "http://simulated".to_owned(),
        extra_matchers: BTreeMap::new(),
        allow_cluster_queries: false,
        namespace_label: "namespace".to_owned(),
    });
    Config { prometheus: prometheus.collect(), ..Config::default() }
}
