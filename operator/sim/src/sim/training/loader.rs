//! What the loaders of a group achieve under their quota, on shared cores and against the storage.

use crate::{scenario::Training, sim::cfs};

/// Cores that a loader may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Under the container's limit, beside the training process.
    pub limit: Option<f64>,
    /// Of the cores that the replicas share, for all loaders together.
    pub pool: Option<f64>,
    /// Replicas.
    pub count: f64,
}

/// What a loader gets of the CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Supply {
    /// Cores.
    pub cores: f64,
    /// Share of scheduler periods in which the quota ran out; `None` without one.
    pub throttled: Option<f64>,
    /// Share of time in which a worker could run and had no CPU.
    pub waiting: f64,
}

/// The loader of one replica.
pub(super) struct Feed<'a> {
    training: &'a Training,
    room: Room,
    /// Standard deviation of the cores that its workers want over one scheduler period.
    deviation: f64,
}

impl<'a> Feed<'a> {
    pub(super) fn new(training: &'a Training, room: Room) -> Self {
        let loader = &training.loader;
        let busy = loader.cpu_seconds_per_sample / cycle(training);
        let smoothing = (cycle(training) / cfs::PERIOD).min(1.0);
        let deviation = (loader.workers * busy * (1.0 - busy) * smoothing).sqrt();
        Self { training, room, deviation }
    }

    /// The most that workers get which never rest.
    pub(super) fn most(&self) -> Supply {
        let loader = &self.training.loader;
        self.supply(loader.workers * loader.cpu_seconds_per_sample / cycle(self.training))
    }

    /// What workers get that want `wanted` cores: under the quota first, then of the shared cores.
    pub(super) fn supply(&self, wanted: f64) -> Supply {
        let quota = cfs::granted(wanted, self.deviation, self.room.limit);
        let Some(pool) = self.room.pool else {
            return Supply { cores: quota.cores, throttled: quota.throttled, waiting: quota.waiting(wanted) };
        };
        let count = self.room.count;
        let together = quota.cores * count;
        let shared = cfs::granted(together, self.deviation * count.sqrt(), Some(pool));
        let cores = shared.cores / count;
        // Each worker gets its turn by itself, so one of many waits nearly always.
        let none_waits = (1.0 - shared.waiting(together)).powf(wanted.max(1.0));
        let used = cfs::granted(cores, self.deviation, self.room.limit);
        let waiting = 1.0 - (1.0 - quota.waiting(wanted)) * none_waits;
        Supply { cores, throttled: used.throttled, waiting }
    }

    /// Time to prepare a step's `samples` on `cores`, seconds.
    pub(super) fn prepare(&self, samples: f64, cores: f64) -> f64 {
        samples * self.training.loader.cpu_seconds_per_sample / cores.max(1e-9)
    }

    /// Time in which the storage delivers a step of all replicas, seconds.
    pub(super) fn read(&self, samples: f64) -> f64 {
        let bytes = self.room.count * samples * self.training.loader.bytes_per_sample;
        self.training.storage.bytes_per_second.map_or(0.0, |rate| bytes / rate)
    }

    /// Share of time in which a worker waits for storage, at `rate` samples a second on `cores`; `bound` when the
    /// storage is what a step waits for, so that all workers queue at it.
    pub(super) fn io_waiting(&self, rate: f64, cores: f64, bound: bool) -> f64 {
        let (loader, storage) = (&self.training.loader, &self.training.storage);
        if storage.remote {
            return 0.0;
        }
        let idle = (loader.workers - cores).max(0.0);
        let transfer = storage.bytes_per_second.map_or(0.0, |most| loader.bytes_per_sample / most);
        let blocked = if bound { idle } else { (rate * (loader.wait_seconds_per_sample + transfer)).min(idle) };
        1.0 - (1.0 - blocked / loader.workers).powf(loader.workers)
    }
}

/// Time of a worker for one sample, seconds.
fn cycle(training: &Training) -> f64 {
    training.loader.cpu_seconds_per_sample + training.loader.wait_seconds_per_sample
}
