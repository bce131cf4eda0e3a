//! What the rules compare with: named, overridable per workload, each with its source.

use serde::{Deserialize, Serialize};

/// All shares are 0–1.
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
    /// "Most" GPUs or containers.
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
            most: 0.80,
            coverage: 0.80,
        }
    }
}
