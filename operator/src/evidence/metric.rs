//! What is read of GPUs, CPUs and model servers, by the names that exporters give it.

use super::names;

/// One number of a GPU, of a container or of a model server.
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
    /// Power drawn by the board.
    Power,
    /// The most that it may draw, as set.
    PowerLimit,
    /// Whether heat or hardware held the clocks down.
    ClocksHeld,
    /// Cores used.
    Cores,
    /// Throttled periods.
    Throttled,
    /// Waiting for a CPU.
    Pressure,
    /// Waiting for storage.
    IoPressure,
    /// Requests in service.
    Running,
    /// Requests queued.
    Waiting,
    /// Requests queued for want of room, where a server tells the reasons apart.
    WaitingForRoom,
    /// Requests in one execution.
    Batch,
    /// KV cache in use.
    Kv,
    /// Requests thrown out of the KV cache.
    Preemptions,
    /// Tokens or answers.
    Progress,
}

/// What a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A GPU, or a MIG instance.
    Gpu,
    /// A container.
    Container,
    /// A pod that serves.
    Server,
}

impl Metric {
    /// Every metric, GPU ones first.
    pub const ALL: [Self; 20] = [
        Self::Util,
        Self::Engine,
        Self::Sm,
        Self::Dram,
        Self::Tensor,
        Self::PcieRx,
        Self::Power,
        Self::PowerLimit,
        Self::ClocksHeld,
        Self::Cores,
        Self::Throttled,
        Self::Pressure,
        Self::IoPressure,
        Self::Running,
        Self::Waiting,
        Self::WaitingForRoom,
        Self::Batch,
        Self::Kv,
        Self::Preemptions,
        Self::Progress,
    ];

    /// What it is of.
    pub const fn subject(self) -> Subject {
        match self {
            Self::Util
            | Self::Engine
            | Self::Sm
            | Self::Dram
            | Self::Tensor
            | Self::PcieRx
            | Self::Power
            | Self::PowerLimit
            | Self::ClocksHeld => Subject::Gpu,
            Self::Cores | Self::Throttled | Self::Pressure | Self::IoPressure => Subject::Container,
            Self::Running
            | Self::Waiting
            | Self::WaitingForRoom
            | Self::Batch
            | Self::Kv
            | Self::Preemptions
            | Self::Progress => Subject::Server,
        }
    }

    /// The question, over the last `window` in Prometheus's notation.
    pub fn query(self, window: &str) -> String {
        let gpu = |names: &[&str]| of_gpu(&over("avg_over_time", names, window));
        let server = |function: &str, names: &[&str]| of_server("sum", &over(function, names, window));
        match self {
            Self::Util => gpu(names::UTIL),
            Self::Engine => gpu(names::ENGINE),
            Self::Sm => gpu(names::SM),
            Self::Dram => gpu(names::DRAM),
            Self::Tensor => gpu(names::TENSOR),
            Self::PcieRx => gpu(names::PCIE_RX),
            // The product tells the limit of its board where the exporter does not.
            Self::Power => format!("max by ({GPU}, modelName) ({})", over("avg_over_time", names::POWER, window)),
            Self::PowerLimit => gpu(names::POWER_LIMIT),
            Self::ClocksHeld => clocks_held(),
            Self::Cores => of_container("rate", "container_cpu_usage_seconds_total", window),
            Self::Throttled => format!(
                "{} / {}",
                of_container("increase", "container_cpu_cfs_throttled_periods_total", window),
                of_container("increase", "container_cpu_cfs_periods_total", window)
            ),
            Self::Pressure => of_container("rate", "container_pressure_cpu_waiting_seconds_total", window),
            Self::IoPressure => of_container("rate", "container_pressure_io_waiting_seconds_total", window),
            Self::Running => server("avg_over_time", names::RUNNING),
            Self::Waiting => server("avg_over_time", names::WAITING),
            Self::WaitingForRoom => format!(
                "{} or 0 * {}",
                server("avg_over_time", names::WAITING_FOR_ROOM),
                server("avg_over_time", names::WAITING_BY_REASON)
            ),
            Self::Batch => format!("{} / {}", server("rate", names::INFERENCES), server("rate", names::EXECUTIONS)),
            Self::Kv => of_server("avg", &over("avg_over_time", names::KV, window)),
            Self::Preemptions => server("rate", names::PREEMPTIONS),
            Self::Progress => server("rate", names::PROGRESS),
        }
    }

    /// From the exporter's unit to ours, if the value can be a measurement at all.
    pub fn believed(self, value: f64) -> Option<f64> {
        let value = if self == Self::Util { value / 100.0 } else { value };
        let (smallest, largest) = match self {
            Self::Pressure | Self::IoPressure => (0.0, 1.05), // a rate over a jittering interval may exceed one a little
            Self::PcieRx => (0.0, 1.0e12),
            Self::Power => (0.0, LARGEST_BOARD),
            Self::PowerLimit => (1.0, LARGEST_BOARD),
            Self::Cores => (0.0, 1.0e5),
            Self::Running | Self::Waiting | Self::WaitingForRoom | Self::Batch | Self::Preemptions => (0.0, 1.0e6),
            Self::Progress => (0.0, 1.0e9),
            Self::Util
            | Self::Engine
            | Self::Sm
            | Self::Dram
            | Self::Tensor
            | Self::ClocksHeld
            | Self::Throttled
            | Self::Kv => (0.0, 1.0),
        };
        (value.is_finite() && (smallest..=largest).contains(&value)).then_some(value)
    }

    /// What a missing sample could have been at most.
    pub const fn largest(self) -> f64 {
        match self {
            Self::Power | Self::PowerLimit => LARGEST_BOARD,
            Self::PcieRx
            | Self::Cores
            | Self::Running
            | Self::Waiting
            | Self::WaitingForRoom
            | Self::Batch
            | Self::Preemptions
            | Self::Progress => f64::INFINITY,
            Self::Util
            | Self::Engine
            | Self::Sm
            | Self::Dram
            | Self::Tensor
            | Self::ClocksHeld
            | Self::Throttled
            | Self::Pressure
            | Self::IoPressure
            | Self::Kv => 1.0,
        }
    }
}

/// Watts; no board draws more.
const LARGEST_BOARD: f64 = 1_500.0;

/// What tells GPUs and their pods apart, under both of the label schemes that scraping gives.
const GPU: &str = "namespace, pod, exported_namespace, exported_pod, UUID, GPU_I_ID";

/// The first of `names` that a series has, old and new names of one field beside each other included.
fn over(function: &str, names: &[&str], window: &str) -> String {
    names.iter().map(|name| format!("{function}({name}[{window}])")).collect::<Vec<_>>().join(" or ")
}

fn of_gpu(values: &str) -> String {
    format!("max by ({GPU}) ({values})")
}

fn of_container(function: &str, name: &str, window: &str) -> String {
    format!("sum by (namespace, pod, container) ({function}({name}{{container!=\"\"}}[{window}]))")
}

fn of_server(aggregate: &str, values: &str) -> String {
    format!("{aggregate} by (namespace, pod) ({values})")
}

/// One where a bit of [`names::HOLDING_BITS`] is set, or an event of [`names::HELD_EVENTS`] happened lately; else zero.
fn clocks_held() -> String {
    let reasons = names::CLOCK_REASONS.join(" or ");
    let bits = names::HOLDING_BITS.map(|bit| format!("floor(({reasons}) / {bit}) % 2"));
    format!("clamp_max({} or {}, 1)", of_gpu(&bits.join(" + ")), of_gpu(names::HELD_EVENTS))
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
    fn the_old_and_the_new_name_of_a_field_are_asked_for_in_order() {
        assert_eq!(
            Metric::Sm.query("60s"),
            "max by (namespace, pod, exported_namespace, exported_pod, UUID, GPU_I_ID) \
             (avg_over_time(DCGM_FI_PROF_SM_ACTIVE[60s]) or avg_over_time(DCGM_FI_PROF_SM_UTIL_RATIO[60s]))"
        );
    }

    #[test]
    fn sentinels_and_impossible_values_are_dropped() {
        let impossible = [9_223_372_036_854_775_794.0, f64::NAN, -1.0, f64::INFINITY];
        for metric in Metric::ALL {
            for value in impossible {
                assert_eq!(metric.believed(value), None, "{metric:?} {value}");
            }
        }
        for value in [101.0, 1e9] {
            assert_eq!(Metric::Util.believed(value), None, "{value}");
            assert_eq!(Metric::Engine.believed(value), None, "{value}");
            assert_eq!(Metric::Kv.believed(value), None, "{value}");
        }
        assert_eq!(Metric::Util.believed(22.0), Some(0.22));
        assert_eq!(Metric::Power.believed(1_501.0), None);
        assert_eq!(Metric::PowerLimit.believed(0.0), None, "a limit of nothing is none");
    }
}
