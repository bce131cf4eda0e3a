//! A `GpuWorkload` as a test writes it, wrong ones too.

use serde_json::{Value, json};

/// A `GpuWorkload` before it is applied: in Auto, 1 to 8 replicas of the Deployment of its name, no gate, and a
/// scale-down window of three seconds. It needs a signal.
#[derive(Debug, Clone)]
pub struct Wish(Value);

impl Wish {
    /// A workload without a signal.
    pub fn of(name: &str) -> Self {
        Self(json!({
            "apiVersion": "wellfed.dev/v1alpha1",
            "kind": "GpuWorkload",
            "metadata": {"name": name},
            "spec": {
                "mode": "Auto",
                "minReplicas": 1,
                "maxReplicas": 8,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "signals": [],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 3}},
                "gate": {"mode": "Off"},
            },
        }))
    }

    /// One more signal `name`: the one number that `query` gives, and how much of it one replica should bear.
    #[must_use]
    pub fn signal(self, name: &str, query: &str, average: &str) -> Self {
        self.any_signal(json!({
            "name": name,
            "source": {"prometheus": {"query": query}},
            "target": {"type": "AverageValue", "averageValue": average},
        }))
    }

    /// As [`Wish::signal`], read through the test's proxy.
    #[must_use]
    pub fn proxied_signal(self, name: &str, query: &str, average: &str) -> Self {
        self.any_signal(json!({
            "name": name,
            "source": {"prometheus": {"query": query, "endpoint": super::PROXIED}},
            "target": {"type": "AverageValue", "averageValue": average},
        }))
    }

    /// One more signal `asked`: the number that users set by `kubectl scale gpuw`, `replicas` at first.
    #[must_use]
    pub fn asking(self, replicas: i32) -> Self {
        self.any_signal(json!({"name": "asked", "source": {"scale": {}}})).with("spec.replicas", replicas)
    }

    /// One more signal, as it stands in the manifest.
    #[must_use]
    pub fn any_signal(mut self, signal: Value) -> Self {
        if let Some(signals) = self.0["spec"]["signals"].as_array_mut() {
            signals.push(signal);
        }
        self
    }

    /// Sets what stands at a path such as `spec.pools` or `spec.signals.0.source.prometheus.query`.
    #[must_use]
    pub fn with(mut self, path: &str, value: impl Into<Value>) -> Self {
        *self.at(path) = value.into();
        self
    }

    /// Takes away the field `name` of the object at `path`.
    #[must_use]
    pub fn without(mut self, path: &str, name: &str) -> Self {
        if let Some(object) = self.at(path).as_object_mut() {
            object.remove(name);
        }
        self
    }

    fn at(&mut self, path: &str) -> &mut Value {
        path.split('.').fold(&mut self.0, |at, step| match step.parse::<usize>() {
            Ok(position) => &mut at[position],
            Err(_) => &mut at[step],
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The manifest, as JSON.
    pub fn manifest(&self) -> String {
        self.0.to_string()
    }
}
