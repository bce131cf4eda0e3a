//! What lets growth pass that the gate would hold: a person's word, and a latency objective that is exceeded.

use crate::decision::{Reason, StepResult};
use crate::memory::Memory;
use crate::opinion::Opinion;
use crate::policy::{Class, Slo, Target};
use crate::rules::RuleName;
use crate::units::{Replicas, SignalName};
use crate::world::{GateOverride, Workload};
use jiff::Timestamp;

/// What speaks for growth whatever the verdict is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pleas<'a> {
    /// A person's word, in force.
    pub user: Option<&'a GateOverride>,
    /// An objective that has been exceeded for long enough.
    pub slo: Option<SloPlea<'a>>,
}

/// An objective that has been exceeded for long enough, and has not let anything pass within the last window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SloPlea<'a> {
    /// Its signal.
    pub signal: &'a SignalName,
    /// The most that it lets pass.
    pub step: Replicas,
    /// The queue's share of the latency, if it is known.
    pub queue_share: Option<f64>,
}

impl<'a> Pleas<'a> {
    /// For `workload`, with what has been noted of this cycle in `memory`.
    pub fn of(workload: &'a Workload, memory: &Memory, now: Timestamp) -> Self {
        Self { user: workload.override_at(now), slo: slo(workload, memory, now) }
    }

    /// What passes of `want` where only `held` would, `rule` speaking against it if one does; none where no plea is heard.
    pub(super) fn heard(&self, want: Replicas, held: Replicas, rule: Option<RuleName>) -> Option<StepResult> {
        if let Some(GateOverride { reason, until }) = self.user {
            let reason = Reason::GateOverridden { rule, because: reason.clone(), until: *until };
            return Some(StepResult { after: want, reason });
        }
        let SloPlea { signal, step, queue_share } = self.slo?;
        let reason = Reason::SloOverride { signal: signal.clone(), rule, queue_share };
        Some(StepResult { after: want.min(held.plus(step)), reason })
    }
}

/// A known share of queueing lets a step pass; an unknown one a single replica, and of inference only, whose users wait;
/// where the latency is the work itself more replicas do not shorten it.
fn slo<'a>(workload: &'a Workload, memory: &Memory, now: Timestamp) -> Option<SloPlea<'a>> {
    let exceeded = workload.policy.signals.iter().filter_map(|signal| match signal.target {
        Target::Slo(slo) if is_exceeded(slo, &signal.name, memory, now) => Some((&signal.name, slo.step)),
        _ => None,
    });
    let (signal, step) = exceeded.max_by_key(|(_, step)| *step)?;
    if memory.gate.slo_passed.is_some_and(|at| now < at.plus(workload.policy.gate.window)) {
        return None;
    }
    let recent = |opinion: &&Opinion| now.duration_since(opinion.at) <= workload.policy.gate.window;
    let queue_share = workload.opinion.as_ref().filter(recent).and_then(|opinion| opinion.facts.queue_share);
    let step = match queue_share {
        Some(share) if share >= workload.policy.gate.thresholds.queue_share_below => step,
        None if workload.policy.class == Class::Inference => step.min(Replicas(1)),
        Some(_) | None => return None,
    };
    Some(SloPlea { signal, step, queue_share })
}

fn is_exceeded(slo: Slo, signal: &SignalName, memory: &Memory, now: Timestamp) -> bool {
    memory.breached.get(signal).is_some_and(|since| now >= since.plus(slo.breach_for))
}
