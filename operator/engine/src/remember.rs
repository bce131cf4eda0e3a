//! What a decision leaves behind for the next one.

use crate::changes;
use crate::decision::{Decision, Reason, Step, StepRecord};
use crate::memory::{Adoption, Change, Growth, Memory, Moment};
use crate::policy::{Behavior, OnUnknown};
use crate::steps::breached;
use crate::units::{PoolName, Replicas};
use crate::world::Workload;
use jiff::{SignedDuration, Timestamp};

/// The workload's memory with this demand noted: its raw desire, and how long its readings have been known.
pub(crate) fn noted(workload: &Workload, wanted: Replicas, all_known: bool, now: Timestamp) -> Memory {
    let mut memory = workload.memory.clone();
    let behavior = &workload.policy.behavior;
    let longest = behavior.up.window.max(behavior.down.window);
    if memory.desires.is_empty() {
        // The first desire of a new workload is what runs.
        memory.desires.note(now, workload.current(), longest);
    }
    memory.desires.note(now, wanted, longest);
    memory.growth.take_if(|growth| !growth.is_landing(workload, now));
    memory.breached = breached(workload, now);
    memory.adoption = adoption(memory.adoption, all_known, behavior.down.window, now);
    memory
}

fn adoption(before: Adoption, all_known: bool, window: SignedDuration, now: Timestamp) -> Adoption {
    match before {
        Adoption::Done => Adoption::Done,
        Adoption::Watching { .. } if !all_known => Adoption::Watching { known_since: None },
        Adoption::Watching { known_since } => {
            let since = known_since.unwrap_or(Moment::of(now));
            if now.duration_since(since.0) >= window {
                Adoption::Done
            } else {
                Adoption::Watching { known_since: Some(since) }
            }
        }
    }
}

impl Memory {
    /// Notes how demand stands. What was asked for serves nobody before it is Ready: until then demand is as far above its
    /// target as it was. Work that piles up as fast as replicas are added is at its target each time it was answered: it
    /// stays evidence until demand is known to be below.
    pub(crate) fn note_demand(&mut self, workload: &Workload, (wanted, all_known): (Replicas, bool), now: Timestamp) {
        let now = Moment::of(now);
        let starting = self.backlog_since.is_some() && wanted > workload.ready();
        let above = wanted > workload.current() || starting;
        let met = self.demand_above_since.is_some() && all_known && wanted == workload.current();
        self.backlog_since = above.then(|| self.backlog_since.unwrap_or(now));
        self.demand_above_since = (above || met).then(|| self.demand_above_since.unwrap_or(now.0));
    }

    /// Notes what follows from the numbers of this decision.
    pub(crate) fn settle(&mut self, workload: &Workload, spilled: &[PoolName], now: Timestamp) {
        for (policy, state) in workload.policy.pools.iter().zip(&workload.pools) {
            let name = policy.name_ref();
            if state.live() >= state.asked {
                self.short.remove(name);
            } else if !self.short.contains_key(name) {
                self.short.insert(name.clone(), Moment::of(now));
            }
            if spilled.contains(name) {
                self.spilled.insert(name.clone(), Moment::of(now));
            } else if self.spilled.get(name).is_some_and(|at| now >= at.plus(policy.return_after)) {
                self.spilled.remove(name);
            }
        }
        let ours = |name: &PoolName| workload.policy.pools.iter().any(|pool| pool.name_ref() == name);
        self.short.retain(|name, _| ours(name));
        self.spilled.retain(|name, _| ours(name));
    }
}

/// The memory to keep: the decision's, and the change of the number if it was written.
pub fn remember(decision: &Decision, written: bool, behavior: &Behavior, now: Timestamp) -> Memory {
    let at = Moment::of(now);
    let change = |replicas: Replicas| (written && replicas > Replicas::ZERO).then_some(Change { at, replicas });
    let policies = behavior.up.policies.iter().chain(&behavior.down.policies);
    let longest = policies.map(|policy| policy.period).max().unwrap_or_default();
    let mut memory = decision.memory.clone();
    memory.ups = changes::with(&memory.ups, change(decision.number.minus(decision.current)), longest, now);
    memory.downs = changes::with(&memory.downs, change(decision.current.minus(decision.number)), longest, now);
    if written && decision.number != decision.current {
        memory.growth = (decision.number > decision.current).then_some(Growth { at, to: decision.number });
    }
    if written && decision.number > decision.current {
        grown(&mut memory, decision, at);
    }
    memory
}

/// What let it grow: growth that the gate let pass is put on trial, if it is known how well the replicas did before; a
/// latency objective has had its step.
fn grown(memory: &mut Memory, decision: &Decision, at: Moment) {
    // It is heard against a ceiling too, by another step than the gate.
    if decision.steps.iter().any(|record| matches!(record.reason, Reason::SloOverride { .. })) {
        memory.gate.slo_passed = Some(at);
        return;
    }
    let gate = decision.steps.iter().find(|record| record.step == Step::Gate);
    let passed = |record: &StepRecord| {
        matches!(record.reason, Reason::GatePassed { .. } | Reason::GateUnknown { then: OnUnknown::Allow, .. })
    };
    if gate.is_some_and(passed) {
        memory.gate.try_growth(decision.current, decision.number, at);
    }
}
