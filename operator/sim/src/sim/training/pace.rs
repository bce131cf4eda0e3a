//! How fast a synchronous group steps, and why not faster.

use super::{
    exchange::Ring,
    loader::{Feed, Room},
};
use crate::scenario::{Precision, Training};

/// Cores of the training process itself beside its loader workers.
pub(super) const MAIN_CORES: f64 = 0.15;
/// How much longer kernels take on the FP32 pipe than on the tensor pipe in BF16: mixed precision brings 1.5 to 3 times.
const FP32_SLOWDOWN: f64 = 2.2;
/// A forward pass takes about a third of a step, and its samples a third of the CPU without augmentation.
const FORWARD: f64 = 1.0 / 3.0;

/// How fast steps are, and why not faster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Length of a step, seconds; 0 while nothing runs.
    pub step: f64,
    /// Samples of a step on one replica.
    pub samples: f64,
    /// Time of kernels in it at the full clock, seconds.
    pub compute: f64,
    /// Time in which the CPU starts them, seconds.
    pub launch: f64,
    /// Time in which kernels wait for copies between host and GPU, or for the allocator of GPU memory, seconds.
    pub copy: f64,
    /// Share of the card that kernels fill, as far as the samples computed at once decide it.
    pub fill: f64,
    /// Samples computed at once.
    pub at_once: f64,
    /// Time until the slowest replica has computed, seconds.
    pub front: f64,
    /// Gradient exchange in it, seconds.
    pub exchange: f64,
    /// Cores that a replica's loader gets.
    pub loader_cores: f64,
    /// Share of scheduler periods in which a replica's quota runs out.
    pub throttled: Option<f64>,
    /// Share of time in which a task of a replica could run and had no CPU.
    pub cpu_waiting: f64,
    /// Share of time in which a task of a replica waited for storage.
    pub io_waiting: f64,
    pub(super) ring: Ring,
}

impl Pace {
    /// The pace of `count` replicas whose containers may use `limit` cores.
    pub fn of(training: &Training, count: u32, limit: Option<f64>) -> Self {
        let count = f64::from(count.max(1));
        let samples = training.global_batch.map_or(training.samples_per_step, |batch| batch / count);
        let slower = if training.precision == Precision::Fp32 { FP32_SLOWDOWN } else { 1.0 };
        let at_once = training.memory.as_ref().and_then(|memory| memory.at_once(samples, count)).unwrap_or(samples);
        let fill = training.memory.as_ref().map_or(1.0, |memory| (at_once / memory.full_samples).min(1.0));
        // Kernels that fill half of the card take as long as those that fill it.
        let compute = training.gpu_seconds_per_step * slower * samples / training.samples_per_step / fill;
        let launch = training.launch.as_ref().map_or(0.0, |launch| launch.kernels_per_step * launch.seconds_per_kernel);
        let slowest = training.slow.as_ref().filter(|slow| slow.replicas > 0).map_or(1.0, |slow| slow.clock);
        let copy = training.transfer.as_ref().map_or(0.0, |copy| copy.bytes_per_step / copy.bytes_per_second);
        let copy = copy + training.memory.as_ref().map_or(0.0, |memory| memory.stall_seconds * samples / at_once);
        let front = (compute / slowest).max(launch) + copy;
        let ring = Ring::of(training, count, compute);
        let exchange = ring.seconds;
        let gpu = Self { samples, compute, launch, copy, fill, at_once, front, exchange, ring, ..Self::default() };
        gpu.fed(training, count, limit)
    }

    /// The pace of a validation pass: forward only, no exchange, and samples that need little CPU.
    pub(super) fn forward(training: &Training, count: u32, limit: Option<f64>) -> Self {
        let mut light = training.clone();
        light.gpu_seconds_per_step *= FORWARD;
        light.loader.cpu_seconds_per_sample *= FORWARD;
        light.communication_fraction = 0.0;
        light.exchange = None;
        // Nothing is kept for a way back.
        light.memory = None;
        light.launch.iter_mut().for_each(|launch| launch.kernels_per_step *= FORWARD);
        Self::of(&light, count, limit)
    }

    /// With what the loaders need on top of the GPUs' part.
    fn fed(self, training: &Training, count: f64, limit: Option<f64>) -> Self {
        let gpu = self.front + self.exchange;
        let main = MAIN_CORES + self.launch / gpu;
        let pool = training.cpu_pool.as_ref().map(|pool| (pool.cores - main * count).max(0.01 * count));
        let tight = Room { limit: limit.map(|limit| (limit - main).max(0.01)), pool, count };
        let feed = Feed::new(training, tight);
        let most = feed.most();
        let (load, read) = (feed.prepare(self.samples, most.cores), feed.read(self.samples));
        let step = gpu.max(load).max(read);

        // A loader that is not what the step waits for rests when its queue is full, and needs its quota less often.
        let cores = self.samples * training.loader.cpu_seconds_per_sample / step;
        let supply = if load >= step { most } else { Feed::new(training, Room { limit, ..tight }).supply(cores) };
        let io_waiting = feed.io_waiting(self.samples / step, cores, read >= step);
        let (throttled, cpu_waiting) = (supply.throttled, supply.waiting);
        Self { step, loader_cores: cores, throttled, cpu_waiting, io_waiting, ..self }
    }

    /// Time of a step in which the GPU waits for data, seconds.
    pub fn data_wait(&self) -> f64 {
        (self.step - self.front - self.exchange).max(0.0)
    }
}
