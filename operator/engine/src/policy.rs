//! What is wanted: the resolved intent of a `GpuWorkload`, with every default filled in.

use crate::sizing::Model;
use crate::units::{Gpus, PoolName, Replicas, SignalName};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// One workload's intent; nothing optional is left that has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Picks defaults, and what low utilisation alone means.
    pub class: Class,
    /// Whether decisions are written.
    pub mode: Mode,
    /// Never fewer.
    pub min: Replicas,
    /// Never more.
    pub max: Replicas,
    /// GPUs that one replica asks for, read from the pods of its target.
    pub gpus_per_replica: Gpus,
    /// Whether these are whole GPUs. Parts of one, and places on one, are on no node's count of free GPUs.
    #[serde(default = "whole")]
    pub whole_gpus: bool,
    /// What makes demand.
    pub signals: Vec<SignalPolicy>,
    /// How fast the number may move.
    pub behavior: Behavior,
    /// Whether more GPUs would help is asked before they are added.
    pub gate: GatePolicy,
    /// In order of preference; never empty.
    pub pools: Vec<PoolPolicy>,
    /// What to do when a signal keeps failing; without it the workload holds.
    pub fallback: Option<Fallback>,
    /// The model, where its owner describes it.
    #[serde(default)]
    pub model: Option<Model>,
}

const fn whole() -> bool {
    true
}

/// What one replica takes of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Each {
    /// Counted against the pool's limit.
    pub gpus: Gpus,
    /// Counted against the free GPUs of its nodes too.
    pub on_nodes: bool,
}

impl Policy {
    /// What one replica takes of a pool.
    pub const fn each(&self) -> Each {
        Each { gpus: self.gpus_per_replica, on_nodes: self.whole_gpus }
    }

    /// Whether its owner declared that the model is split over the replicas, so that more of them hold less each.
    pub fn sharded(&self) -> bool {
        self.model.is_some_and(|model| model.sharded)
    }
}

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// Answers requests.
    Inference,
    /// Trains a model.
    Training,
    /// Works through a queue and ends.
    Batch,
}

/// Whether decisions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Decide and show; write nothing.
    Recommend,
    /// Decide and write.
    Auto,
    /// Decide nothing.
    Paused,
}

/// One signal and what to make of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignalPolicy {
    /// Its name.
    pub name: SignalName,
    /// What a replica should bear.
    pub target: Target,
}

/// The words of HPA.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// The signal divided by the replicas should be this.
    AverageValue(f64),
    /// The signal should be this, and moves in proportion to the replicas.
    Value(f64),
    /// The signal is the number of replicas itself.
    Replicas,
    /// The signal is a latency, and should not exceed this.
    Slo(Slo),
}

/// A latency objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slo {
    /// The most that the latency should be, in its own unit.
    pub value: f64,
    /// Exceeded for this long, no replicas being waited for, it asks for more.
    pub breach_for: SignedDuration,
    /// How many more.
    pub step: Replicas,
}

impl Target {
    /// The number aimed at.
    pub const fn number(self) -> f64 {
        match self {
            Self::AverageValue(number) | Self::Value(number) => number,
            Self::Replicas => 1.0,
            Self::Slo(slo) => slo.value,
        }
    }
}

/// HPA's behaviour block, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Behavior {
    /// Growing.
    pub up: Pace,
    /// Shrinking.
    pub down: Pace,
}

/// How fast one direction may go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// The stabilisation window.
    pub window: SignedDuration,
    /// No change while the ratio is this close to one.
    pub tolerance: f64,
    /// Limits of change; none means no limit.
    pub policies: Vec<RatePolicy>,
    /// Which of them wins.
    pub select: Select,
}

/// One limit of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RatePolicy {
    /// How much within the period.
    pub amount: Amount,
    /// The period.
    pub period: SignedDuration,
}

/// How much may change within a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Amount {
    /// This many replicas.
    Pods(u32),
    /// This percentage of the replicas at the start of the period.
    Percent(u32),
}

/// Which of several limits wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Select {
    /// The one that allows most change.
    Max,
    /// The one that allows least change.
    Min,
    /// No change in this direction.
    Disabled,
}

/// How the gate treats a workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatePolicy {
    /// Whether a refusal holds the number.
    pub mode: GateMode,
    /// How much of the past is judged.
    pub window: SignedDuration,
    /// A veto ends by itself after this.
    pub expiry: SignedDuration,
    /// Evaluations closer together than this count once.
    pub spacing: SignedDuration,
    /// A replica's first moments after it turns Ready are not judged.
    pub warm_up: SignedDuration,
    /// What no evidence means.
    pub on_unknown: OnUnknown,
    /// What the rules compare with.
    pub thresholds: crate::rules::Thresholds,
}

/// Whether a refusal holds the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GateMode {
    /// It does.
    Enforce,
    /// It is only said.
    Advise,
    /// Nothing is judged.
    Off,
}

/// What no evidence means for a scale-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnUnknown {
    /// Scale up all the same.
    Allow,
    /// Wait for evidence.
    Hold,
}

/// One pool of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolPolicy {
    /// The `GpuPool` behind it; none means unlimited capacity.
    pub pool: Option<PoolName>,
    /// Kept here first; none means that replicas fill this pool in its order.
    pub base: Option<Replicas>,
    /// Never more here.
    pub max: Option<PoolMax>,
    /// Replicas that are not Ready after this are placed elsewhere; none means wait.
    pub spill_after: Option<SignedDuration>,
    /// After a spill the pool is tried again only after this.
    pub return_after: SignedDuration,
}

/// The most replicas of one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoolMax {
    /// This many.
    Count(Replicas),
    /// This percentage of the workload's number, rounded down.
    Percent(u32),
}

impl PoolPolicy {
    /// Its name in status; the implicit pool is called `default`.
    pub fn name(&self) -> PoolName {
        self.name_ref().clone()
    }

    /// [`Self::name`], borrowed.
    pub fn name_ref(&self) -> &PoolName {
        static IMPLICIT: LazyLock<PoolName> = LazyLock::new(|| PoolName::from("default"));
        self.pool.as_ref().unwrap_or(&IMPLICIT)
    }
}

impl PoolMax {
    /// The most replicas here when the workload has `number`.
    pub fn of(self, number: Replicas) -> Replicas {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                Replicas(u32::try_from(u64::from(number.0) * u64::from(percent) / 100).unwrap_or(u32::MAX))
            }
        }
    }
}

/// KEDA's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// More consecutive failures than this start it.
    pub failure_threshold: u32,
    /// The number to fall back to.
    pub replicas: Replicas,
    /// How it combines with the present number.
    pub behavior: FallbackBehavior,
}

/// How a fallback combines with the present number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FallbackBehavior {
    /// The fallback's number.
    Static,
    /// The present number.
    CurrentReplicas,
    /// The larger of the two.
    CurrentReplicasIfHigher,
    /// The smaller of the two.
    CurrentReplicasIfLower,
}

impl Fallback {
    /// The number while a signal fails and `current` replicas run.
    pub fn number(self, current: Replicas) -> Replicas {
        match self.behavior {
            FallbackBehavior::Static => self.replicas,
            FallbackBehavior::CurrentReplicas => current,
            FallbackBehavior::CurrentReplicasIfHigher => current.max(self.replicas),
            FallbackBehavior::CurrentReplicasIfLower => current.min(self.replicas),
        }
    }
}
