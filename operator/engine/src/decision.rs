//! What was decided for one workload, step by step, and why.

use crate::gate::{Ceiling, Verdict};
use crate::memory::{Memory, Moment};
use crate::opinion::Gap;
use crate::policy::{GateMode, OnUnknown};
use crate::reading::Trouble;
use crate::rules::RuleName;
use crate::units::{PoolName, Replicas, SignalName, WorkloadId};
use crate::world::Workload;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// One workload's decision, or that it could not be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Of which workload.
    pub id: WorkloadId,
    /// The sum of `spec.replicas` before.
    pub current: Replicas,
    /// What the signals ask for, within no bounds.
    pub wanted: Replicas,
    /// What it should be.
    pub number: Replicas,
    /// In the order of the workload's pools.
    pub pools: Vec<PoolNumber>,
    /// Every step, in order.
    pub steps: Vec<StepRecord>,
    /// What the gate knows.
    pub verdict: Verdict,
    /// Signals that can't be used, and why.
    pub troubles: Vec<(SignalName, Trouble)>,
    /// Signals that can be used, but lack samples.
    pub silent: Vec<Silent>,
    /// What to remember if this is carried out.
    pub memory: Memory,
}

/// Ready replicas without a believable sample of one signal: nothing shrinks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silent {
    /// Which signal.
    pub signal: SignalName,
    /// Ready replicas without a sample.
    pub missing: u32,
    /// Ready replicas.
    pub of: u32,
}

/// One pool's share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolNumber {
    /// Which pool.
    pub pool: PoolName,
    /// `spec.replicas` of its target before.
    pub from: Replicas,
    /// What it should be.
    pub to: Replicas,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Step {
    /// What the signals ask for.
    Demand,
    /// How fast the number may move.
    Stabilise,
    /// Minimum and maximum.
    Bounds,
    /// Whether more GPUs would help.
    Gate,
    /// Whether there are GPUs.
    Capacity,
    /// Which pool takes them.
    Split,
}

/// What one step did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Which step.
    pub step: Step,
    /// What came in.
    pub before: Replicas,
    /// What went out.
    pub after: Replicas,
    /// Why, and on what evidence.
    pub reason: Reason,
}

/// A step's result, before it is put on record.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// What went out.
    pub after: Replicas,
    /// Why.
    pub reason: Reason,
}

/// Up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Growing.
    Up,
    /// Shrinking.
    Down,
}

/// Why a step did what it did; data, not text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reason {
    /// The step had nothing to do.
    Unchanged,
    /// This signal asks for most.
    Signal {
        /// Which.
        signal: SignalName,
        /// Its value: the sum for an average over replicas.
        value: f64,
        /// Its target.
        target: f64,
    },
    /// This signal asks for most, and is as close to its target as the tolerance.
    WithinTolerance {
        /// Which.
        signal: SignalName,
        /// Its value.
        value: f64,
        /// Its target.
        target: f64,
    },
    /// A latency objective has been exceeded for long enough.
    SloBreached {
        /// Which signal.
        signal: SignalName,
        /// The latency.
        value: f64,
        /// The objective.
        slo: f64,
    },
    /// Some Ready replicas have no believable sample, so nothing shrinks.
    SamplesMissing {
        /// Which signal.
        signal: SignalName,
        /// Ready replicas without a sample.
        missing: u32,
        /// Ready replicas.
        of: u32,
    },
    /// At least one signal can't be used, so nothing shrinks.
    SignalsUnavailable {
        /// Which, the first one.
        signal: SignalName,
        /// Why.
        trouble: Trouble,
    },
    /// A signal failed too often: the fallback holds.
    Fallback {
        /// Which signal.
        signal: SignalName,
        /// Failed reads in a row.
        failures: u32,
    },
    /// Replicas asked for earlier never turned Ready, so no more are asked for.
    ReplicasNotStarting {
        /// How many.
        replicas: u32,
        /// For how long.
        waited: SignedDuration,
    },
    /// A higher or lower number within the stabilisation window holds it.
    Window {
        /// Which way it would have moved.
        direction: Direction,
        /// The window.
        window: SignedDuration,
    },
    /// Moves as fast as the behaviour allows.
    RateLimited {
        /// Which way.
        direction: Direction,
    },
    /// The behaviour forbids this direction.
    DirectionDisabled {
        /// Which.
        direction: Direction,
    },
    /// New here: nothing shrinks before a whole window of known readings.
    Adopting {
        /// When that has passed, if readings stay known.
        until: Option<Timestamp>,
    },
    /// Raised to the minimum.
    RaisedToMin,
    /// Lowered to the maximum.
    LoweredToMax,
    /// Held, because what was added last brought nothing.
    Ceiling {
        /// What minimum and maximum leave of the wish.
        wanted: Replicas,
        /// What was found, and where growth ends.
        ceiling: Ceiling,
        /// When that ends by itself.
        until: Moment,
    },
    /// More is not asked for, so the gate was not asked.
    NotGrowing,
    /// The gate is off.
    GateOff,
    /// From zero the gate lets everything pass: no GPU can be starved.
    FromZero,
    /// The gate lets it pass.
    GatePassed {
        /// The rule that speaks for it, if one does.
        by: Option<RuleName>,
    },
    /// A cause that more GPUs do not fix.
    GateRefused {
        /// The cause.
        rule: RuleName,
        /// Whether that holds the number.
        mode: GateMode,
    },
    /// The gate has no verdict.
    GateUnknown {
        /// Why not.
        gap: Gap,
        /// What that means here.
        then: OnUnknown,
    },
    /// A person lets pass what the gate would hold.
    GateOverridden {
        /// The cause that would have held it, if there is a verdict.
        rule: Option<RuleName>,
        /// Why, in that person's words.
        because: String,
        /// When that ends by itself.
        until: Timestamp,
    },
    /// A latency objective lets pass a step of what the gate would hold, once a window.
    SloOverride {
        /// The signal that exceeds its objective.
        signal: SignalName,
        /// The cause that would have held it, if there is a verdict.
        rule: Option<RuleName>,
        /// The queue's share of the latency, if it is known.
        queue_share: Option<f64>,
    },
    /// There is room for all of it.
    Fits,
    /// No pool has a limit.
    Unlimited,
    /// Nobody counts the free parts of GPUs, or places on GPUs, that its replicas ask for.
    RoomUnknown,
    /// Less room than asked for.
    NoCapacity {
        /// Replicas that still fit, over all pools.
        room: Replicas,
    },
    /// As the pools' order has it.
    Placed,
    /// Replicas that did not start in this pool are placed elsewhere.
    Spilled {
        /// The pool that did not start them.
        pool: PoolName,
        /// How many.
        replicas: Replicas,
    },
}

impl Decision {
    /// The step that last changed the number; demand when none did.
    pub fn binding(&self) -> Step {
        self.binding_record().map_or(Step::Demand, |record| record.step)
    }

    /// The record of the binding step.
    pub fn binding_record(&self) -> Option<&StepRecord> {
        self.steps.iter().rev().find(|record| record.before != record.after).or_else(|| self.steps.first())
    }

    /// Whether it asks for any change.
    pub fn changes(&self) -> bool {
        self.pools.iter().any(|pool| pool.from != pool.to)
    }

    /// The rules whose findings stand.
    pub fn findings(&self) -> Vec<RuleName> {
        self.memory.gate.findings().map(|count| count.rule).collect()
    }

    /// As it is: when nothing may be decided.
    pub fn unchanged(workload: &Workload) -> Self {
        let current = workload.current();
        Self {
            id: workload.id.clone(),
            current,
            wanted: current,
            number: current,
            pools: workload
                .policy
                .pools
                .iter()
                .zip(&workload.pools)
                .map(|(pool, state)| PoolNumber { pool: pool.name(), from: state.asked, to: state.asked })
                .collect(),
            steps: Vec::new(),
            verdict: workload.memory.gate.last_said(&workload.policy.gate),
            troubles: Vec::new(),
            silent: Vec::new(),
            memory: workload.memory.clone(),
        }
    }

    /// As it is, while it is paused: nobody looks, so nothing goes on that must last without a pause, and what ends by
    /// itself does.
    pub fn paused(workload: &Workload, now: Timestamp) -> Self {
        let mut memory = workload.memory.clone();
        (memory.demand_above_since, memory.backlog_since) = (None, None);
        memory.breached.clear();
        memory.gate.rest(&workload.policy.gate, now);
        memory.gate.rest_on(workload, now);
        let verdict = memory.gate.last_said(&workload.policy.gate);
        Self { verdict, memory, ..Self::unchanged(workload) }
    }
}
