//! One pool of a workload while its replicas are placed.

use crate::ledger::Ledger;
use crate::policy::PoolPolicy;
use crate::units::Replicas;
use crate::world::Workload;
use jiff::Timestamp;

/// One pool's share, as it is being worked out.
pub(super) struct Place<'a> {
    pub policy: &'a PoolPolicy,
    /// `spec.replicas` of its target.
    pub asked: Replicas,
    /// What it should be.
    pub target: Replicas,
    /// How many of the target are not Ready.
    pub waiting: Replicas,
    /// How many of those have been waited for too long.
    pub stuck: Replicas,
    /// Never more here.
    pub most: Replicas,
    /// Room for more than is asked for; none means no limit.
    free: Option<Replicas>,
    /// Lately failed to start replicas, so it takes no more for now.
    pub closed: bool,
}

impl<'a> Place<'a> {
    /// The workload's pools, in order, each with what it has now.
    pub fn all(number: Replicas, workload: &'a Workload, ledger: &Ledger, now: Timestamp) -> Vec<Self> {
        let each = workload.policy.each();
        let pools = workload.policy.pools.iter().zip(&workload.pools);
        pools
            .map(|(policy, state)| {
                let late = |limit| state.late(workload.unmade_since(policy), now, limit).replicas;
                let spilled = workload.memory.spilled.get(policy.name_ref());
                Self {
                    policy,
                    asked: state.asked,
                    target: state.asked,
                    waiting: state.asked.minus(state.ready()),
                    stuck: policy.spill_after.map_or(Replicas::ZERO, late),
                    most: policy.max.map_or(Replicas(u32::MAX), |max| max.of(number)),
                    free: ledger.room(policy.pool.as_ref(), each),
                    closed: spilled.is_some_and(|at| now.duration_since(at.0) < policy.return_after),
                }
            })
            .collect()
    }

    pub fn base(&self) -> Replicas {
        self.policy.base.unwrap_or_default()
    }

    /// Replicas that are not Ready go first; the longest-waiting of them before the others.
    pub fn take(&mut self, replicas: Replicas) {
        self.target = self.target.minus(replicas);
        self.waiting = self.waiting.minus(replicas);
        self.stuck = self.stuck.minus(replicas);
    }

    /// Adds up to `wanted`, as far as there is room, and says how many.
    pub fn add(&mut self, wanted: Replicas) -> Replicas {
        let added = wanted.min(self.room());
        self.target = self.target.plus(added);
        added
    }

    fn room(&self) -> Replicas {
        if self.closed {
            return Replicas::ZERO;
        }
        let new = self.target.minus(self.asked);
        let free = self.free.map_or(Replicas(u32::MAX), |free| free.minus(new));
        free.min(self.most.minus(self.target))
    }

    /// Whether it is filled only after the others, once its base is there.
    pub const fn has_base(&self) -> bool {
        self.policy.base.is_some()
    }
}
