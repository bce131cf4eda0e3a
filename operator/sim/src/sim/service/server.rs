//! A replica that pulls a few requests at a time: a CPU stage in parallel, and the GPU one by one.

use super::{super::source::Arrival, work::Work};
use crate::{scenario::Service, sim::usage::Usage};
use std::collections::VecDeque;

/// One replica's inside.
#[derive(Debug)]
pub struct Server {
    /// Requests inside: when each leaves, in order.
    leaves: VecDeque<(f64, Arrival)>,
    /// When the replica can work at all.
    pub(super) from: f64,
    /// When the GPU is free again.
    gpu_free: f64,
    /// When the replica last had a free slot.
    slot_free: f64,
    work: Work,
    /// Requests answered.
    pub finished: u64,
}

/// When a slot is free, then how long the GPU is taken: the order in which replicas pull.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn(pub f64, pub f64);

impl Turn {
    pub(super) fn total_cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.total_cmp(&other.1))
    }
}

impl Server {
    /// An idle replica that works from `from` on.
    pub(super) fn new(from: f64) -> Self {
        Self { leaves: VecDeque::new(), from, gpu_free: from, slot_free: from, work: Work::default(), finished: 0 }
    }

    /// Requests inside.
    pub fn inside(&self) -> usize {
        self.leaves.len()
    }

    /// All requests inside, given back in order.
    pub(super) fn give_back(&mut self) -> impl DoubleEndedIterator<Item = Arrival> + use<> {
        std::mem::take(&mut self.leaves).into_iter().map(|(_, request)| request)
    }

    pub(super) fn free_slot(&self, service: &Service, arrived: f64) -> Turn {
        let slots = service.concurrency as usize;
        let free = self.leaves.len().checked_sub(slots).and_then(|index| self.leaves.get(index));
        Turn(free.map_or(self.slot_free, |(at, _)| *at).max(arrived), self.gpu_free)
    }

    pub(super) fn take(&mut self, service: &Service, request: Arrival, start: f64, cpu_limit: Option<f64>) {
        // Who left before the start is among them until the step is over, and uses no core.
        let inside = self.leaves.len() - self.leaves.partition_point(|(at, _)| *at <= start);
        let crowded = cpu_limit.map_or(1.0, |limit| (inside as f64 / limit.max(0.01)).max(1.0));
        let ready = start + service.cpu_seconds_per_request * crowded + service.wait_seconds_per_request;
        let begin = ready.max(self.gpu_free);
        self.gpu_free = begin + service.gpu_seconds_per_request;
        self.leaves.push_back((self.gpu_free, request));
        self.work.add(begin, self.gpu_free, 1.0);
    }

    /// What the GPU did up to `until`, and how many requests left.
    pub(super) fn run(&mut self, until: f64) -> (Usage, u64) {
        let mut left = 0;
        while self.leaves.pop_front_if(|(at, _)| *at <= until).is_some() {
            left += 1;
        }
        self.finished += left;
        (self.work.charge(until), left)
    }
}
