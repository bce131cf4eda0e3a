//! Free GPUs as the pass over all workloads uses them up: reservations, made in one serial pass.

use crate::policy::Each;
use crate::units::{Gpus, NodeName, PoolName, Replicas};
use crate::world::{Workload, World};
use std::collections::{BTreeMap, HashMap};

/// What is still free. Nodes are counted by their free GPUs, so asking for room does not walk over them.
pub struct Ledger {
    names: BTreeMap<PoolName, usize>,
    pools: Vec<PoolLedger>,
    nodes: Vec<NodeLedger>,
}

struct NodeLedger {
    free: u32,
    /// Positions in the ledger's pools.
    pools: Vec<usize>,
}

#[derive(Default)]
struct PoolLedger {
    /// Nodes by free GPUs.
    by_free: BTreeMap<u32, Bucket>,
    limit: Option<Gpus>,
    asked: Gpus,
}

#[derive(Default)]
struct Bucket {
    count: u32,
    /// Positions in the ledger's nodes; out of date where the node's free count has changed.
    candidates: Vec<usize>,
}

impl Ledger {
    /// What is free in `world` once all replicas that are already asked for have found a node.
    pub fn of(world: &World) -> Self {
        Self::serving(&world.in_order(), world)
    }

    /// [`Self::of`] the workloads in this order, which is [`World::in_order`].
    pub(crate) fn serving(order: &[&Workload], world: &World) -> Self {
        let mut ledger = Self::empty(world);
        for workload in order {
            ledger.reserve_asked(workload);
        }
        ledger
    }

    fn empty(world: &World) -> Self {
        let positions: HashMap<&NodeName, usize> = world.nodes.keys().zip(0..).collect();
        let mut nodes: Vec<_> =
            world.nodes.values().map(|node| NodeLedger { free: node.free.0, pools: Vec::new() }).collect();
        let mut pools = Vec::with_capacity(world.pools.len());
        for pool in world.pools.values() {
            let mut ledger = PoolLedger { limit: pool.limit, ..PoolLedger::default() };
            for position in pool.nodes.iter().filter_map(|node| positions.get(node)) {
                let node = &mut nodes[*position];
                if node.pools.last() != Some(&pools.len()) {
                    node.pools.push(pools.len());
                    ledger.add(*position, node.free);
                }
            }
            pools.push(ledger);
        }
        Self { names: world.pools.keys().cloned().zip(0..).collect(), pools, nodes }
    }

    /// Replicas that are asked for and not on a node yet will take room too.
    fn reserve_asked(&mut self, workload: &Workload) {
        let each = workload.policy.each();
        for (policy, state) in workload.policy.pools.iter().zip(&workload.pools) {
            let Some(pool) = self.position(policy.pool.as_ref()) else { continue };
            let bound = state.pods.iter().filter(|pod| pod.bound && pod.is_live()).count();
            let unplaced = state.asked.minus(Replicas(u32::try_from(bound).unwrap_or(u32::MAX)));
            self.pools[pool].ask(each.gpus, state.asked);
            if each.on_nodes {
                self.place(pool, each.gpus, unplaced);
            }
        }
    }

    /// How many more replicas that take `each` fit in `pool`; none means that nothing that is known limits it.
    pub fn room(&self, pool: Option<&PoolName>, each: Each) -> Option<Replicas> {
        let Some(pool) = self.position(Some(pool?)) else { return Some(Replicas::ZERO) };
        let pool = &self.pools[pool];
        let gpus = at_least_one(each.gpus);
        let within_limit = pool.limit.map(|limit| limit.minus(pool.asked).0 / gpus);
        let fits = |(free, bucket): (&u32, &Bucket)| (free / gpus).saturating_mul(bucket.count);
        let on_nodes = || pool.by_free.iter().map(fits).fold(0_u32, u32::saturating_add);
        let on_nodes = each.on_nodes.then(on_nodes);
        let least = on_nodes.into_iter().chain(within_limit).min();
        least.map(Replicas)
    }

    /// Counts `replicas` more against the limit of `pool`.
    pub fn ask(&mut self, pool: Option<&PoolName>, each: Each, replicas: Replicas) {
        if let Some(pool) = self.position(pool) {
            self.pools[pool].ask(each.gpus, replicas);
        }
    }

    /// Takes the room of up to `replicas` more replicas, and says how many found some.
    pub fn reserve(&mut self, pool: Option<&PoolName>, each: Each, replicas: Replicas) -> Replicas {
        match (pool, self.position(pool)) {
            (None, _) => replicas,
            (Some(_), None) => Replicas::ZERO,
            (Some(_), Some(_)) if !each.on_nodes => replicas,
            (Some(_), Some(pool)) => self.place(pool, each.gpus, replicas),
        }
    }

    fn position(&self, pool: Option<&PoolName>) -> Option<usize> {
        self.names.get(pool?).copied()
    }

    fn place(&mut self, pool: usize, each: Gpus, replicas: Replicas) -> Replicas {
        for placed in 0..replicas.0 {
            let Some(node) = self.tightest(pool, at_least_one(each)) else { return Replicas(placed) };
            self.take(node, at_least_one(each));
        }
        replicas
    }

    /// The node with the fewest free GPUs that still suffice.
    fn tightest(&mut self, pool: usize, gpus: u32) -> Option<usize> {
        let nodes = &self.nodes;
        let buckets = self.pools[pool].by_free.range_mut(gpus..).filter(|(_, bucket)| bucket.count > 0);
        buckets.into_iter().find_map(|(free, bucket)| {
            while let Some(candidate) = bucket.candidates.last() {
                if nodes[*candidate].free == *free {
                    return Some(*candidate);
                }
                bucket.candidates.pop();
            }
            None
        })
    }

    fn take(&mut self, node: usize, gpus: u32) {
        let NodeLedger { free, pools } = &mut self.nodes[node];
        let before = *free;
        *free = before.saturating_sub(gpus);
        for pool in pools {
            self.pools[*pool].remove(before);
            self.pools[*pool].add(node, *free);
        }
    }
}

/// A replica without GPUs has no business here; it counts as one with a single GPU.
fn at_least_one(gpus: Gpus) -> u32 {
    gpus.0.max(1)
}

impl PoolLedger {
    fn ask(&mut self, each: Gpus, replicas: Replicas) {
        self.asked = self.asked.plus(replicas.times(each));
    }

    fn add(&mut self, node: usize, free: u32) {
        let bucket = self.by_free.entry(free).or_default();
        bucket.count += 1;
        bucket.candidates.push(node);
    }

    fn remove(&mut self, free: u32) {
        if let Some(bucket) = self.by_free.get_mut(&free) {
            bucket.count = bucket.count.saturating_sub(1);
        }
    }
}
