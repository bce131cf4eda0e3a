//! World → decisions: the steps in order, for all workloads in one serial pass.

use crate::decision::{Decision, PoolNumber, Step, StepRecord, StepResult};
use crate::ledger::Ledger;
use crate::memory::Memory;
use crate::policy::{GateMode, Mode};
use crate::remember::noted;
use crate::steps;
use crate::units::{Replicas, WorkloadId};
use crate::world::{Workload, World};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One workload's decision, or the panic that prevented it.
pub type Decided = Result<Decision, Panicked>;

/// Deciding one workload panicked: a bug of ours that stops no other workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// Whose decision it was.
    pub id: WorkloadId,
    /// What the panic said.
    pub message: String,
}

/// Decides every workload, in the order of [`World::in_order`]; reservations are made as it goes.
pub fn decide(world: &World) -> Vec<Decided> {
    decide_with(world, decide_one)
}

/// [`decide`] with another way to decide one workload.
pub fn decide_with(world: &World, one: impl Fn(&Workload, &World, &mut Ledger) -> Decision) -> Vec<Decided> {
    let order = world.in_order();
    let mut ledger = Ledger::serving(&order, world);
    order
        .into_iter()
        .map(|workload| {
            catch_unwind(AssertUnwindSafe(|| one(workload, world, &mut ledger)))
                .map_err(|panic| Panicked { id: workload.id.clone(), message: panic_message(panic.as_ref()) })
        })
        .collect()
}

/// What a caught panic said.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

/// The straight line of one workload.
fn decide_one(workload: &Workload, world: &World, ledger: &mut Ledger) -> Decision {
    let policy = &workload.policy;
    let now = world.now;
    if policy.mode == Mode::Paused {
        return Decision::paused(workload, now);
    }
    let current = workload.current();
    let mut trace = Trace::from(current);

    let steps::Demand { result, raw, all_known, troubles, silent } = steps::demand(workload, now);
    let wanted = trace.take(Step::Demand, result);
    let mut memory = noted(workload, raw, all_known, now);

    let paced = trace.take(Step::Stabilise, steps::stabilise(wanted, current, &policy.behavior, &memory, now));
    let backlog = memory.backlog_since.map(|since| since.0);
    memory.gate.look(workload, (memory.demand_above_since.is_some(), backlog), now);
    let pleas = steps::Pleas::of(workload, &memory, now);
    let (within, bounded) = bounded(paced, workload, &memory, &pleas);
    let bounded = trace.take(Step::Bounds, bounded);

    let verdict = memory.gate.verdict(&policy.gate);
    let verdict = memory.gate.recalled(verdict, memory.demand_above_since, &policy.gate, now);
    let ask = steps::Ask { want: bounded, current, min: policy.min };
    let gated = trace.take(Step::Gate, steps::gate(ask, verdict, &policy.gate, &pleas));

    let roomy = trace.take(Step::Capacity, steps::capacity(gated, workload, ledger));
    let steps::Split { pools, result, spilled } = steps::split(roomy, workload, ledger, now);
    let number = trace.take(Step::Split, result);

    let verdict = if within > current { verdict } else { memory.gate.last_said(&policy.gate) };
    // What the pace, the maximum or a ceiling holds back is demand all the same: evidence on it is still looked for, and
    // what was added last is still on trial.
    memory.note_demand(workload, (wanted, all_known), now);
    memory.settle(workload, &spilled, now);
    Decision {
        id: workload.id.clone(),
        current,
        wanted,
        number,
        pools: numbers(workload, &pools),
        steps: trace.records,
        verdict,
        troubles,
        silent,
        memory,
    }
}

/// The wish within minimum and maximum, and below a ceiling of the gate against which no plea is heard.
fn bounded(want: Replicas, workload: &Workload, memory: &Memory, pleas: &steps::Pleas<'_>) -> (Replicas, StepResult) {
    let policy = &workload.policy;
    let within = steps::bounds(want, policy.min, policy.max);
    match &memory.gate.ceiling {
        Some(ceiling) if policy.gate.mode == GateMode::Enforce => {
            let (after, current) = (within.after, workload.current());
            (after, steps::under_ceiling(within, ceiling, (current, policy.min), &policy.gate, pleas))
        }
        _ => (within.after, within),
    }
}

fn numbers(workload: &Workload, targets: &[Replicas]) -> Vec<PoolNumber> {
    let policies = workload.policy.pools.iter().zip(&workload.pools).zip(targets);
    policies.map(|((policy, state), to)| PoolNumber { pool: policy.name(), from: state.asked, to: *to }).collect()
}

/// The records so far; each step starts where the last ended.
struct Trace {
    at: Replicas,
    records: Vec<StepRecord>,
}

impl Trace {
    fn from(current: Replicas) -> Self {
        Self { at: current, records: Vec::with_capacity(6) }
    }

    fn take(&mut self, step: Step, result: StepResult) -> Replicas {
        let StepResult { after, reason } = result;
        self.records.push(StepRecord { step, before: self.at, after, reason });
        self.at = after;
        after
    }
}
