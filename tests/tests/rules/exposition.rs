//! What exporters and servers send of one replica, as text.

use std::time::Instant;
use wellfed_tests::source::MetricSource;

/// Gauges of a replica's GPU, by DCGM's names.
pub type Gauges = &'static [(&'static str, f64)];

/// One replica, as it is measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replica {
    /// Of its GPU.
    pub gpu: Gauges,
    /// Counters of its container, each with its increase a second.
    pub container: &'static [(&'static str, f64)],
    /// Gauges of its server.
    pub server: &'static [(&'static str, f64)],
    /// Counters of its server, each with its increase a second.
    pub counters: &'static [(&'static str, f64)],
}

/// How a scrape of the exporter labels its series.
#[derive(Clone, Copy, Debug)]
pub enum Labels {
    /// `honorLabels: true`: the pod that uses the GPU.
    Honoured,
    /// `honorLabels: false`: the exporter's own pod, and the other as `exported_pod`.
    Exported,
}

impl Replica {
    /// Sends it as the pod `pod` of `namespace`, `since` its counters began.
    pub fn expose(&self, source: &MetricSource, namespace: &str, pod: &str, labels: Labels, since: Instant) {
        let seconds = since.elapsed().as_secs_f64();
        let whose = match labels {
            Labels::Honoured => format!(r#"namespace="{namespace}",pod="{pod}""#),
            Labels::Exported => format!(
                r#"exported_namespace="{namespace}",exported_pod="{pod}",namespace="gpu-operator",pod="dcgm-exporter-x""#
            ),
        };
        for (name, value) in self.gpu {
            let gpu = format!(r#"UUID="GPU-{pod}",modelName="NVIDIA H100 80GB HBM3",{whose}"#);
            // Meters of a GPU at work never stand still: one that does is taken for frozen.
            let read = value * (1.0 - 1e-4 * seconds.fract());
            source.set(&format!("{name}{{{gpu}}} {read}"));
        }
        for (name, rate) in self.container {
            source.set(&format!(r#"{name}{{container="main",pod="{pod}"}} {}"#, rate * seconds));
        }
        for (name, value) in self.server {
            source.set(&format!(r#"{name}{{model_name="m",pod="{pod}"}} {value}"#));
        }
        for (name, rate) in self.counters {
            source.set(&format!(r#"{name}{{model_name="m",pod="{pod}"}} {}"#, rate * seconds));
        }
    }
}
