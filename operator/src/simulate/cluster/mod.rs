//! A virtual cluster: nodes that exist or come when asked for, and the pods of each target on their way to Ready.

mod node;
mod pod;
mod set;

use super::sampler::SampledPod;
use super::scenario::Scenario;
use jiff::Timestamp;
use node::NodePool;
pub use set::Set;
use std::collections::BTreeMap;
use wellfed_engine::money::Money;
use wellfed_engine::units::{Gpus, NodeName, PoolName};
use wellfed_engine::world::{Node, Pool};
use wellfed_sim::sim::Replica;
use wellfed_sim::sim::training::Outage;

/// The container of every pod that uses its GPUs.
pub const CONTAINER: &str = "main";

/// Nodes and pods.
#[derive(Clone, Debug)]
pub struct Cluster {
    pools: Vec<NodePool>,
    /// One set of equal pods for each pool of each workload, in order.
    pub sets: Vec<Set>,
    start_up: f64,
    /// Counts every change of a pod, so that views are made anew only then.
    pub version: u64,
    /// GPU-hours and their price by workload.
    pub bills: Vec<Bill>,
}

/// What a workload held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bill {
    /// GPUs that its pods held, times hours.
    pub gpu_hours: f64,
    /// Their price.
    pub cost: f64,
}

impl Cluster {
    /// The cluster at the start: `replicas` of each workload are Ready, all in its first pool, as far as there are nodes.
    pub fn new(scenario: &Scenario) -> Self {
        let pools: Vec<_> = scenario.pools.iter().map(|pool| NodePool::new(pool, scenario.seed)).collect();
        let mut sets = Vec::new();
        for (workload, subject) in scenario.workloads.iter().enumerate() {
            for (at, (pool, target)) in subject.targets.iter().enumerate() {
                let asked = if at == 0 { subject.replicas } else { 0 };
                sets.push(Set::new(workload, *pool, target, subject, asked));
            }
        }
        let bills = vec![Bill::default(); scenario.workloads.len()];
        let mut cluster = Self { pools, sets, start_up: scenario.start_up, version: 0, bills };
        cluster.place(0.0);
        cluster.sets.iter_mut().for_each(Set::begin_ready);
        cluster
    }

    /// The sets of the workload number `workload`, in the order of its pools.
    pub fn of(&self, workload: usize) -> impl Iterator<Item = &Set> {
        self.sets.iter().filter(move |set| set.workload == workload)
    }

    /// Replicas that the set number `set` should have.
    pub fn ask(&mut self, set: usize, replicas: u32) {
        if let Some(set) = self.sets.get_mut(set) {
            set.asked = replicas;
        }
    }

    /// What happened until `now`: nodes came and went, pods ended, started and turned Ready.
    pub fn advance(&mut self, now: f64) {
        let mut changed = false;
        for set in &mut self.sets {
            changed |= set.end(&mut self.pools[set.pool], now);
        }
        for (at, pool) in self.pools.iter_mut().enumerate() {
            for node in pool.reclaim(now) {
                changed = true;
                self.sets.iter_mut().filter(|set| set.pool == at).for_each(|set| set.lose(node));
            }
            pool.come(now);
        }
        for set in &mut self.sets {
            changed |= set.follow(&mut self.pools[set.pool], now);
        }
        changed |= self.place(now);
        for set in &mut self.sets {
            changed |= set.ready(now);
        }
        self.pools.iter_mut().for_each(|pool| pool.retire(now));
        self.version += u64::from(changed);
    }

    /// Gives nodes to pods that wait for one, and asks for nodes where none has room.
    fn place(&mut self, now: f64) -> bool {
        let mut changed = false;
        self.pools.iter_mut().for_each(NodePool::plan);
        for set in &mut self.sets {
            changed |= set.place(&mut self.pools[set.pool], now, self.start_up);
        }
        changed
    }

    /// Adds `seconds` of what is held now to the bills.
    pub fn bill(&mut self, seconds: f64) {
        for set in &self.sets {
            let gpu_hours = f64::from(set.held()) * seconds / 3600.0;
            let bill = &mut self.bills[set.workload];
            bill.gpu_hours += gpu_hours;
            bill.cost += gpu_hours * self.pools[set.pool].price;
        }
    }

    /// The processes in the pods of the workload number `workload` last ended and were last started again at these seconds,
    /// as it is `now`.
    pub fn restarts(&mut self, workload: usize, outage: Option<Outage>, now: f64) {
        for set in self.sets.iter_mut().filter(|set| set.workload == workload) {
            self.version += u64::from(set.restarts(outage, now));
        }
    }

    /// Every workload's replicas as the models see them, by its name.
    pub fn replicas(&self, scenario: &Scenario) -> BTreeMap<String, Vec<Replica>> {
        let of = |at: usize| self.of(at).flat_map(Set::replicas).collect();
        scenario.workloads.iter().enumerate().map(|(at, subject)| (subject.id.name.clone(), of(at))).collect()
    }

    /// Every pod on a node as exporters know it.
    pub fn sampled(&self, scenario: &Scenario) -> Vec<SampledPod> {
        let of = |set: &Set| set.sampled(&scenario.workloads[set.workload], &self.pools[set.pool]);
        self.sets.iter().flat_map(of).collect()
    }

    /// The nodes and pools as a decision sees them.
    pub fn room(&self) -> (BTreeMap<PoolName, Pool>, BTreeMap<NodeName, Node>) {
        let mut nodes = BTreeMap::new();
        let mut pools = BTreeMap::new();
        for pool in &self.pools {
            let price = Money::of(pool.price);
            let mut names = Vec::new();
            for (name, free) in pool.usable() {
                nodes.insert(name.clone(), Node { free: Gpus(free) });
                names.push(name);
            }
            pools.insert(PoolName(pool.name.clone()), Pool { nodes: names, limit: None, price });
        }
        (pools, nodes)
    }
}

/// The instant `seconds` after `start`, to the millisecond.
#[allow(clippy::cast_possible_truncation)] // milliseconds of any simulated time fit
fn instant(start: Timestamp, seconds: f64) -> Timestamp {
    let since = jiff::SignedDuration::from_millis((seconds * 1000.0).round() as i64);
    start.saturating_add(since).unwrap_or(start)
}
