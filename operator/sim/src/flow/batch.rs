//! One replica whose GPU takes batches from a queue of its own, as a fluid.

use super::{law::Law, lengths::Lengths};
use crate::scenario::{Batch, Service};
use crate::sim::{Usage, service::worked};

/// How one replica batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batching {
    /// Most requests in a batch.
    max: f64,
    /// Seconds that the first one waits for others.
    patience: f64,
    /// GPU seconds of any batch, and of each request in it.
    fixed: f64,
    each: f64,
    /// Seconds of a request before the GPU, and requests a second that the CPU prepares at most.
    before: f64,
    prepared: f64,
}

impl Batching {
    pub fn new(service: &Service, batch: &Batch, lengths: Lengths, cpu_limit: Option<f64>) -> Self {
        let cpu = service.cpu_seconds_per_request;
        Self {
            max: f64::from(batch.max),
            patience: if batch.max > 1 { batch.wait_seconds } else { 0.0 },
            fixed: batch.seconds_per_batch,
            each: batch.seconds_per_item + batch.seconds_per_token * lengths.both(),
            before: cpu + service.wait_seconds_per_request,
            prepared: cpu_limit.map_or(f64::INFINITY, |cores| cores.max(0.01) / cpu),
        }
    }

    /// Requests a second that are finished at most.
    pub fn most(self) -> f64 {
        (self.max / self.seconds(self.max)).min(self.prepared)
    }

    /// How it works while `rate` requests a second come in. A request waits for those that join it, or for half a batch
    /// if it finds the GPU busy.
    pub fn law(self, rate: f64) -> Law {
        let rate = rate.min(self.most());
        let idle = (-rate * self.seconds(self.size(rate))).exp();
        let company = rate * self.patience;
        let joined = self.patience * (1.0 + company / 2.0) / (1.0 + company);
        let (waits, shared) = if self.max > 1.0 {
            (joined.max((1.0 - idle) * self.fixed / 2.0), self.each)
        } else {
            (0.0, self.seconds(1.0) / 2.0)
        };
        Law { delay: self.before + self.fixed + self.each + waits, shared, most: self.most() }
    }

    /// What the GPU did for `finished` requests within `seconds`, and how many are on it on the average.
    pub fn used(self, finished: f64, seconds: f64) -> (Usage, f64) {
        if finished <= 0.0 || seconds <= 0.0 {
            return (Usage::default(), 0.0);
        }
        let size = self.size(finished / seconds);
        let busy = (finished / size * self.seconds(size)).min(seconds);
        (worked(busy, size * self.each / self.seconds(size)), size * busy / seconds)
    }

    fn seconds(self, size: f64) -> f64 {
        self.fixed + size * self.each
    }

    /// Requests in a batch at `rate`: what came in during the one before, or who found the GPU idle; and at least who
    /// joined the first one while it waited.
    fn size(self, rate: f64) -> f64 {
        let next = |size: f64| {
            let meanwhile = rate * self.seconds(size);
            (meanwhile + (-meanwhile).exp()).max(1.0 + rate * self.patience).min(self.max)
        };
        (0..8).fold(1.0, |size, _| next(size))
    }
}
