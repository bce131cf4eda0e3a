//! Synchronous data-parallel training: a step takes the longest of GPU, loader and storage time.

use super::{
    Tick, cfs,
    replica::{Replica, Stage},
    usage::{Ledger, Usage},
};
use crate::scenario::Training;
use std::collections::BTreeMap;

/// SMs at work, tensor cycles in use and bytes a second of GPU memory while a step computes.
const COMPUTE: (f64, f64, f64) = (0.78, 0.42, 1.3e12);
/// SMs that the kernels of a gradient exchange hold.
const EXCHANGE_SM: f64 = 0.10;
/// Cores of the training process itself beside its loader workers.
const MAIN_CORES: f64 = 0.15;

/// The state of one training run.
#[derive(Debug, Default)]
pub struct TrainingRun {
    /// Samples that wait.
    pub backlog: f64,
    /// Samples worked through.
    pub samples: f64,
    /// The pace of the last step.
    pub pace: Pace,
    /// Samples and steps of each replica, by uid.
    pub progress: BTreeMap<String, Progress>,
}

/// What one replica has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Samples.
    pub samples: f64,
    /// Steps.
    pub steps: f64,
}

/// How fast steps are, and why not faster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Length of a step, seconds; 0 while nothing runs.
    pub step: f64,
    /// GPU time of it.
    pub compute: f64,
    /// Gradient exchange in it.
    pub exchange: f64,
    /// Cores that a replica's loader gets.
    pub loader_cores: f64,
    /// Share of scheduler periods in which a replica's quota runs out.
    pub throttled: Option<f64>,
}

impl Pace {
    /// The pace of `count` replicas whose containers may use `limit` cores.
    pub fn of(training: &Training, count: u32, limit: Option<f64>) -> Self {
        let count = f64::from(count.max(1));
        let loader = &training.loader;
        let samples = training.samples_per_step;
        let compute = training.gpu_seconds_per_step;
        let exchange = compute * training.communication_fraction * (count - 1.0) / count;

        let cycle = loader.cpu_seconds_per_sample + loader.wait_seconds_per_sample;
        let busy = loader.cpu_seconds_per_sample / cycle;
        let wanted = loader.workers * busy;
        let smoothing = (cycle / cfs::PERIOD).min(1.0);
        let deviation = (wanted * (1.0 - busy) * smoothing).sqrt();
        let most = cfs::granted(wanted, deviation, limit.map(|limit| (limit - MAIN_CORES).max(0.01)));

        let load = samples * loader.cpu_seconds_per_sample / most.cores.max(1e-9);
        let read =
            training.storage.bytes_per_second.map_or(0.0, |rate| count * samples * loader.bytes_per_sample / rate);
        let step = (compute + exchange).max(load).max(read);

        // A loader that is not what the step waits for rests when its queue is full, and needs its quota less often.
        let cores = samples * loader.cpu_seconds_per_sample / step;
        let throttled = if load >= step { most.throttled } else { cfs::granted(cores, deviation, limit).throttled };
        Self { step, compute, exchange, loader_cores: cores, throttled }
    }

    /// Time of a step in which the GPU waits for data, seconds.
    pub fn data_wait(&self) -> f64 {
        (self.step - self.compute - self.exchange).max(0.0)
    }
}

impl TrainingRun {
    /// A run with the backlog that the scenario gives it.
    pub fn new(training: &Training) -> Self {
        Self { backlog: training.backlog, ..Self::default() }
    }

    /// Trains over `tick` with `arrived` new samples; `ledgers` gets what the replicas used.
    pub fn step(
        &mut self,
        training: &Training,
        arrived: f64,
        replicas: &[Replica],
        tick: Tick,
        ledgers: &mut BTreeMap<String, Ledger>,
    ) {
        let seconds = tick.length();
        self.backlog += arrived;
        let ready: Vec<&Replica> = replicas.iter().filter(|replica| replica.stage == Stage::Ready).collect();
        self.progress.retain(|uid, _| replicas.iter().any(|replica| replica.uid == *uid));
        if ready.is_empty() {
            self.pace = Pace::default();
            return;
        }
        // Synchronous: all wait for the replica with the least CPU.
        let limit = ready.iter().filter_map(|replica| replica.cpu_limit).min_by(f64::total_cmp);
        self.pace = Pace::of(training, ready.len() as u32, limit);
        let steps = seconds / self.pace.step;
        let most = ready.len() as f64 * training.samples_per_step * steps;
        let share = if most > 0.0 { self.backlog.min(most) / most } else { 0.0 };
        self.backlog -= most * share;
        self.samples += most * share;
        let used = usage(training, &self.pace, steps * share, seconds);
        for replica in ready {
            let progress = self.progress.entry(replica.uid.clone()).or_default();
            progress.samples += training.samples_per_step * steps * share;
            progress.steps += steps * share;
            let ledger = ledgers.entry(replica.uid.clone()).or_default();
            ledger.used += used;
            ledger.level.gpu_memory_mib = training.gpu_memory_mib;
            ledger.level.memory_bytes = 2.4e10;
        }
    }
}

fn usage(training: &Training, pace: &Pace, steps: f64, seconds: f64) -> Usage {
    let busy = steps * pace.step / seconds;
    let bytes = steps * training.samples_per_step * training.loader.bytes_per_sample;
    let periods = pace.throttled.map_or(0.0, |_| seconds / cfs::PERIOD);
    Usage {
        gpu_busy: steps * (pace.compute + pace.exchange),
        sm_active: steps * (pace.compute * COMPUTE.0 + pace.exchange * EXCHANGE_SM),
        tensor_active: steps * pace.compute * COMPUTE.1,
        dram_bytes: steps * pace.compute * COMPUTE.2,
        pcie_rx_bytes: bytes,
        pcie_tx_bytes: bytes / 100.0,
        cpu_seconds: (pace.loader_cores * busy + MAIN_CORES * busy) * seconds,
        cfs_periods: periods,
        cfs_throttled: periods * pace.throttled.unwrap_or(0.0) * busy,
        net_rx_bytes: bytes,
        net_tx_bytes: steps * 1e5,
    }
}
