//! What the rules compare with: named, overridable per workload, each with its source.

use serde::{Deserialize, Serialize};

/// All shares are 0–1. Those without a source are wellfed's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Below it a GPU is hardly used: the class "low" of kempnerpulse.
    pub underused_below: f64,
    /// Below it a GPU waits for something: half of the time, the line that NVIDIA draws for ineffective use.
    pub starved_below: f64,
    /// From it on a GPU is busy, if it also does work.
    pub busy_from: f64,
    /// Work: SMs in use. NVIDIA calls less ineffective.
    pub sm_busy_from: f64,
    /// Work: memory bandwidth in use. The practical peak is about 0.8; LLM decode lives here.
    pub dram_busy_from: f64,
    /// Work: tensor pipe in use.
    pub tensor_busy_from: f64,
    /// CPU used over its limit: at the limit, allowing for sampling.
    pub cpu_of_limit_from: f64,
    /// Throttled periods over all periods: the alert of kubernetes-mixin.
    pub throttled_from: f64,
    /// Share of time that tasks waited for a CPU.
    pub cpu_pressure_from: f64,
    /// Host to device, bytes a second, that means input is being copied: a class of kempnerpulse.
    pub pcie_rx_from: f64,
    /// SMs in use while input is being copied.
    pub sm_waiting_below: f64,
    /// Requests in service, or in one batch, that mean one after another.
    pub serial_below: f64,
    /// Requests that wait at each replica: on average there is always one.
    pub waiting_from: f64,
    /// KV cache in use that keeps a batch small for good reason.
    pub kv_limits_from: f64,
    /// KV cache in use that means full: the watch value of aiperf.
    pub kv_full_from: f64,
    /// Requests thrown out of the KV cache, a second: one in ten minutes, as aiperf takes any as memory pressure.
    pub preemptions_from: f64,
    /// Memory bandwidth in use that makes it the bottleneck: a class of kempnerpulse.
    pub bandwidth_from: f64,
    /// Share of time that tasks waited for storage.
    pub io_pressure_from: f64,
    /// CPU used over its limit that means that the CPU waits too: the fetch stall of DS-Analyzer.
    pub cpu_idle_below: f64,
    /// Activity of a GPU that may hang: kernels that wait for a peer count as active.
    pub stuck_active_from: f64,
    /// SMs in use by a GPU that hangs.
    pub stuck_sm_below: f64,
    /// Tensor pipe and memory bandwidth in use by a GPU that hangs.
    pub stuck_work_below: f64,
    /// Power over the board's limit of a GPU that hangs.
    pub stuck_power_below: f64,
    /// Tokens or answers a second that are none: fewer than one in ten seconds.
    pub progress_below: f64,
    /// Activity of a GPU that runs small kernels: a class of kempnerpulse, as are the next two.
    pub launch_active_from: f64,
    /// SMs in use by small kernels.
    pub launch_sm_below: f64,
    /// Memory bandwidth in use by small kernels.
    pub launch_dram_below: f64,
    /// CPU cores in use while launching is the bottleneck: about one.
    pub launching_cores_from: f64,
    /// The longest queue over that of half of the replicas.
    pub imbalance_from: f64,
    /// Requests at a replica that is idle.
    pub idle_below: f64,
    /// Share of the replicas that are idle.
    pub idle_replicas_from: f64,
    /// Share of time at lowered clocks: the rate of gpud, 0.6 events a minute.
    pub clocks_held_from: f64,
    /// "Most" GPUs, containers or servers.
    pub most: f64,
    /// Share of the expected GPUs, and of the window, that must be seen.
    pub coverage: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            underused_below: 0.30,
            starved_below: 0.50,
            busy_from: 0.70,
            sm_busy_from: 0.50,
            dram_busy_from: 0.40,
            tensor_busy_from: 0.15,
            cpu_of_limit_from: 0.85,
            throttled_from: 0.25,
            cpu_pressure_from: 0.20,
            pcie_rx_from: 1.0e9,
            sm_waiting_below: 0.30,
            serial_below: 1.5,
            waiting_from: 1.0,
            kv_limits_from: 0.80,
            kv_full_from: 0.90,
            preemptions_from: 1.0 / 600.0,
            bandwidth_from: 0.50,
            io_pressure_from: 0.10,
            cpu_idle_below: 0.50,
            stuck_active_from: 0.90,
            stuck_sm_below: 0.10,
            stuck_work_below: 0.02,
            stuck_power_below: 0.35,
            progress_below: 0.1,
            launch_active_from: 0.40,
            launch_sm_below: 0.25,
            launch_dram_below: 0.30,
            launching_cores_from: 0.80,
            imbalance_from: 4.0,
            idle_below: 0.5,
            idle_replicas_from: 0.20,
            clocks_held_from: 0.60,
            most: 0.80,
            coverage: 0.80,
        }
    }
}
