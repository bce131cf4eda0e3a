//! A replica with a queue of its own, from which its GPU takes batches.

use super::{super::source::Arrival, work::Work};
use crate::{
    scenario::{Batch, Service},
    sim::{
        histogram::{Histogram, TOKENS},
        usage::Usage,
    },
};
use std::collections::VecDeque;

/// One replica's queue and GPU.
#[derive(Debug)]
pub struct Batcher {
    /// Requests that wait: when the CPU is done with each, in order.
    waiting: VecDeque<(f64, Arrival)>,
    /// Requests on the GPU: when each leaves.
    leaves: VecDeque<(f64, Arrival)>,
    /// When the replica can work at all.
    pub(super) from: f64,
    gpu_free: f64,
    cpu_free: f64,
    work: Work,
    /// Requests answered.
    pub finished: u64,
    /// Requests that were put on the GPU.
    pub inferences: u64,
    /// Batches that were put on the GPU.
    pub executions: u64,
    /// Seconds that requests waited for the GPU, over all of them.
    pub queue_seconds: f64,
    /// Seconds on the GPU, over all requests.
    pub compute_seconds: f64,
    /// Tokens of each request.
    pub lengths: Histogram,
}

impl Batcher {
    /// An idle replica that works from `from` on.
    pub(super) fn new(from: f64) -> Self {
        Self {
            waiting: VecDeque::new(),
            leaves: VecDeque::new(),
            from,
            gpu_free: from,
            cpu_free: from,
            work: Work::default(),
            finished: 0,
            inferences: 0,
            executions: 0,
            queue_seconds: 0.0,
            compute_seconds: 0.0,
            lengths: Histogram::new(TOKENS),
        }
    }

    /// Requests that are not on the GPU yet.
    pub fn pending(&self) -> usize {
        self.waiting.len()
    }

    /// Requests inside.
    pub fn inside(&self) -> usize {
        self.waiting.len() + self.leaves.len()
    }

    /// All requests inside, given back in order.
    pub(super) fn give_back(&mut self) -> impl DoubleEndedIterator<Item = Arrival> + use<> {
        let all: Vec<_> = self.leaves.drain(..).chain(self.waiting.drain(..)).map(|(_, request)| request).collect();
        all.into_iter()
    }

    /// Takes a request: the CPU prepares as many at a time as it has cores.
    pub(super) fn take(&mut self, service: &Service, request: Arrival, cpu_limit: Option<f64>) {
        let cpu = service.cpu_seconds_per_request;
        let next = self.cpu_free + cpu_limit.map_or(0.0, |cores| cpu / cores.max(0.01));
        self.cpu_free = next.max(request.at.max(self.from) + cpu);
        self.waiting.push_back((self.cpu_free + service.wait_seconds_per_request, request));
        self.lengths.observe(tokens(&request));
    }

    /// Runs batches that start before `until`; returns what the GPU did and how many requests left.
    pub(super) fn run(&mut self, batch: &Batch, until: f64) -> (Usage, u64) {
        while let Some(start) = self.start(batch).filter(|start| *start < until) {
            self.execute(batch, start);
        }
        let mut left = 0;
        while self.leaves.pop_front_if(|(at, _)| *at <= until).is_some() {
            left += 1;
        }
        self.finished += left;
        (self.work.charge(until), left)
    }

    /// When the next batch starts: full, or its oldest request has waited long enough, and the GPU is free.
    fn start(&self, batch: &Batch) -> Option<f64> {
        let oldest = self.waiting.front()?.0 + batch.wait_seconds;
        let full = self.waiting.get(batch.max as usize - 1).map_or(oldest, |(ready, _)| ready.min(oldest));
        Some(full.max(self.gpu_free))
    }

    fn execute(&mut self, batch: &Batch, start: f64) {
        let ready = self.waiting.iter().take(batch.max as usize).take_while(|(ready, _)| *ready <= start).count();
        let items: Vec<(f64, Arrival)> = self.waiting.drain(..ready).collect();
        let on_items = seconds(batch, &items);
        self.gpu_free = start + batch.seconds_per_batch + on_items;
        self.work.add(start, self.gpu_free, on_items / (self.gpu_free - start));
        self.executions += 1;
        self.inferences += items.len() as u64;
        self.queue_seconds += items.iter().map(|(ready, _)| start - ready).sum::<f64>();
        self.compute_seconds += (self.gpu_free - start) * items.len() as f64;
        self.leaves.extend(items.into_iter().map(|(_, request)| (self.gpu_free, request)));
    }
}

/// GPU time of the requests of a batch.
fn seconds(batch: &Batch, items: &[(f64, Arrival)]) -> f64 {
    let lengths = items.iter().map(|(_, request)| tokens(request));
    let tokens = if batch.static_padding { items.len() as f64 * lengths.fold(0.0, f64::max) } else { lengths.sum() };
    items.len() as f64 * batch.seconds_per_item + tokens * batch.seconds_per_token
}

fn tokens(request: &Arrival) -> f64 {
    f64::from(request.prompt + request.output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_makes_each_request_as_long_as_the_longest_of_its_batch() {
        let one = |prompt| (0.0, Arrival { at: 0.0, prompt, output: 50 });
        let batch = Batch { seconds_per_token: 1e-5, ..Batch::alone(0.001) };
        let padded = Batch { static_padding: true, ..batch.clone() };
        let items = [one(50), one(850)];

        // Twice 1 ms, and 1 000 tokens at 10 µs; padded, 1 800 tokens.
        assert!((seconds(&batch, &items) - 0.012).abs() < 1e-12);
        assert!((seconds(&padded, &items) - 0.020).abs() < 1e-12);
    }
}
