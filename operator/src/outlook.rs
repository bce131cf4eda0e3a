//! What a decision means for others: whom the gate's lane judges, and what the metrics show.

use crate::evidence::{Exit, OwnSaid, Watched, WatchedPod};
use crate::metrics::Numbers;
use jiff::Timestamp;
use wellfed_engine::decision::Decision;
use wellfed_engine::gate::Verdict;
use wellfed_engine::policy::{GateMode, Mode, Policy, Target};
use wellfed_engine::sizing::need;
use wellfed_engine::units::{Gpus, WorkloadId};
use wellfed_engine::world::{SignalValue, Workload};

/// For the gate's lane, unless the gate is off or nothing is decided. `pods` are its Ready pods, and how its containers ended
/// lately; `own` is what its own signals say.
pub fn watched(
    decision: &Decision,
    policy: &Policy,
    now: Timestamp,
    own: OwnSaid,
    pods: impl FnOnce() -> (Vec<WatchedPod>, Vec<Exit>),
) -> Option<Watched> {
    if policy.gate.mode == GateMode::Off || policy.mode == Mode::Paused {
        return None;
    }
    let since = decision.memory.demand_above_since;
    let (pods, exits) = pods();
    Some(Watched {
        uid: decision.id.uid.clone(),
        namespace: decision.id.namespace.clone(),
        class: policy.class,
        gate: policy.gate,
        since,
        pods,
        exits,
        backlog_lasts: since.is_some_and(|since| backlog_lasts(decision, policy, since, now)),
        own,
        weights: weights(policy),
        slo_breached: slo_breached(decision, policy, now),
        sharded: policy.sharded(),
        sources: decision.memory.gate.sources,
    })
}

/// Whether demand exceeds its target now, and is no lower than when the window began. What was before `since` is no demand.
fn backlog_lasts(decision: &Decision, policy: &Policy, since: Timestamp, now: Timestamp) -> bool {
    let window = policy.gate.window.min(now.duration_since(since));
    decision.memory.backlog_since.is_some() && !decision.memory.desires.falls(now, window)
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

/// The signals of a workload, and when the oldest sample of each was taken, where it can be read.
pub fn signal_times(workload: &Workload) -> impl Iterator<Item = (&WorkloadId, &str, Option<Timestamp>)> {
    let signals = workload.policy.signals.iter().zip(&workload.signals);
    signals.map(|(policy, signal)| (&workload.id, policy.name.0.as_str(), oldest(&signal.value)))
}

/// When the oldest of a signal's samples was taken.
fn oldest(value: &SignalValue) -> Option<Timestamp> {
    match value {
        SignalValue::External(reading) | SignalValue::PodsUnread(reading) => reading.at(),
        SignalValue::Pods(rows) => rows.values().filter_map(wellfed_engine::reading::Reading::at).min(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wellfed_engine::testing::{Scenario, WorkloadBuilder, at, server, world};

    fn seen(scenario: &Scenario) -> Option<Watched> {
        let (decision, policy) = (scenario.decision("chat"), &scenario.find("chat")?.policy);
        watched(&decision, policy, scenario.world.now, OwnSaid::default(), || (Vec::new(), Vec::new()))
    }

    /// Of eight replicas: what was wanted, and what is a minute later. None where demand is met.
    fn lasts(first: u32, then: u32) -> Option<bool> {
        let chat = |wanted| server("chat").running(8).wanting(wanted);
        let begun = world().workload(chat(first)).remembered(false);
        let later = seen(&begun.becomes(chat(then)).later(60).remembered(false))?;
        later.since.map(|_| later.backlog_lasts)
    }

    #[test]
    fn who_asks_for_no_more_is_looked_at_too_and_who_is_paused_or_has_no_gate_is_not() {
        let since = |chat: WorkloadBuilder| Some(seen(&world().workload(chat).remembered(false))?.since);
        let chat = |wanted| server("chat").running(8).wanting(wanted);

        assert_eq!(since(chat(16)), Some(Some(at(0))));
        assert_eq!(since(chat(4)), Some(None));
        assert_eq!(since(chat(4).mode(Mode::Recommend)), Some(None));
        assert_eq!(since(chat(4).mode(Mode::Paused)), None);
        assert_eq!(since(chat(16).gate(GateMode::Off)), None);
    }

    #[test]
    fn a_backlog_lasts_while_demand_exceeds_its_target_and_does_not_fall() {
        assert_eq!(lasts(16, 16), Some(true));
        assert_eq!(lasts(12, 20), Some(true));
        assert_eq!(lasts(16, 10), Some(false), "it goes away by itself");
        assert_eq!(lasts(16, 8), Some(false), "it is met");
        assert_eq!(lasts(16, 4), None, "there is none then");
    }
}
