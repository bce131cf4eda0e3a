//! A service as a fluid: replicas that pull from one queue, or that have queues of their own and make batches.

use super::{
    Work,
    batch::Batching,
    law::Law,
    lengths::Lengths,
    seats::{Seat, Seats},
    spread::spread,
};
use crate::scenario::{Batch, Service};
use crate::sim::service::{around, own_queue, worked};
use crate::sim::{Ledger, Replica, Stage, Tick, Usage};
use std::collections::BTreeMap;

/// The queue and the replicas.
#[derive(Debug, Default)]
pub(super) struct ServiceFlow {
    /// Requests that no replica has taken.
    queue: f64,
    seats: Seats<Inside>,
    lengths: Lengths,
    /// Whether replicas have queues of their own.
    own_queues: bool,
    /// Seconds to its answer for a request that comes in now.
    latency: Option<f64>,
}

/// Requests inside a replica, and those of them that do not wait there.
#[derive(Clone, Copy, Debug, Default)]
struct Inside {
    all: f64,
    served: f64,
}

/// What one replica did.
struct Did {
    finished: f64,
    gpu: Usage,
}

impl ServiceFlow {
    /// Plays `tick`; returns how many requests were finished.
    pub fn step(
        &mut self,
        service: &Service,
        arrived: Work,
        replicas: &[Replica],
        tick: Tick,
        ledgers: &mut BTreeMap<String, Ledger>,
    ) -> f64 {
        let batch = own_queue(service);
        self.follow(replicas, tick.from + service.warm_up.seconds(), batch.is_some());
        let present = self.queue + self.seats.iter().map(|seat| seat.inside.all).sum::<f64>();
        self.lengths = self.lengths.mixed(present, arrived.into(), arrived.amount);
        self.queue += arrived.amount;
        let did = match batch {
            Some(batch) => self.push(service, &batch, replicas, tick),
            None => self.pull(service, replicas, tick),
        };
        let mut finished = 0.0;
        for ((seat, replica), did) in self.seats.iter().zip(replicas).zip(did) {
            let Some(from) = seat.works_from else { continue };
            finished += did.finished;
            let ledger = ledgers.entry(replica.uid.clone()).or_default();
            ledger.used += did.gpu;
            ledger.used += around(service, did.finished, tick.from < from, replica.cpu_limit, tick.length());
            ledger.level.gpu_memory_mib = service.gpu_memory_mib;
            ledger.level.memory_bytes = 6e9;
        }
        finished
    }

    pub fn queue(&self) -> f64 {
        self.queue + self.seats.iter().map(|seat| seat.inside.all - seat.inside.served).sum::<f64>()
    }

    pub fn running(&self) -> f64 {
        self.seats.iter().map(|seat| seat.inside.served).sum()
    }

    pub fn latency(&self) -> Option<f64> {
        self.latency
    }

    /// What was inside a replica that is gone waits again; one that drains finishes its own.
    fn follow(&mut self, replicas: &[Replica], from: f64, own_queues: bool) {
        self.queue += self.seats.follow(replicas, from).iter().map(|inside| inside.all).sum::<f64>();
        if self.own_queues != own_queues {
            self.own_queues = own_queues;
            self.queue += self.seats.iter_mut().map(|seat| std::mem::take(&mut seat.inside).all).sum::<f64>();
        }
    }

    /// Replicas that work pull what they can from the one queue; those that drain finish their own.
    fn pull(&mut self, service: &Service, replicas: &[Replica], tick: Tick) -> Vec<Did> {
        let seats = self.seats.iter().zip(replicas);
        let can =
            seats.map(|(seat, replica)| pulled(service, replica.cpu_limit) * seat.works(tick).unwrap_or_default());
        let can: Vec<f64> = can.collect();
        let pulls = |seat: &Seat<Inside>, can: f64| seat.stage == Stage::Ready && can > 0.0;
        let pulling = self.seats.iter().zip(&can).filter(|(seat, can)| pulls(seat, **can));
        let (count, most, inside) = pulling.fold((0.0, 0.0, 0.0), |(count, most, inside), (seat, can)| {
            (count + 1.0, most + can, inside + seat.inside.all)
        });
        self.latency = None;
        let (mut inside, mut share) = (inside, 0.0);
        if count > 0.0 {
            let law = pull_law(service, most / count / tick.length());
            let present = self.queue + inside;
            let left = law.left(present / count, tick.length());
            self.latency = Some(law.time(left));
            share = (present - left * count) / most;
            inside = left.min(f64::from(service.concurrency));
            self.queue = (left - inside) * count;
        }
        let one = |(seat, can): (&mut Seat<Inside>, f64)| {
            let pulls = pulls(seat, can);
            let finished = if pulls { share * can } else { seat.inside.all.min(can) };
            let all = if pulls { inside } else { seat.inside.all - finished };
            seat.inside = Inside { all, served: all };
            let busy = (finished * service.gpu_seconds_per_request).min(tick.length());
            Did { finished, gpu: worked(busy, 1.0) }
        };
        self.seats.iter_mut().zip(can).map(one).collect()
    }

    /// Requests are sent to replicas, whose GPUs take batches.
    fn push(&mut self, service: &Service, batch: &Batch, replicas: &[Replica], tick: Tick) -> Vec<Did> {
        let loads: Vec<f64> = self.seats.ready().map(|inside| inside.all).collect();
        let all = if loads.is_empty() { 0.0 } else { std::mem::take(&mut self.queue) };
        let mut new = spread(all, &loads, service.router.as_ref()).into_iter();
        self.latency = None;
        let mut did = Vec::with_capacity(replicas.len());
        for (seat, replica) in self.seats.iter_mut().zip(replicas) {
            let ready = seat.stage == Stage::Ready;
            let amount = seat.inside.all + if ready { new.next().unwrap_or_default() } else { 0.0 };
            let works = seat.works(tick).unwrap_or_default();
            let batching = Batching::new(service, batch, self.lengths, replica.cpu_limit);
            let law = batching.law(amount / tick.length());
            let left = law.left(amount, works);
            let (gpu, on_gpu) = batching.used(amount - left, works);
            seat.inside = Inside { all: left, served: on_gpu.min(left) };
            if ready {
                let time = law.time(left);
                self.latency = Some(self.latency.map_or(time, |best| best.min(time)));
            }
            did.push(Did { finished: amount - left, gpu });
        }
        did
    }
}

/// Requests of equal length wait for half of what random ones would.
fn pull_law(service: &Service, most: f64) -> Law {
    let gpu = service.gpu_seconds_per_request;
    let before = service.cpu_seconds_per_request + service.wait_seconds_per_request;
    Law { delay: before + gpu, shared: gpu / 2.0, most }
}

/// Requests a second that one replica finishes at most.
pub(super) fn capacity(service: &Service, lengths: Lengths, cpu_limit: Option<f64>) -> f64 {
    match own_queue(service) {
        Some(batch) => Batching::new(service, &batch, lengths, cpu_limit).most(),
        None => pulled(service, cpu_limit),
    }
}

/// The same for one that pulls: the GPU takes one after the other, and no more than `concurrency` are on their way
/// through CPU and GPU.
fn pulled(service: &Service, cpu_limit: Option<f64>) -> f64 {
    let slots = f64::from(service.concurrency);
    let crowded = cpu_limit.map_or(1.0, |limit| ((slots - 1.0) / limit.max(0.01)).max(1.0));
    let before = service.cpu_seconds_per_request * crowded + service.wait_seconds_per_request;
    let through = before + service.gpu_seconds_per_request;
    (slots / through).min(1.0 / service.gpu_seconds_per_request)
}
