//! What a replica uses in each state of its run.

use super::pace::{MAIN_CORES, Pace};
use crate::{
    scenario::{Precision, Training},
    sim::{cfs, usage::Usage},
};

/// SMs at work and bytes a second of GPU memory while kernels that fill the card compute.
const COMPUTE: (f64, f64) = (0.78, 1.3e12);
/// Cycles of the tensor and the FP32 pipe in use while a step computes in BF16, and in FP32.
const PIPES: [(f64, f64); 2] = [(0.42, 0.10), (0.0, 0.62)];
/// Kernels that last less have too few blocks to fill the card, seconds.
const FULL_KERNEL: f64 = 50e-6;
/// SMs that the kernels of a gradient exchange hold.
const EXCHANGE_SM: f64 = 0.10;
/// SMs held by the kernels of an exchange that does not go on.
const SPIN_SM: f64 = 0.02;
/// Cores that compile kernels, at most.
const COMPILE_CORES: f64 = 4.0;
/// Share of time with trial kernels on the GPU while a replica warms up.
const TRIALS: f64 = 0.05;

/// How one replica takes part in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Share of the full clock.
    pub clock: f64,
    /// Whether heat holds it down.
    pub held: bool,
}

/// `steps` steps in `seconds`, of a replica that takes this `part`.
pub(super) fn steps(training: &Training, pace: &Pace, part: Part, steps: f64, seconds: f64) -> Usage {
    let busy = steps * pace.step / seconds;
    let bytes = steps * pace.samples * training.loader.bytes_per_sample;
    let copied = training.transfer.as_ref().map_or(0.0, |copy| steps * copy.bytes_per_step);
    let periods = pace.throttled.map_or(0.0, |_| seconds / cfs::PERIOD);
    let cores = pace.loader_cores + MAIN_CORES + pace.launch / pace.step;
    let mut used = Usage {
        pcie_rx_bytes: bytes + copied,
        pcie_tx_bytes: bytes / 100.0,
        held_seconds: if part.held { seconds * busy } else { 0.0 },
        cpu_seconds: cores * busy * seconds,
        cpu_waiting: pace.cpu_waiting * busy * seconds,
        io_waiting: pace.io_waiting * busy * seconds,
        cfs_periods: periods,
        cfs_throttled: periods * pace.throttled.unwrap_or(0.0) * busy,
        net_rx_bytes: bytes,
        net_tx_bytes: steps * 1e5,
        ..Usage::default()
    };
    used += kernels(training, pace, part.clock, steps);
    used += pace.ring.traffic(steps);
    used
}

/// The GPU's part of `steps` steps: its own kernels, then it spins until the slowest is there and the exchange is done.
fn kernels(training: &Training, pace: &Pace, clock: f64, steps: f64) -> Usage {
    let own = pace.compute / clock;
    let spin = pace.front - pace.copy - own.max(pace.launch) + pace.exchange;
    let fill = training.launch.as_ref().map_or(1.0, |launch| pace.compute / launch.kernels_per_step / FULL_KERNEL);
    let work = own * fill.min(1.0) * pace.fill;
    let (tensor, fp32) = PIPES[usize::from(training.precision == Precision::Fp32)];
    Usage {
        gpu_busy: steps * (own + spin),
        sm_active: steps * (work * COMPUTE.0 + spin * EXCHANGE_SM),
        tensor_active: steps * work * tensor,
        fp32_active: steps * work * fp32,
        dram_bytes: steps * work * clock * COMPUTE.1,
        ..Usage::default()
    }
}

/// An exchange that never ends: its kernels poll memory, and the process polls them.
pub(super) fn hung(limit: Option<f64>, seconds: f64) -> Usage {
    let mut used = Usage { gpu_busy: seconds, sm_active: SPIN_SM * seconds, ..Usage::default() };
    used += cpu(1.0, limit, seconds);
    used
}

/// Writing `bytes` of the model to storage: the GPU rests, one core packs.
pub(super) fn checkpoint(bytes: f64, remote: bool, limit: Option<f64>, seconds: f64) -> Usage {
    let io_waiting = if remote { 0.0 } else { seconds };
    let mut used = Usage { pcie_tx_bytes: bytes, net_tx_bytes: bytes, io_waiting, ..Usage::default() };
    used += cpu(0.5, limit, seconds);
    used
}

/// Compiling and tuning.
pub(super) fn warm_up(limit: Option<f64>, seconds: f64) -> Usage {
    let gpu = TRIALS * seconds;
    let mut used = Usage { gpu_busy: gpu, sm_active: gpu * COMPUTE.0, dram_bytes: gpu * COMPUTE.1, ..Usage::default() };
    used += cpu(COMPILE_CORES, limit, seconds);
    used
}

fn cpu(wanted: f64, limit: Option<f64>, seconds: f64) -> Usage {
    cfs::charge(wanted, 0.0, limit, seconds)
}
