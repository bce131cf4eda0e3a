//! What exporters and servers send of one replica, as text.

/// Gauges, by the names under which they are sent.
pub type Gauges = &'static [(&'static str, f64)];

/// Counters, each with its increase a second; a name may bring labels of its own.
pub type Rates = &'static [(&'static str, f64)];

/// One replica, as it is measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replica {
    /// Of its GPU.
    pub gpu: Gauges,
    /// Of its container.
    pub container: Rates,
    /// Of its server or trainer.
    pub server: Gauges,
    /// Of its server or trainer.
    pub counters: Rates,
}

/// How a scrape of the exporter labels its series.
#[derive(Clone, Copy, Debug)]
pub enum Labels {
    /// `honorLabels: true`: the pod that uses the GPU.
    Honoured,
    /// `honorLabels: false`: the exporter's own pod, and the other as `exported_pod`.
    Exported,
    /// Neither: what the exporter sends where the kubelet does not tell it whose its GPUs are.
    Bare,
}

impl Replica {
    /// One of which only the GPU is measured.
    pub const fn of(gpu: Gauges) -> Self {
        Self { gpu, container: &[], server: &[], counters: &[] }
    }

    /// Its gauges as the pod `pod` of `namespace`, `seconds` after they were sent first.
    pub fn gauges(&self, namespace: &str, pod: &str, labels: Labels, seconds: f64) -> Vec<(String, f64)> {
        let whose = match labels {
            Labels::Bare => String::from(r#"gpu="0""#),
            Labels::Honoured => format!(r#"namespace="{namespace}",pod="{pod}""#),
            Labels::Exported => format!(
                r#"exported_namespace="{namespace}",exported_pod="{pod}",namespace="gpu-operator",pod="dcgm-exporter-x""#
            ),
        };
        let gpu = format!(r#"UUID="GPU-{pod}",modelName="NVIDIA H100 80GB HBM3",{whose}"#);
        // A board's power never stands still: where it does, the exporter is taken for stuck.
        let moves = |name: &str| if name.contains("POWER") { 1e-4 * seconds.fract() } else { 0.0 };
        let of_gpu = self.gpu.iter().map(|(name, value)| (series(name, &gpu), value * (1.0 - moves(name))));
        let own = own(pod);
        of_gpu.chain(self.server.iter().map(|(name, value)| (series(name, &own), *value))).collect()
    }

    /// Its counters as the pod `pod`, each with its increase a second.
    pub fn rates(&self, pod: &str) -> Vec<(String, f64)> {
        let container = format!(r#"container="main",pod="{pod}""#);
        let of_container = self.container.iter().map(|(name, rate)| (series(name, &container), *rate));
        let own = own(pod);
        of_container.chain(self.counters.iter().map(|(name, rate)| (series(name, &own), *rate))).collect()
    }
}

fn own(pod: &str) -> String {
    format!(r#"model_name="m",pod="{pod}""#)
}

fn series(name: &str, labels: &str) -> String {
    match name.split_once('{') {
        Some((name, own)) => format!("{name}{{{labels},{own}"),
        None => format!("{name}{{{labels}}}"),
    }
}
