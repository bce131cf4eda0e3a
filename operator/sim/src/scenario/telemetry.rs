//! What scrapers get to see. The models never look at it.

use serde::{Deserialize, Serialize};

/// The state of each source of a workload's metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Telemetry {
    /// The pods' own `/metrics` and the queue exporter.
    pub metrics: Metrics,
    /// dcgm-exporter's rows of the workload's GPUs.
    pub gpu: GpuRows,
    /// cAdvisor's rows of the workload's pods.
    pub cpu: CpuRows,
}

/// State of the pods' own metrics and the queue exporter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metrics {
    /// True values.
    #[default]
    Normal,
    /// Every scrape fails with 503.
    Off,
    /// The values of the moment of the change, as if they were new.
    Frozen,
    /// Every value is `NaN`.
    NaN,
    /// The values of the moment of the change, with that moment as their timestamp.
    Old,
}

/// State of dcgm-exporter's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GpuRows {
    /// True values.
    #[default]
    Normal,
    /// No rows.
    Off,
    /// The last values before the change.
    Frozen,
    /// Every value is `NaN`.
    NaN,
    /// True values without pod labels, as when the exporter cannot ask the kubelet.
    Unattributed,
}

/// State of cAdvisor's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CpuRows {
    /// True values.
    #[default]
    Normal,
    /// No rows.
    Off,
}
