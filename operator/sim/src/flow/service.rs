//! One queue and the replicas that pull from it, as a fluid.

use super::{law::Law, seats::Seats};
use crate::scenario::Service;
use crate::sim::{Ledger, Replica, Stage, service::usage};
use std::collections::BTreeMap;

/// The queue and the replicas.
#[derive(Debug, Default)]
pub(super) struct ServiceFlow {
    /// Requests that wait or are inside Ready replicas.
    present: f64,
    /// Requests inside each replica.
    seats: Seats<f64>,
    /// How a Ready replica worked in the last step; `None` if there was none.
    law: Option<Law>,
    ready: f64,
}

impl ServiceFlow {
    /// Plays `seconds`; returns how many requests were finished.
    pub fn step(
        &mut self,
        service: &Service,
        arrived: f64,
        replicas: &[Replica],
        seconds: f64,
        ledgers: &mut BTreeMap<String, Ledger>,
    ) -> f64 {
        self.follow(replicas);
        self.present += arrived;
        let finished = self.serve(service, replicas, seconds);
        let inside = (self.present / self.ready).min(f64::from(service.concurrency));
        let mut all = 0.0;
        for (seat, replica) in self.seats.iter_mut().zip(replicas).filter(|(seat, _)| seat.opened) {
            let can = capacity(service, replica.cpu_limit);
            let done = if seat.stage == Stage::Ready {
                seat.inside = inside;
                finished * can
            } else {
                let done = seat.inside.min(can * seconds);
                seat.inside -= done;
                done
            };
            all += done;
            let ledger = ledgers.entry(replica.uid.clone()).or_default();
            let busy = (done * service.gpu_seconds_per_request).min(seconds);
            ledger.used += usage(service, busy, done, replica.cpu_limit, seconds);
            ledger.level.gpu_memory_mib = service.gpu_memory_mib;
            ledger.level.memory_bytes = 6e9;
        }
        all
    }

    pub fn queue(&self) -> f64 {
        (self.present - self.seats.ready().sum::<f64>()).max(0.0)
    }

    pub fn running(&self) -> f64 {
        self.seats.iter().map(|seat| seat.inside).sum()
    }

    pub fn latency(&self) -> Option<f64> {
        Some(self.law?.time(self.present / self.ready))
    }

    /// What was inside a replica that is gone waits again; one that drains finishes its own.
    fn follow(&mut self, replicas: &[Replica]) {
        let before: f64 = self.seats.ready().sum();
        let waiting = (self.present - before).max(0.0);
        let gone: f64 = self.seats.follow(replicas).into_iter().sum();
        self.present = waiting + gone + self.seats.ready().sum::<f64>();
    }

    /// The Ready replicas work; returns how much was finished for each unit of their capacity.
    fn serve(&mut self, service: &Service, replicas: &[Replica], seconds: f64) -> f64 {
        let ready = replicas.iter().filter(|replica| replica.stage == Stage::Ready);
        let (count, together) = ready.fold((0.0, 0.0), |(count, together), replica| {
            (count + 1.0, together + capacity(service, replica.cpu_limit))
        });
        self.ready = count;
        if count == 0.0 {
            self.law = None;
            return 0.0;
        }
        let gpu = service.gpu_seconds_per_request;
        // Requests of equal length wait for half of what random ones would.
        let law = Law { delay: service.cpu_seconds_per_request + gpu, shared: gpu / 2.0, most: together / count };
        let left = law.left(self.present / count, seconds) * count;
        let finished = (self.present - left) / together;
        self.present = left;
        self.law = Some(law);
        finished
    }
}

/// Requests a second that one replica finishes at most: the GPU takes one after the other, and no more than
/// `concurrency` are on their way through CPU and GPU.
pub(super) fn capacity(service: &Service, cpu_limit: Option<f64>) -> f64 {
    let slots = f64::from(service.concurrency);
    let crowded = cpu_limit.map_or(1.0, |limit| ((slots - 1.0) / limit.max(0.01)).max(1.0));
    let through = service.cpu_seconds_per_request * crowded + service.gpu_seconds_per_request;
    (slots / through).min(1.0 / service.gpu_seconds_per_request)
}
