//! What happened to a workload and is worth an event: scalings, conditions that turned, changes by others.

use crate::apply::Outcome;
use crate::contest::Foreign;
use crate::events::Happening;
use crate::observe::{Subject, SubjectState};
use crate::told::Failure;
use wellfed_crds::{Condition, ConditionStatus};
use wellfed_engine::decide::Decided;
use wellfed_engine::explain;

/// What is done in a scaling.
pub const SCALE: &str = "Scale";

/// Whether one of them has this reason.
pub fn tells(happenings: &[Happening], reason: &str) -> bool {
    happenings.iter().any(|happening| happening.reason == reason)
}

/// Every write that went through, and a failure once, however often it is tried again.
pub(crate) fn scalings(outcomes: &[&Outcome], decided: Option<&Decided>, before: Option<&Failure>) -> Vec<Happening> {
    let why = decided.and_then(|decided| decided.as_ref().ok()).map(explain::sentence).unwrap_or_default();
    let happening = |outcome: &&Outcome| {
        let action = &outcome.action;
        let (kind, name) = (&outcome.target.1, &outcome.target.2);
        match &outcome.result {
            Ok(_) => Happening {
                warning: false,
                reason: "Scaled".to_owned(),
                action: SCALE,
                note: format!("{kind} {name}: {} to {} replicas (pool {}). {why}", action.from, action.to, action.pool),
            },
            Err(error) => Happening {
                warning: true,
                reason: error.reason().to_owned(),
                action: SCALE,
                note: format!("{kind} {name} was not scaled from {} to {}: {error}", action.from, action.to),
            },
        }
    };
    let told = |outcome: &&Outcome| {
        outcome.result.as_ref().err().is_some_and(|error| before.is_some_and(|before| before.reason == error.reason()))
    };
    outcomes.iter().filter(|outcome| !told(outcome)).map(happening).collect()
}

/// A person's word against the gate, once each time it changes.
pub fn overrides(before: &[Condition], after: &[Condition]) -> Option<Happening> {
    let of = |all: &'_ [Condition]| all.iter().find(|one| one.kind == "GateOverridden").cloned();
    let (old, new) = (of(before), of(after)?);
    let same = old.is_some_and(|old| old.reason == new.reason && old.message == new.message);
    (!same).then(|| Happening {
        warning: new.reason != "Expired",
        reason: if new.status == ConditionStatus::True { "GateOverridden".to_owned() } else { new.reason.clone() },
        action: "Decide",
        note: new.message,
    })
}

/// Conditions that turned bad or good again; what was never bad is not told.
pub fn transitions(before: &[Condition], after: &[Condition]) -> Vec<Happening> {
    // `Starved` turns with a finding, which is told with its numbers.
    const TOLD: [&str; 4] = ["Accepted", "AbleToScale", "SignalsHealthy", "Contested"];
    let turned = |condition: &&Condition| {
        let old = before.iter().find(|old| old.kind == condition.kind);
        let same = old.is_some_and(|old| old.status == condition.status && old.reason == condition.reason);
        TOLD.contains(&condition.kind.as_str()) && !same && (is_bad(condition) || old.is_some_and(is_bad))
    };
    let tell = |condition: &Condition| Happening {
        warning: is_bad(condition),
        reason: condition.reason.clone(),
        action: "Decide",
        note: condition.message.clone(),
    };
    after.iter().filter(turned).map(tell).collect()
}

/// `Contested` is bad when true, the others when false.
fn is_bad(condition: &Condition) -> bool {
    match condition.kind.as_str() {
        "Contested" => condition.status == ConditionStatus::True,
        _ => condition.status == ConditionStatus::False,
    }
}

/// Changes of the targets by others.
pub fn foreign(subject: &Subject) -> Vec<Happening> {
    let SubjectState::Resolved(ready) = &subject.state else { return Vec::new() };
    let tell = |change: &Foreign| Happening {
        warning: false,
        reason: "ScaledByOthers".to_owned(),
        action: "Observe",
        note: format!("somebody else changed {} from {} to {} replicas", change.target, change.from, change.to),
    };
    ready.foreign.iter().map(tell).collect()
}
