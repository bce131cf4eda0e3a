//! One pool of a workload, with its pods.

use super::at;
use crate::policy::{PoolMax, PoolPolicy};
use crate::units::{PodName, PoolName, Replicas};
use crate::world::{Pod, PodState, PoolState};
use jiff::SignedDuration;

/// A pool entry and what stands in it.
#[derive(Clone, Debug)]
pub struct PoolBuilder {
    policy: PoolPolicy,
    asked: Option<u32>,
    pods: Vec<(PodState, bool)>,
}

/// An entry for the `GpuPool` of this name.
pub fn in_pool(name: &str) -> PoolBuilder {
    PoolBuilder { policy: PoolPolicy { pool: Some(PoolName::from(name)), ..implicit() }, ..unlimited_pool() }
}

/// The implicit pool of a workload that names none.
pub fn unlimited_pool() -> PoolBuilder {
    PoolBuilder { policy: implicit(), asked: None, pods: Vec::new() }
}

fn implicit() -> PoolPolicy {
    PoolPolicy { pool: None, base: None, max: None, spill_after: None, return_after: SignedDuration::from_mins(15) }
}

impl PoolBuilder {
    /// Kept here first.
    #[must_use]
    pub fn base(mut self, replicas: u32) -> Self {
        self.policy.base = Some(Replicas(replicas));
        self
    }

    /// Never more than so many here.
    #[must_use]
    pub fn max(mut self, replicas: u32) -> Self {
        self.policy.max = Some(PoolMax::Count(Replicas(replicas)));
        self
    }

    /// Never more than this share here.
    #[must_use]
    pub fn max_percent(mut self, percent: u32) -> Self {
        self.policy.max = Some(PoolMax::Percent(percent));
        self
    }

    /// Placed elsewhere after so many seconds.
    #[must_use]
    pub fn spill_after(mut self, seconds: i64) -> Self {
        self.policy.spill_after = Some(super::secs(seconds));
        self
    }

    /// `spec.replicas`, where it is not the number of live pods.
    #[must_use]
    pub fn asked(mut self, replicas: u32) -> Self {
        self.asked = Some(replicas);
        self
    }

    /// So many Ready pods, Ready for an hour.
    #[must_use]
    pub fn running(self, pods: u32) -> Self {
        self.pods(pods, PodState::Ready { since: at(-3600) }, true)
    }

    /// So many pods that turned Ready so many seconds ago.
    #[must_use]
    pub fn turned_ready(self, pods: u32, seconds: i64) -> Self {
        self.pods(pods, PodState::Ready { since: at(-seconds) }, true)
    }

    /// So many pods that no node took, made so many seconds ago.
    #[must_use]
    pub fn pending(self, pods: u32, seconds: i64) -> Self {
        self.pods(pods, PodState::Pending { since: at(-seconds) }, false)
    }

    /// So many pods that run and are not Ready, since so many seconds.
    #[must_use]
    pub fn starting(self, pods: u32, seconds: i64) -> Self {
        self.pods(pods, PodState::Starting { since: at(-seconds) }, true)
    }

    /// So many pods that failed or are being deleted.
    #[must_use]
    pub fn ended(self, pods: u32) -> Self {
        self.pods(pods, PodState::Ended, true)
    }

    fn pods(mut self, pods: u32, state: PodState, bound: bool) -> Self {
        self.pods.extend((0..pods).map(|_| (state, bound)));
        self
    }

    pub(super) fn build(&self, workload: &str) -> (PoolPolicy, PoolState) {
        let pool = self.policy.name();
        let pods =
            self.pods.iter().zip(0..).map(|((state, bound), number)| pod(workload, &pool, number, *state, *bound));
        let pods: Vec<Pod> = pods.collect();
        let live = pods.iter().filter(|pod| pod.is_live()).count();
        let asked = self.asked.or_else(|| u32::try_from(live).ok()).map_or(Replicas::ZERO, Replicas);
        (self.policy.clone(), PoolState { asked, pods })
    }
}

fn pod(workload: &str, pool: &PoolName, number: u32, state: PodState, bound: bool) -> Pod {
    Pod { name: PodName(format!("{workload}-{pool}-{number}")), state, bound }
}
