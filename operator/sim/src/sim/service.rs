//! One queue, replicas that each pull a few requests, a CPU stage in parallel and the GPU one by one.

use super::{
    Tick, cfs,
    replica::{Replica, Stage},
    source::Arrival,
    usage::{Ledger, Usage},
};
use crate::scenario::Service;
use std::collections::{BTreeMap, VecDeque};

/// SMs at work, tensor cycles in use and bytes a second of GPU memory while a request is on the GPU.
const COMPUTE: (f64, f64, f64) = (0.70, 0.25, 1.0e12);
/// Bytes of a request to the GPU, and of its answer back.
const REQUEST_BYTES: f64 = 600_000.0;

/// The queue and the replicas that pull from it.
#[derive(Debug, Default)]
pub struct ServicePool {
    /// Requests that no replica has taken.
    pub queue: VecDeque<Arrival>,
    /// What is inside each replica, by uid.
    pub servers: BTreeMap<String, Server>,
    /// Requests answered.
    pub finished: u64,
}

/// One replica's inside.
#[derive(Debug)]
pub struct Server {
    /// Requests inside: when each leaves, in order.
    leaves: VecDeque<(f64, Arrival)>,
    /// When the GPU is free again.
    gpu_free: f64,
    /// When the replica last had a free slot.
    slot_free: f64,
    /// Stretches of GPU work that reach beyond what was charged.
    work: VecDeque<(f64, f64)>,
    /// Requests answered.
    pub finished: u64,
}

impl ServicePool {
    /// Runs over `tick`; `ledgers` gets what the replicas used.
    pub fn step(
        &mut self,
        service: &Service,
        arrivals: Vec<Arrival>,
        replicas: &[Replica],
        tick: Tick,
        ledgers: &mut BTreeMap<String, Ledger>,
    ) {
        self.follow(replicas, tick.from);
        self.queue.extend(arrivals);
        self.serve(service, replicas, tick.until);
        for replica in replicas {
            let Some(server) = self.servers.get_mut(&replica.uid) else { continue };
            let finished = server.leave(tick.until);
            self.finished += finished;
            let ledger = ledgers.entry(replica.uid.clone()).or_default();
            ledger.used += usage(service, server.charge(tick.until), finished as f64, replica.cpu_limit, tick.length());
            ledger.level.gpu_memory_mib = service.gpu_memory_mib;
            ledger.level.memory_bytes = 6e9;
        }
    }

    /// Requests that wait or are inside a replica.
    pub fn in_system(&self) -> usize {
        self.queue.len() + self.servers.values().map(Server::inside).sum::<usize>()
    }

    fn follow(&mut self, replicas: &[Replica], now: f64) {
        let queue = &mut self.queue;
        self.servers.retain(|uid, server| {
            let alive = replicas.iter().any(|replica| replica.uid == *uid);
            if !alive {
                server.leaves.drain(..).rev().for_each(|(_, request)| queue.push_front(request));
            }
            alive
        });
        for replica in replicas.iter().filter(|replica| replica.stage == Stage::Ready) {
            self.servers.entry(replica.uid.clone()).or_insert_with(|| Server::new(now));
        }
    }

    /// The replica that has had a free slot for longest takes the next request.
    fn serve(&mut self, service: &Service, replicas: &[Replica], until: f64) {
        let ready: Vec<&Replica> = replicas.iter().filter(|replica| replica.stage == Stage::Ready).collect();
        while let Some(request) = self.queue.front().copied() {
            let next = ready
                .iter()
                .filter_map(|replica| Some((self.servers.get(&replica.uid)?.free_slot(service, request.at), *replica)))
                .min_by(|one, other| one.0.total_cmp(&other.0));
            let Some((start, replica)) = next.filter(|(start, _)| start.0 < until) else { return };
            let Some(server) = self.servers.get_mut(&replica.uid) else { return };
            server.take(service, request, start.0, replica.cpu_limit);
            self.queue.pop_front();
        }
    }
}

/// When a slot is free, then how long the GPU is taken: the order in which replicas pull.
#[derive(Clone, Copy, Debug)]
struct Turn(f64, f64);

impl Turn {
    fn total_cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.total_cmp(&other.1))
    }
}

impl Server {
    fn new(now: f64) -> Self {
        Self { leaves: VecDeque::new(), gpu_free: now, slot_free: now, work: VecDeque::new(), finished: 0 }
    }

    /// Requests inside.
    pub fn inside(&self) -> usize {
        self.leaves.len()
    }

    fn free_slot(&self, service: &Service, arrived: f64) -> Turn {
        let slots = service.concurrency as usize;
        let free = self.leaves.len().checked_sub(slots).and_then(|index| self.leaves.get(index));
        Turn(free.map_or(self.slot_free, |(at, _)| *at).max(arrived), self.gpu_free)
    }

    fn take(&mut self, service: &Service, request: Arrival, start: f64, cpu_limit: Option<f64>) {
        let crowded = cpu_limit.map_or(1.0, |limit| (self.leaves.len() as f64 / limit.max(0.01)).max(1.0));
        let ready = start + service.cpu_seconds_per_request * crowded;
        let begin = ready.max(self.gpu_free);
        self.gpu_free = begin + service.gpu_seconds_per_request;
        self.leaves.push_back((self.gpu_free, request));
        self.work.push_back((begin, self.gpu_free));
    }

    fn leave(&mut self, until: f64) -> u64 {
        let mut left = 0;
        while self.leaves.pop_front_if(|(at, _)| *at <= until).is_some() {
            left += 1;
        }
        self.finished += left;
        left
    }

    /// GPU seconds of work up to `until` that were not charged yet.
    fn charge(&mut self, until: f64) -> f64 {
        let mut busy = 0.0;
        while let Some((begin, end)) = self.work.front_mut()
            && *begin < until
        {
            busy += end.min(until) - *begin;
            if *end > until {
                *begin = until;
                break;
            }
            self.work.pop_front();
        }
        busy
    }
}

pub(crate) fn usage(service: &Service, busy: f64, finished: f64, limit: Option<f64>, seconds: f64) -> Usage {
    let wanted = finished * service.cpu_seconds_per_request / seconds + 0.1;
    let granted = cfs::granted(wanted, 0.2 * wanted, limit);
    let periods = granted.throttled.map_or(0.0, |_| seconds / cfs::PERIOD);
    Usage {
        gpu_busy: busy,
        sm_active: busy * COMPUTE.0,
        tensor_active: busy * COMPUTE.1,
        dram_bytes: busy * COMPUTE.2,
        pcie_rx_bytes: finished * REQUEST_BYTES,
        pcie_tx_bytes: finished * REQUEST_BYTES / 20.0,
        cpu_seconds: granted.cores * seconds,
        cfs_periods: periods,
        cfs_throttled: periods * granted.throttled.unwrap_or(0.0),
        net_rx_bytes: finished * REQUEST_BYTES,
        net_tx_bytes: finished * REQUEST_BYTES / 20.0,
    }
}
