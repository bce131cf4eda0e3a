//! What a pod used of its GPUs, its CPU and its network: counters that only rise, and levels.

use std::ops::{AddAssign, Mul};

/// Work done since the pod was first seen. GPU figures are for each GPU of the pod: its GPUs work alike.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Seconds with a kernel on the GPU.
    pub gpu_busy: f64,
    /// Seconds × share of the SMs that held a warp.
    pub sm_active: f64,
    /// Seconds × share of the tensor pipe's cycles in use.
    pub tensor_active: f64,
    /// Seconds × share of the FP32 pipe's cycles in use.
    pub fp32_active: f64,
    /// Bytes read from and written to the GPU's own memory.
    pub dram_bytes: f64,
    /// Bytes from host to GPU.
    pub pcie_rx_bytes: f64,
    /// Bytes from GPU to host.
    pub pcie_tx_bytes: f64,
    /// Bytes from other GPUs.
    pub nvlink_rx_bytes: f64,
    /// Bytes to other GPUs.
    pub nvlink_tx_bytes: f64,
    /// Seconds in which heat held the clocks down.
    pub held_seconds: f64,
    /// CPU seconds of the GPU container.
    pub cpu_seconds: f64,
    /// Seconds in which some task of the container could run and had no CPU.
    pub cpu_waiting: f64,
    /// Seconds in which some task of the container waited for storage, as far as the kernel can tell.
    pub io_waiting: f64,
    /// Scheduler periods in which the container ran and had a quota.
    pub cfs_periods: f64,
    /// Those of them in which the quota ran out.
    pub cfs_throttled: f64,
    /// Bytes received by the pod.
    pub net_rx_bytes: f64,
    /// Bytes sent by the pod.
    pub net_tx_bytes: f64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.gpu_busy += more.gpu_busy;
        self.sm_active += more.sm_active;
        self.tensor_active += more.tensor_active;
        self.fp32_active += more.fp32_active;
        self.dram_bytes += more.dram_bytes;
        self.pcie_rx_bytes += more.pcie_rx_bytes;
        self.pcie_tx_bytes += more.pcie_tx_bytes;
        self.nvlink_rx_bytes += more.nvlink_rx_bytes;
        self.nvlink_tx_bytes += more.nvlink_tx_bytes;
        self.held_seconds += more.held_seconds;
        self.cpu_seconds += more.cpu_seconds;
        self.cpu_waiting += more.cpu_waiting;
        self.io_waiting += more.io_waiting;
        self.cfs_periods += more.cfs_periods;
        self.cfs_throttled += more.cfs_throttled;
        self.net_rx_bytes += more.net_rx_bytes;
        self.net_tx_bytes += more.net_tx_bytes;
    }
}

/// The same work, so many times.
impl Mul<f64> for Usage {
    type Output = Self;

    fn mul(self, times: f64) -> Self {
        Self {
            gpu_busy: self.gpu_busy * times,
            sm_active: self.sm_active * times,
            tensor_active: self.tensor_active * times,
            fp32_active: self.fp32_active * times,
            dram_bytes: self.dram_bytes * times,
            pcie_rx_bytes: self.pcie_rx_bytes * times,
            pcie_tx_bytes: self.pcie_tx_bytes * times,
            nvlink_rx_bytes: self.nvlink_rx_bytes * times,
            nvlink_tx_bytes: self.nvlink_tx_bytes * times,
            held_seconds: self.held_seconds * times,
            cpu_seconds: self.cpu_seconds * times,
            cpu_waiting: self.cpu_waiting * times,
            io_waiting: self.io_waiting * times,
            cfs_periods: self.cfs_periods * times,
            cfs_throttled: self.cfs_throttled * times,
            net_rx_bytes: self.net_rx_bytes * times,
            net_tx_bytes: self.net_tx_bytes * times,
        }
    }
}

/// What a pod holds at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// GPU memory in use on each GPU, MiB. A model that fills the card says `f64::INFINITY`.
    pub gpu_memory_mib: f64,
    /// Host memory of the container, bytes.
    pub memory_bytes: f64,
    /// Share of the full SM clock that is missing, 0–1.
    pub clock_lost: f64,
}

/// Everything one pod did and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Since the pod was first seen.
    pub used: Usage,
    /// Now.
    pub level: Level,
}
