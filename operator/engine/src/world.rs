//! What is: everything a cycle may look at, as plain data.

use crate::memory::Memory;
use crate::money::Money;
use crate::opinion::Opinion;
use crate::policy::{Mode, Policy, PoolPolicy};
use crate::reading::Reading;
use crate::rest::Rest;
use crate::units::{Gpus, NodeName, PodName, PoolName, Replicas, WorkloadId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One instant of the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// The only clock that a decision knows.
    pub now: Timestamp,
    /// In any order; see [`World::in_order`].
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
    /// What its own signals say of its work.
    #[serde(default)]
    pub measures: Measures,
    /// What the judge last thought, if it was asked.
    pub opinion: Option<Opinion>,
    /// What the judge said of it that needs no demand, since this process first saw it.
    #[serde(default)]
    pub rest: Rest,
    /// What its pods are made from, as far as its targets say.
    #[serde(default)]
    pub template: Option<Template>,
    /// A person's word against the gate, if it is in force.
    #[serde(default)]
    pub gate_override: Option<GateOverride>,
    /// What must be remembered.
    pub memory: Memory,
}

/// The pod templates of all targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// The same for the same templates, another for others.
    pub digest: String,
    /// Every replica is made from them: none of an older one is left.
    pub rolled_out: bool,
    /// By which revision each target keeps its own, where it numbers them.
    #[serde(default)]
    pub revisions: Option<String>,
}

/// A person lets growth pass that the gate holds, until then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateOverride {
    /// Why, in that person's words.
    pub reason: String,
    /// When it ends by itself.
    pub until: Timestamp,
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
        /// Since when: it was made, or it was Ready and is not any more (the Ready condition's last transition).
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

/// The latest believed values of the signals that describe the work; none where there is no such signal, or no value to
/// believe. They make no demand: they are for comparing before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measures {
    /// Work done a second (role Throughput); more is better.
    pub throughput: Option<f64>,
    /// The first latency signal, in its own unit (role Latency); less is better.
    pub latency: Option<f64>,
    /// How good the results are (role Quality); more is better.
    pub quality: Option<f64>,
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
    /// What one GPU costs an hour; none where nobody said.
    #[serde(default)]
    pub price: Option<Money>,
}

/// A node's GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Allocatable less what the pods bound to it ask for, whoever owns them.
    pub free: Gpus,
}

impl World {
    /// The workloads in the order in which they are served: those that are written before those that only recommend, so
    /// that a wish never takes the room of a need; older ones first, then by name.
    pub fn in_order(&self) -> Vec<&Workload> {
        let mut order: Vec<&Workload> = self.workloads.iter().collect();
        let rank = |workload: &Workload| (workload.policy.mode != Mode::Auto, workload.created);
        order.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.id.cmp(&b.id)));
        order
    }
}

impl Workload {
    /// The sum of `spec.replicas` over its targets.
    pub fn current(&self) -> Replicas {
        self.pools.iter().map(|pool| pool.asked).sum()
    }

    /// Ready replicas of all its targets.
    pub fn ready(&self) -> Replicas {
        self.pools.iter().map(PoolState::ready).sum()
    }

    /// Since when pods are missing in the pool of `policy`; none while they are not.
    pub fn unmade_since(&self, policy: &PoolPolicy) -> Option<Timestamp> {
        self.memory.short.get(policy.name_ref()).map(|since| since.0)
    }

    /// Replicas of all targets that have been waited for at least `grace`.
    pub fn late(&self, now: Timestamp, grace: SignedDuration) -> Late {
        let pools = self.pools.iter().zip(&self.policy.pools);
        pools.fold(Late::default(), |late, (state, policy)| {
            let more = state.late(self.unmade_since(policy), now, grace);
            Late { replicas: late.replicas.plus(more.replicas), longest: late.longest.max(more.longest) }
        })
    }

    /// A person's word against the gate, while it is in force.
    pub fn override_at(&self, now: Timestamp) -> Option<&GateOverride> {
        self.gate_override.as_ref().filter(|one| now < one.until)
    }

    /// Whether every replica is there, made from the present template, Ready, and has been for `warm_up`.
    pub fn is_settled(&self, warm_up: SignedDuration, now: Timestamp) -> bool {
        let warm = |pod: &Pod| match pod.state {
            PodState::Ready { since } => now.duration_since(since) >= warm_up,
            PodState::Ended => true,
            PodState::Pending { .. } | PodState::Starting { .. } => false,
        };
        let complete = |pool: &PoolState| pool.ready() >= pool.asked && pool.pods.iter().all(warm);
        self.template.as_ref().is_none_or(|template| template.rolled_out) && self.pools.iter().all(complete)
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
        count(self.pods.iter().filter(|pod| pod.is_ready()))
    }

    /// Replicas that exist: Ready or not, but not ended.
    pub fn live(&self) -> Replicas {
        count(self.pods.iter().filter(|pod| pod.is_live()))
    }

    /// Replicas that have been waited for at least `grace`, and the longest wait. A replica whose pod does not exist has
    /// been waited for since `unmade_since`.
    pub fn late(&self, unmade_since: Option<Timestamp>, now: Timestamp, grace: SignedDuration) -> Late {
        let not_ready = self.pods.iter().filter_map(|pod| match pod.state {
            PodState::Pending { since } | PodState::Starting { since } => Some((Replicas(1), since)),
            PodState::Ready { .. } | PodState::Ended => None,
        });
        let unmade = unmade_since.map(|since| (self.asked.minus(self.live()), since));
        let waits = not_ready.chain(unmade).map(|(replicas, since)| (replicas, now.duration_since(since)));
        let late = waits.filter(|(replicas, waited)| *replicas > Replicas::ZERO && *waited >= grace);
        late.fold(Late::default(), |late, (replicas, waited)| Late {
            replicas: late.replicas.plus(replicas),
            longest: late.longest.max(waited),
        })
    }
}

/// Replicas that should be Ready by now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late {
    /// How many.
    pub replicas: Replicas,
    /// How long the first of them has been waited for.
    pub longest: SignedDuration,
}

fn count<'a>(pods: impl Iterator<Item = &'a Pod>) -> Replicas {
    Replicas(u32::try_from(pods.count()).unwrap_or(u32::MAX))
}
