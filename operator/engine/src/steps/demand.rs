//! What the signals ask for: the largest proposal, held where a signal can't be believed.

use super::proposal::{Proposal, propose};
use crate::decision::{Reason, StepResult};
use crate::policy::SignalPolicy;
use crate::reading::Trouble;
use crate::units::{Replicas, SignalName};
use crate::world::{SignalState, Workload};
use jiff::{SignedDuration, Timestamp};

/// Replicas that are not Ready after this stop further growth: longer than most models take to load.
pub const START_GRACE: SignedDuration = SignedDuration::from_mins(15);

/// The step's result, and the signals that can't be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The number and why.
    pub result: StepResult,
    /// Every signal in trouble.
    pub troubles: Vec<(SignalName, Trouble)>,
    /// Whether every signal and every Ready replica's sample is known.
    pub all_known: bool,
}

/// HPA's rules with one departure: while a Ready replica lacks a known value the number never falls.
pub fn demand(workload: &Workload, now: Timestamp) -> Demand {
    let current = workload.current();
    let mut best = StepResult { after: Replicas::ZERO, reason: Reason::Unchanged };
    let mut hold: Option<Reason> = None;
    let mut troubles = Vec::new();
    for (signal, state) in workload.policy.signals.iter().zip(&workload.signals) {
        let asked = ask(signal, state, workload);
        if let Some(trouble) = asked.trouble {
            troubles.push((signal.name.clone(), trouble));
        }
        hold = hold.or(asked.hold);
        if let Some(result) = asked.result.filter(|result| result.after > best.after || best.reason == Reason::Unchanged) {
            best = result;
        }
    }
    let all_known = troubles.is_empty() && hold.is_none();
    if let Some(reason) = hold.filter(|_| best.after < current || best.reason == Reason::Unchanged) {
        best = StepResult { after: current, reason };
    }
    Demand { result: not_starting(best, workload, now), troubles, all_known }
}

struct Asked {
    result: Option<StepResult>,
    hold: Option<Reason>,
    trouble: Option<Trouble>,
}

fn ask(signal: &SignalPolicy, state: &SignalState, workload: &Workload) -> Asked {
    let name = || signal.name.clone();
    match propose(signal.target, &state.value, workload) {
        Proposal::Number { replicas, value, target, missing: (missing, of) } => {
            let reason = if replicas == workload.current() {
                Reason::WithinTolerance { signal: name(), value, target }
            } else {
                Reason::Signal { signal: name(), value, target }
            };
            let hold = (missing > 0).then(|| Reason::SamplesMissing { signal: name(), missing, of });
            Asked { result: Some(StepResult { after: replicas, reason }), hold, trouble: None }
        }
        Proposal::Trouble(trouble) => match workload.policy.fallback {
            Some(fallback) if state.failures > fallback.failure_threshold => {
                let reason = Reason::Fallback { signal: name(), failures: state.failures };
                let after = fallback.number(workload.current());
                Asked { result: Some(StepResult { after, reason }), hold: None, trouble: Some(trouble) }
            }
            _ => {
                let hold = Some(Reason::SignalsUnavailable { signal: name(), trouble });
                Asked { result: None, hold, trouble: Some(trouble) }
            }
        },
    }
}

/// More of what does not start helps nobody.
fn not_starting(asked: StepResult, workload: &Workload, now: Timestamp) -> StepResult {
    let current = workload.current();
    if asked.after <= current {
        return asked;
    }
    let waited: Vec<_> = workload.waiting(now).filter(|waited| *waited >= START_GRACE).collect();
    let Some(longest) = waited.iter().max() else { return asked };
    let replicas = u32::try_from(waited.len()).unwrap_or(u32::MAX);
    StepResult { after: current, reason: Reason::ReplicasNotStarting { replicas, waited: *longest } }
}
