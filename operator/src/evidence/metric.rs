//! What is read of GPUs and CPUs, by the names that exporters give it.

/// One number of a GPU or of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Any kernel ran.
    Util,
    /// The compute engine was active.
    Engine,
    /// SMs with work.
    Sm,
    /// Memory bandwidth in use.
    Dram,
    /// Tensor pipe in use.
    Tensor,
    /// Host to device.
    PcieRx,
    /// Cores used.
    Cores,
    /// Throttled periods.
    Throttled,
    /// Waiting for a CPU.
    Pressure,
}

impl Metric {
    /// Every metric, GPU ones first.
    pub const ALL: [Self; 9] = [
        Self::Util,
        Self::Engine,
        Self::Sm,
        Self::Dram,
        Self::Tensor,
        Self::PcieRx,
        Self::Cores,
        Self::Throttled,
        Self::Pressure,
    ];

    /// The question, over the last `window` in Prometheus's notation. Old and new DCGM field names are both asked for.
    pub fn query(self, window: &str) -> String {
        let gpu = |names: &str| {
            format!(
                "max by (namespace, pod, exported_namespace, exported_pod, UUID, GPU_I_ID) \
                 (avg_over_time({{__name__=~\"{names}\"}}[{window}]))"
            )
        };
        let container = |rate: String| format!("sum by (namespace, pod, container) ({rate})");
        let increase = |name: &str| container(format!("increase({name}{{container!=\"\"}}[{window}])"));
        match self {
            Self::Util => gpu("DCGM_FI_DEV_GPU_UTIL"),
            Self::Engine => gpu("DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"),
            Self::Sm => gpu("DCGM_FI_PROF_SM_ACTIVE|DCGM_FI_PROF_SM_UTIL_RATIO"),
            Self::Dram => gpu("DCGM_FI_PROF_DRAM_ACTIVE|DCGM_FI_PROF_DRAM_UTIL_RATIO"),
            Self::Tensor => gpu("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE|DCGM_FI_PROF_TENSOR_UTIL_RATIO"),
            Self::PcieRx => gpu("DCGM_FI_PROF_PCIE_RX_BYTES"),
            Self::Cores => container(format!("rate(container_cpu_usage_seconds_total{{container!=\"\"}}[{window}])")),
            Self::Throttled => format!(
                "{} / {}",
                increase("container_cpu_cfs_throttled_periods_total"),
                increase("container_cpu_cfs_periods_total")
            ),
            Self::Pressure => {
                container(format!("rate(container_pressure_cpu_waiting_seconds_total{{container!=\"\"}}[{window}])"))
            }
        }
    }

    /// From the exporter's unit to ours, if the value can be a measurement at all.
    pub fn believed(self, value: f64) -> Option<f64> {
        let (value, largest) = match self {
            Self::Util => (value / 100.0, 1.0),
            Self::Engine | Self::Sm | Self::Dram | Self::Tensor | Self::Throttled => (value, 1.0),
            Self::Pressure => (value, 1.05), // a rate over a jittering interval may exceed one a little
            Self::PcieRx => (value, 1.0e12),
            Self::Cores => (value, 1.0e5),
        };
        (value.is_finite() && (0.0..=largest).contains(&value)).then_some(value)
    }

    /// What a missing sample could have been at most.
    pub const fn largest(self) -> f64 {
        match self {
            Self::PcieRx | Self::Cores => f64::INFINITY,
            Self::Util | Self::Engine | Self::Sm | Self::Dram | Self::Tensor | Self::Throttled | Self::Pressure => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::promql;

    #[test]
    fn every_question_is_valid() {
        for metric in Metric::ALL {
            let query = metric.query("60s");
            assert!(promql::parse(&query).is_ok(), "{query}");
        }
    }

    #[test]
    fn sentinels_and_impossible_values_are_dropped() {
        let impossible = [9_223_372_036_854_775_794.0, f64::NAN, -1.0, 101.0, 1e9];
        for value in impossible {
            assert_eq!(Metric::Util.believed(value), None, "{value}");
            assert_eq!(Metric::Engine.believed(value), None, "{value}");
        }
        assert_eq!(Metric::Util.believed(22.0), Some(0.22));
    }
}
