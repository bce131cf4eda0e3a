//! What is: everything a cycle may look at, as plain data.

use crate::memory::Memory;
use crate::opinion::Opinion;
use crate::policy::Policy;
use crate::reading::Reading;
use crate::units::{Gpus, NodeName, PodName, PoolName, Replicas, WorkloadId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One instant of the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// The only clock that a decision knows.
    pub now: Timestamp,
    /// In any order; decisions sort them by creation, then name.
    pub workloads: Vec<Workload>,
    /// Where replicas may run.
    pub pools: BTreeMap<PoolName, Pool>,
    /// The nodes of all pools; a node may belong to several.
    pub nodes: BTreeMap<NodeName, Node>,
}

/// One workload as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Which one.
    pub id: WorkloadId,
    /// When its object was made.
    pub created: Timestamp,
    /// What is wanted of it.
    pub policy: Policy,
    /// In the order of `policy.pools`.
    pub pools: Vec<PoolState>,
    /// In the order of `policy.signals`.
    pub signals: Vec<SignalState>,
    /// What the judge last thought, if it was asked.
    pub opinion: Option<Opinion>,
    /// What must be remembered.
    pub memory: Memory,
}

/// One pool of a workload as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolState {
    /// `spec.replicas` of the target.
    pub asked: Replicas,
    /// The target's pods.
    pub pods: Vec<Pod>,
}

/// One pod of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// Its name.
    pub name: PodName,
    /// How far it has come.
    pub state: PodState,
    /// Whether it sits on a node.
    pub bound: bool,
}

/// How far a pod has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PodState {
    /// Not started: unscheduled, or its containers wait.
    Pending {
        /// When it was made.
        since: Timestamp,
    },
    /// Runs, but is not Ready.
    Starting {
        /// When it was made.
        since: Timestamp,
    },
    /// Ready.
    Ready {
        /// When it turned Ready.
        since: Timestamp,
    },
    /// Failed, succeeded or being deleted: no replica any more.
    Ended,
}

/// What a signal says now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignalState {
    /// Its value.
    pub value: SignalValue,
    /// Failed reads in a row.
    pub failures: u32,
}

/// One number, or one a pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SignalValue {
    /// One number for the workload: HPA's External.
    External(Reading<f64>),
    /// One number a pod, by the names that the source knows: HPA's Pods. A pod without a row is missing.
    Pods(BTreeMap<PodName, Reading<f64>>),
    /// One number a pod, but the source gave no answer at all.
    PodsUnread(Reading<f64>),
}

/// A `GpuPool` as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// The Ready, schedulable nodes that suit it.
    pub nodes: Vec<NodeName>,
    /// The most GPUs that all workloads together may ask for here.
    pub limit: Option<Gpus>,
}

/// A node's GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Allocatable less what the pods bound to it ask for, whoever owns them.
    pub free: Gpus,
}

impl Workload {
    /// The sum of `spec.replicas` over its targets.
    pub fn current(&self) -> Replicas {
        self.pools.iter().map(|pool| pool.asked).sum()
    }

    /// All pods of all targets.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pools.iter().flat_map(|pool| &pool.pods)
    }
}

impl Pod {
    /// Ready now.
    pub const fn is_ready(&self) -> bool {
        matches!(self.state, PodState::Ready { .. })
    }

    /// A replica: not failed, succeeded or being deleted.
    pub const fn is_live(&self) -> bool {
        !matches!(self.state, PodState::Ended)
    }
}

impl PoolState {
    /// Ready replicas.
    pub fn ready(&self) -> Replicas {
        Replicas(u32::try_from(self.pods.iter().filter(|pod| pod.is_ready()).count()).unwrap_or(u32::MAX))
    }
}

impl Workload {
    /// How long each replica that is not Ready has been waited for: since its pod was made, or, where no pod exists,
    /// since the pool first had fewer Ready replicas than asked for.
    pub fn waiting(&self, now: Timestamp) -> impl Iterator<Item = SignedDuration> {
        self.pools.iter().zip(&self.policy.pools).flat_map(move |(state, policy)| {
            let short = self.memory.short.get(&policy.name()).map(|since| since.0);
            state.waiting(short, now)
        })
    }
}

impl PoolState {
    /// How long each replica of this pool that is not Ready has been waited for; `short` is since when there are too few.
    pub fn waiting(&self, short: Option<Timestamp>, now: Timestamp) -> impl Iterator<Item = SignedDuration> {
        let pods = self.pods.iter().filter_map(|pod| match pod.state {
            PodState::Pending { since } | PodState::Starting { since } => Some(since),
            PodState::Ready { .. } | PodState::Ended => None,
        });
        let live = self.pods.iter().filter(|pod| pod.is_live()).count();
        let unmade = (self.asked.0 as usize).saturating_sub(live);
        let unmade = std::iter::repeat_n(short.unwrap_or(now), unmade);
        pods.chain(unmade).map(move |since| now.duration_since(since))
    }
}
