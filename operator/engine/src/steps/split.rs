//! Which pool takes which replicas: each pool's base first, the rest in order, and elsewhere where they do not start.
//!
//! Growth fills the bases in order, then the pools without a base in order, then the pools with one. Shrinking goes the
//! other way round, replicas that are not Ready first. A Ready replica is moved only out of a pool above its maximum.

use crate::decision::{Reason, StepResult};
use crate::ledger::Ledger;
use crate::policy::PoolPolicy;
use crate::units::{PoolName, Replicas};
use crate::world::Workload;
use jiff::Timestamp;

/// The number of each pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// In the order of the workload's pools.
    pub pools: Vec<Replicas>,
    /// The number that found a place, and why.
    pub result: StepResult,
    /// The pools that replicas were moved away from, since they did not start there.
    pub spilled: Vec<PoolName>,
}

/// Places `number` replicas and reserves the room of the new ones.
pub fn split(number: Replicas, workload: &Workload, ledger: &mut Ledger, now: Timestamp) -> Split {
    let mut placing = Placing::new(number, workload, ledger, now);
    placing.spill();
    placing.respect_maxima();
    placing.shrink_to(number);
    placing.grow_to(number);
    placing.finish(number)
}

struct Placing<'a> {
    workload: &'a Workload,
    ledger: &'a mut Ledger,
    number: Replicas,
    now: Timestamp,
    targets: Vec<Replicas>,
    waiting: Vec<Replicas>,
    spilled: Vec<(PoolName, Replicas)>,
}

impl<'a> Placing<'a> {
    fn new(number: Replicas, workload: &'a Workload, ledger: &'a mut Ledger, now: Timestamp) -> Self {
        let targets: Vec<_> = workload.pools.iter().map(|pool| pool.asked).collect();
        let waiting = workload.pools.iter().map(|pool| pool.asked.minus(pool.ready())).collect();
        Self { workload, ledger, number, now, targets, waiting, spilled: Vec::new() }
    }

    fn policy(&self, pool: usize) -> &'a PoolPolicy {
        &self.workload.policy.pools[pool]
    }

    fn sum(&self) -> Replicas {
        self.targets.iter().copied().sum()
    }

    /// Takes away what has not started for too long, as far as another pool has room for it.
    fn spill(&mut self) {
        for pool in 0..self.targets.len() {
            let stuck = self.stuck(pool);
            let elsewhere: Replicas = self.fill_order().filter(|other| *other != pool).map(|other| self.room(other)).sum();
            let moved = stuck.min(elsewhere);
            if moved > Replicas::ZERO {
                self.targets[pool] = self.targets[pool].minus(moved);
                self.waiting[pool] = self.waiting[pool].minus(moved);
                self.spilled.push((self.policy(pool).name(), moved));
            }
        }
    }

    fn stuck(&self, pool: usize) -> Replicas {
        let policy = self.policy(pool);
        let Some(limit) = policy.spill_after else { return Replicas::ZERO };
        let short = self.workload.memory.short.get(&policy.name()).map(|since| since.0);
        let waited = self.workload.pools[pool].waiting(short, self.now).filter(|waited| *waited >= limit).count();
        Replicas(u32::try_from(waited).unwrap_or(u32::MAX)).min(self.targets[pool])
    }

    fn respect_maxima(&mut self) {
        for pool in 0..self.targets.len() {
            if let Some(max) = self.policy(pool).max {
                self.targets[pool] = self.targets[pool].min(max.of(self.number));
            }
        }
    }

    fn shrink_to(&mut self, number: Replicas) {
        for only_waiting in [true, false] {
            for keep_base in [true, false] {
                for pool in self.drain_order() {
                    let surplus = self.sum().minus(number);
                    let base = if keep_base { self.policy(pool).base.unwrap_or_default() } else { Replicas::ZERO };
                    let above = self.targets[pool].minus(base);
                    let available = if only_waiting { above.min(self.waiting[pool]) } else { above };
                    let taken = available.min(surplus);
                    self.targets[pool] = self.targets[pool].minus(taken);
                    self.waiting[pool] = self.waiting[pool].minus(taken);
                }
            }
        }
    }

    fn grow_to(&mut self, number: Replicas) {
        for pool in 0..self.targets.len() {
            let gap = self.policy(pool).base.unwrap_or_default().minus(self.targets[pool]);
            self.add(pool, gap.min(number.minus(self.sum())));
        }
        let order: Vec<_> = self.fill_order().collect();
        for pool in order {
            self.add(pool, number.minus(self.sum()));
        }
        self.force_up_to(number.min(self.workload.policy.min.max(self.workload.current())));
    }

    /// The minimum, and what runs already, are asked for whether or not there is room.
    fn force_up_to(&mut self, floor: Replicas) {
        for pool in 0..self.targets.len() {
            let allowed = self.policy(pool).max.map_or(Replicas(u32::MAX), |max| max.of(self.number));
            let missing = floor.minus(self.sum());
            self.targets[pool] = self.targets[pool].plus(missing.min(allowed.minus(self.targets[pool])));
        }
    }

    fn add(&mut self, pool: usize, wanted: Replicas) {
        let taken = wanted.min(self.room(pool));
        self.targets[pool] = self.targets[pool].plus(taken);
    }

    /// Room in `pool` beyond its present target. A pool that lately failed to start replicas has none.
    fn room(&self, pool: usize) -> Replicas {
        let policy = self.policy(pool);
        if self.lately_spilled(policy) {
            return Replicas::ZERO;
        }
        let new = self.targets[pool].minus(self.workload.pools[pool].asked);
        let free = self.ledger.room(policy.pool.as_ref(), self.workload.policy.gpus_per_replica);
        let free = free.map_or(Replicas(u32::MAX), |free| free.minus(new));
        let allowed = policy.max.map_or(Replicas(u32::MAX), |max| max.of(self.number));
        free.min(allowed.minus(self.targets[pool]))
    }

    fn lately_spilled(&self, policy: &PoolPolicy) -> bool {
        let name = policy.name();
        let remembered = self.workload.memory.spilled.get(&name);
        let lately = remembered.is_some_and(|at| self.now.duration_since(at.0) < policy.return_after);
        lately || self.spilled.iter().any(|(pool, _)| *pool == name)
    }

    /// Pools without a base in order, then pools with one.
    fn fill_order(&self) -> impl Iterator<Item = usize> + use<> {
        let bases: Vec<bool> = self.workload.policy.pools.iter().map(|pool| pool.base.is_some()).collect();
        let with = |has_base: bool| {
            bases.clone().into_iter().enumerate().filter(move |(_, base)| *base == has_base).map(|(pool, _)| pool)
        };
        with(false).chain(with(true))
    }

    fn drain_order(&self) -> Vec<usize> {
        let mut order: Vec<_> = self.fill_order().collect();
        order.reverse();
        order
    }

    fn finish(self, number: Replicas) -> Split {
        let each = self.workload.policy.gpus_per_replica;
        for (pool, target) in self.targets.iter().enumerate() {
            let new = target.minus(self.workload.pools[pool].asked);
            self.ledger.reserve(self.policy(pool).pool.as_ref(), each, new);
        }
        let after = self.sum();
        let reason = match self.spilled.first() {
            Some((pool, replicas)) => Reason::Spilled { pool: pool.clone(), replicas: *replicas },
            None if after < number => Reason::NoCapacity { room: after.minus(self.workload.current()) },
            None => Reason::Placed,
        };
        let spilled = self.spilled.into_iter().map(|(pool, _)| pool).collect();
        Split { pools: self.targets, result: StepResult { after, reason }, spilled }
    }
}
