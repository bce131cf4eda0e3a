//! What a decision means for others: whom the gate's lane judges, and what the metrics show.

use crate::evidence::{Exit, OwnSaid, Watched, WatchedPod};
use crate::metrics::Numbers;
use jiff::Timestamp;
use wellfed_engine::decision::Decision;
use wellfed_engine::gate::Verdict;
use wellfed_engine::policy::{GateMode, Policy, Target};
use wellfed_engine::sizing::need;
use wellfed_engine::units::Gpus;
use wellfed_engine::world::SignalValue;

/// For the gate's lane: only while demand exceeds its target, and the gate is not off. `pods` are its Ready pods, and how
/// its containers ended lately; `own` is what its own signals say.
pub fn watched(
    decision: &Decision,
    policy: &Policy,
    now: Timestamp,
    own: OwnSaid,
    pods: impl FnOnce() -> (Vec<WatchedPod>, Vec<Exit>),
) -> Option<Watched> {
    let since = decision.memory.demand_above_since?;
    if policy.gate.mode == GateMode::Off {
        return None;
    }
    let (pods, exits) = pods();
    Some(Watched {
        uid: decision.id.uid.clone(),
        namespace: decision.id.namespace.clone(),
        class: policy.class,
        gate: policy.gate,
        since,
        pods,
        exits,
        own,
        weights: weights(policy),
        slo_breached: slo_breached(decision, policy, now),
        sharded: policy.sharded(),
    })
}

/// Gigabytes of weights on each GPU of a replica that holds the whole model.
fn weights(policy: &Policy) -> Option<f64> {
    let model = policy.model.filter(|model| !model.sharded && policy.gpus_per_replica > Gpus::ZERO)?;
    Some(need(&model, policy.class, None).weights / f64::from(policy.gpus_per_replica.0))
}

/// Whether one of the objectives is exceeded, and for as long as it says.
fn slo_breached(decision: &Decision, policy: &Policy, now: Timestamp) -> bool {
    policy.signals.iter().any(|signal| {
        let Target::Slo(slo) = signal.target else { return false };
        decision.memory.breached.get(&signal.name).is_some_and(|since| now >= since.plus(slo.breach_for))
    })
}

/// For the metrics.
pub fn numbers(decision: &Decision) -> Numbers {
    Numbers {
        current: f64::from(decision.current.0),
        desired: f64::from(decision.number.0),
        wanted: f64::from(decision.wanted.0),
        refused: match decision.verdict {
            Verdict::Refuse { .. } => 1.0,
            Verdict::Allow { .. } => 0.0,
            Verdict::Unknown(_) => -1.0,
        },
    }
}

/// When the oldest of a signal's samples was taken.
pub fn oldest(value: &SignalValue) -> Option<Timestamp> {
    match value {
        SignalValue::External(reading) | SignalValue::PodsUnread(reading) => reading.at(),
        SignalValue::Pods(rows) => rows.values().filter_map(wellfed_engine::reading::Reading::at).min(),
    }
}
