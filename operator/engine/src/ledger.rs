//! Free GPUs as the pass over all workloads uses them up: reservations, made in one serial pass.

use crate::units::{Gpus, NodeName, PoolName, Replicas};
use crate::world::{Workload, World};
use std::collections::BTreeMap;

/// What is still free. Nodes are counted by their free GPUs, so asking for room does not walk over them.
pub struct Ledger {
    pools: BTreeMap<PoolName, PoolLedger>,
    nodes: Vec<NodeLedger>,
}

struct NodeLedger {
    free: u32,
    /// Positions in the order of the ledger's pools.
    pools: Vec<PoolName>,
}

#[derive(Default)]
struct PoolLedger {
    /// Nodes by free GPUs; an entry is out of date when the node's free count has changed.
    by_free: BTreeMap<u32, Bucket>,
    limit: Option<Gpus>,
    asked: Gpus,
}

#[derive(Default)]
struct Bucket {
    count: u32,
    candidates: Vec<usize>,
}

impl Ledger {
    /// What is free in `world` once all replicas that are already asked for have found a node.
    pub fn of(world: &World) -> Self {
        let mut ledger = Self::empty(world);
        for workload in &world.workloads {
            ledger.reserve_asked(workload);
        }
        ledger
    }

    fn empty(world: &World) -> Self {
        let positions: BTreeMap<&NodeName, usize> = world.nodes.keys().zip(0..).collect();
        let mut nodes: Vec<_> =
            world.nodes.values().map(|node| NodeLedger { free: node.free.0, pools: Vec::new() }).collect();
        let mut pools = BTreeMap::new();
        for (name, pool) in &world.pools {
            let mut ledger = PoolLedger { limit: pool.limit, ..PoolLedger::default() };
            for position in pool.nodes.iter().filter_map(|node| positions.get(node)) {
                nodes[*position].pools.push(name.clone());
                ledger.add(*position, nodes[*position].free);
            }
            pools.insert(name.clone(), ledger);
        }
        Self { pools, nodes }
    }

    /// Replicas that are asked for and not on a node yet will take room too.
    fn reserve_asked(&mut self, workload: &Workload) {
        let each = workload.policy.gpus_per_replica;
        for (policy, state) in workload.policy.pools.iter().zip(&workload.pools) {
            let Some(pool) = &policy.pool else { continue };
            if let Some(ledger) = self.pools.get_mut(pool) {
                ledger.asked = ledger.asked.plus(state.asked.times(each));
            }
            let bound = state.pods.iter().filter(|pod| pod.bound && pod.is_live()).count();
            let unplaced = (state.asked.0 as usize).saturating_sub(bound);
            self.place(pool, each, Replicas(u32::try_from(unplaced).unwrap_or(u32::MAX)));
        }
    }

    /// How many more replicas of `each` GPUs fit in `pool`; none means that nothing limits it.
    pub fn room(&self, pool: Option<&PoolName>, each: Gpus) -> Option<Replicas> {
        let name = pool?;
        let Some(pool) = self.pools.get(name) else { return Some(Replicas::ZERO) };
        let on_nodes = pool.by_free.iter().map(|(free, bucket)| (free / each.0.max(1)).saturating_mul(bucket.count));
        let on_nodes = on_nodes.fold(0_u32, u32::saturating_add);
        let within_limit = pool.limit.map_or(u32::MAX, |limit| limit.minus(pool.asked).0 / each.0.max(1));
        Some(Replicas(on_nodes.min(within_limit)))
    }

    /// Takes the room of `replicas` more replicas; what does not fit takes none.
    pub fn reserve(&mut self, pool: Option<&PoolName>, each: Gpus, replicas: Replicas) {
        let Some(name) = pool else { return };
        if let Some(pool) = self.pools.get_mut(name) {
            pool.asked = pool.asked.plus(replicas.times(each));
        }
        self.place(name, each, replicas);
    }

    fn place(&mut self, pool: &PoolName, each: Gpus, replicas: Replicas) {
        for _ in 0..replicas.0 {
            let Some(node) = self.tightest(pool, each) else { return };
            self.take(node, each.0);
        }
    }

    /// The node with the fewest free GPUs that still suffice.
    fn tightest(&mut self, pool: &PoolName, each: Gpus) -> Option<usize> {
        let nodes = &self.nodes;
        let pool = self.pools.get_mut(pool)?;
        pool.by_free.range_mut(each.0.max(1)..).filter(|(_, bucket)| bucket.count > 0).find_map(|(free, bucket)| {
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
        let before = self.nodes[node].free;
        let after = before.saturating_sub(gpus);
        self.nodes[node].free = after;
        for name in &self.nodes[node].pools {
            if let Some(pool) = self.pools.get_mut(name) {
                pool.remove(before);
                pool.add(node, after);
            }
        }
    }
}

impl PoolLedger {
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
