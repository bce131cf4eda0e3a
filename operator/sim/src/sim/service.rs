//! A service: replicas that pull from one queue, or that have queues of their own and make batches.

mod batcher;
mod server;
mod work;

use super::{
    Tick, cfs,
    even::Even,
    replica::{Replica, Stage, shares, stuck_to, tighter},
    source::Arrival,
    usage::{Ledger, Usage},
};
use crate::scenario::{Batch, Service};
pub use batcher::Batcher;
pub use server::Server;
use std::collections::{BTreeMap, VecDeque};
pub(crate) use work::worked;

/// Bytes of a request to the GPU, and of its answer back.
const REQUEST_BYTES: f64 = 600_000.0;
/// Cores that compile while a replica warms up.
const COMPILE_CORES: f64 = 1.0;

/// The queue and the replicas.
#[derive(Debug)]
pub struct ServicePool {
    /// Requests that no replica has taken.
    pub queue: VecDeque<Arrival>,
    /// What is inside each replica that pulls, by uid.
    pub servers: BTreeMap<String, Server>,
    /// What is inside each replica with a queue of its own, by uid.
    pub batchers: BTreeMap<String, Batcher>,
    /// Requests answered.
    pub finished: u64,
    sticky: Even,
}

impl Default for ServicePool {
    fn default() -> Self {
        let (servers, batchers) = (BTreeMap::new(), BTreeMap::new());
        Self { queue: VecDeque::new(), servers, batchers, finished: 0, sticky: Even::STICKY }
    }
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
        let batch = own_queue(service);
        let share = shares(service.cpu_pool.as_ref(), replicas);
        self.follow(replicas, tick.from + service.warm_up.seconds(), batch.is_some());
        self.queue.extend(arrivals);
        match batch {
            Some(_) => self.push(service, replicas, share),
            None => self.pull(service, replicas, share, tick.until),
        }
        for replica in replicas {
            let Some((used, left, from)) = self.run(&replica.uid, batch.as_ref(), tick.until) else { continue };
            self.finished += left;
            let ledger = ledgers.entry(replica.uid.clone()).or_default();
            ledger.used += used;
            let around = around(service, left as f64, tick.from < from, replica.cpu_limit, tick.length());
            ledger.used += share.map_or(around, |share| cfs::crowd(around, share, tick.length()));
            ledger.level.gpu_memory_mib = service.gpu_memory_mib;
            ledger.level.memory_bytes = 6e9;
        }
    }

    /// What the GPU of one replica did, how many requests left it, and from when on it works.
    fn run(&mut self, uid: &str, batch: Option<&Batch>, until: f64) -> Option<(Usage, u64, f64)> {
        let ((used, left), from) = match batch {
            Some(batch) => self.batchers.get_mut(uid).map(|one| (one.run(batch, until), one.from))?,
            None => self.servers.get_mut(uid).map(|one| (one.run(until), one.from))?,
        };
        Some((used, left, from))
    }

    /// Requests that wait or are inside a replica.
    pub fn in_system(&self) -> usize {
        let pulled: usize = self.servers.values().map(Server::inside).sum();
        self.queue.len() + pulled + self.batchers.values().map(Batcher::inside).sum::<usize>()
    }

    /// Requests that wait: in the queue, or in those of the replicas.
    pub fn waiting(&self) -> usize {
        self.queue.len() + self.batchers.values().map(Batcher::pending).sum::<usize>()
    }

    /// New replicas work from `from` on; what gone ones had inside begins again elsewhere. A replica that gets a queue of
    /// its own, or loses it, begins anew.
    fn follow(&mut self, replicas: &[Replica], from: f64, own_queue: bool) {
        let alive = |uid: &String| replicas.iter().any(|replica| replica.uid == *uid);
        let queue = &mut self.queue;
        self.servers.retain(|uid, server| {
            let stays = !own_queue && alive(uid);
            if !stays {
                server.give_back().rev().for_each(|request| queue.push_front(request));
            }
            stays
        });
        self.batchers.retain(|uid, batcher| {
            let stays = own_queue && alive(uid);
            if !stays {
                batcher.give_back().rev().for_each(|request| queue.push_front(request));
            }
            stays
        });
        for replica in replicas.iter().filter(|replica| replica.stage == Stage::Ready) {
            let uid = replica.uid.clone();
            if own_queue {
                self.batchers.entry(uid).or_insert_with(|| Batcher::new(from));
            } else {
                self.servers.entry(uid).or_insert_with(|| Server::new(from));
            }
        }
    }

    /// The replica that has had a free slot for longest takes the next request.
    fn pull(&mut self, service: &Service, replicas: &[Replica], share: Option<f64>, until: f64) {
        let ready: Vec<&Replica> = replicas.iter().filter(|replica| replica.stage == Stage::Ready).collect();
        while let Some(request) = self.queue.front().copied() {
            let next = ready
                .iter()
                .filter_map(|replica| Some((self.servers.get(&replica.uid)?.free_slot(service, request.at), *replica)))
                .min_by(|one, other| one.0.total_cmp(&other.0));
            let Some((start, replica)) = next.filter(|(start, _)| start.0 < until) else { return };
            let Some(server) = self.servers.get_mut(&replica.uid) else { return };
            server.take(service, request, start.0, tighter(replica.cpu_limit, share));
            self.queue.pop_front();
        }
    }

    /// Each request goes to the Ready replica with the fewest; those that stick, to one of theirs.
    fn push(&mut self, service: &Service, replicas: &[Replica], share: Option<f64>) {
        let own = stuck_to(service.router.as_ref(), replicas);
        while !self.queue.is_empty() {
            let sticks = service.router.as_ref().is_some_and(|router| self.sticky.hit(router.pinned));
            let load = |one: &Batcher| (one.inside(), one.inferences);
            let inside = |replica: &&Replica| self.batchers.get(&replica.uid).map_or((0, 0), load);
            let open = replicas.iter().filter(|replica| replica.stage == Stage::Ready);
            let open = open.filter(|replica| !sticks || own.contains(&replica.uid.as_str()));
            let Some(replica) = open.min_by_key(inside) else { return };
            let Some(batcher) = self.batchers.get_mut(&replica.uid) else { return };
            let Some(request) = self.queue.pop_front() else { return };
            batcher.take(service, request, tighter(replica.cpu_limit, share));
        }
    }
}

/// How replicas with queues of their own work, if they have such: alone, a request is a batch.
pub(crate) fn own_queue(service: &Service) -> Option<Batch> {
    let alone = service.router.is_some().then(|| Batch::alone(service.gpu_seconds_per_request));
    service.batch.clone().or(alone)
}

/// What `finished` requests need beside the GPU.
pub(crate) fn around(service: &Service, finished: f64, warming: bool, limit: Option<f64>, seconds: f64) -> Usage {
    let compile = if warming { COMPILE_CORES } else { 0.0 };
    let wanted = finished * service.cpu_seconds_per_request / seconds + 0.1 + compile;
    let mut used = cfs::charge(wanted, 0.2 * wanted, limit, seconds);
    used += Usage {
        pcie_rx_bytes: finished * REQUEST_BYTES,
        pcie_tx_bytes: finished * REQUEST_BYTES / 20.0,
        net_rx_bytes: finished * REQUEST_BYTES,
        net_tx_bytes: finished * REQUEST_BYTES / 20.0,
        ..Usage::default()
    };
    used
}
