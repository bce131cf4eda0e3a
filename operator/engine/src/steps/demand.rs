//! What the signals ask for: the largest proposal, held where a signal can't be believed.

use super::proposal::{Gaps, Proposal, propose};
use super::slo::{SloSays, slo};
use crate::decision::{Reason, Silent, StepResult};
use crate::policy::{SignalPolicy, Target};
use crate::reading::Trouble;
use crate::units::{Replicas, SignalName};
use crate::world::{SignalState, Workload};
use jiff::{SignedDuration, Timestamp};

/// Replicas that are not Ready after this stop further growth: longer than most models take to load.
pub const START_GRACE: SignedDuration = SignedDuration::from_mins(15);

/// One replica in so many is few: as many may be late and the next start well, such as those on bad nodes. It bounds what
/// piles up where nothing starts.
pub const FEW_IN: u32 = 10;

/// The step's result, and the signals that can't be used, or not wholly.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The number and why.
    pub result: StepResult,
    /// What the windows store: the number, before replicas that are too new to have a sample held it.
    pub raw: Replicas,
    /// Whether every Ready replica is known by every signal.
    pub all_known: bool,
    /// Every signal in trouble.
    pub troubles: Vec<(SignalName, Trouble)>,
    /// Every signal that lacks a Ready replica's sample.
    pub silent: Vec<Silent>,
}

/// HPA's rules with one departure: while a Ready replica lacks a known value the number never falls.
pub fn demand(workload: &Workload, now: Timestamp) -> Demand {
    let current = workload.current();
    let mut best: Option<Ask> = None;
    let mut hold: Option<Hold> = None;
    let (mut troubles, mut silent) = (Vec::new(), Vec::new());
    for (position, signal) in workload.policy.signals.iter().enumerate() {
        let heard = hear(signal, workload.signals.get(position), workload, now);
        if let Some(trouble) = heard.trouble {
            troubles.push((signal.name.clone(), trouble));
        }
        silent.extend(heard.hold.as_ref().and_then(Hold::silent));
        hold = hold.or(heard.hold);
        // The first of equals wins.
        best = heard.ask.filter(|ask| best.as_ref().is_none_or(|best| ask.replicas > best.replicas)).or(best);
    }
    let asked = best.as_ref().map(|ask| ask.replicas);
    let all_known = hold.is_none() && troubles.is_empty();
    let passing = !all_known && troubles.is_empty() && silent.is_empty();
    let result = match (best, hold) {
        (Some(ask), None) => ask.result(current),
        (Some(ask), Some(_)) if ask.replicas >= current => ask.result(current),
        (_, Some(hold)) => StepResult { after: current, reason: hold.reason() },
        (None, None) => StepResult { after: current, reason: Reason::Unchanged },
    };
    let result = not_starting(result, workload, now);
    let raw = asked.filter(|_| passing).unwrap_or(result.after).min(result.after);
    Demand { result, raw, all_known, troubles, silent }
}

/// What one signal makes of it.
#[derive(Default)]
struct Heard<'a> {
    ask: Option<Ask<'a>>,
    hold: Option<Hold<'a>>,
    trouble: Option<Trouble>,
}

fn hear<'a>(signal: &'a SignalPolicy, state: Option<&SignalState>, workload: &Workload, now: Timestamp) -> Heard<'a> {
    let name = &signal.name;
    if let (Target::Slo(objective), Some(state)) = (signal.target, state) {
        let since = workload.memory.breached.get(name).copied();
        match slo(objective, &state.value, since, workload, now) {
            SloSays::Nothing => return Heard::default(),
            SloSays::More { replicas, value } => {
                let ask = Ask { name, replicas, why: Why::Slo { value, slo: objective.value } };
                return Heard { ask: Some(ask), ..Heard::default() };
            }
            SloSays::Trouble(trouble) => return unheard(signal, trouble, state.failures, workload),
        }
    }
    let proposal =
        state.map_or(Proposal::Trouble(Trouble::Missing), |state| propose(signal.target, &state.value, workload, now));
    let trouble = match proposal {
        Proposal::Number { replicas, value, target, gaps } => {
            let hold = (gaps.missing + gaps.new > 0).then_some(Hold { name, why: Doubt::Samples(gaps) });
            let ask = Some(Ask { name, replicas, why: Why::Measured { value, target } });
            return Heard { ask, hold, trouble: None };
        }
        Proposal::Trouble(trouble) => trouble,
    };
    unheard(signal, trouble, state.map_or(0, |state| state.failures), workload)
}

fn unheard<'a>(signal: &'a SignalPolicy, trouble: Trouble, failures: u32, workload: &Workload) -> Heard<'a> {
    let name = &signal.name;
    match workload.policy.fallback {
        Some(fallback) if failures > fallback.failure_threshold => {
            let ask = Ask { name, replicas: fallback.number(workload.current()), why: Why::Fallback { failures } };
            Heard { ask: Some(ask), hold: None, trouble: Some(trouble) }
        }
        _ => Heard { ask: None, hold: Some(Hold { name, why: Doubt::Signal(trouble) }), trouble: Some(trouble) },
    }
}

/// A number that a signal asks for.
struct Ask<'a> {
    name: &'a SignalName,
    replicas: Replicas,
    why: Why,
}

enum Why {
    Measured { value: f64, target: f64 },
    Slo { value: f64, slo: f64 },
    Fallback { failures: u32 },
}

impl Ask<'_> {
    fn result(&self, current: Replicas) -> StepResult {
        let signal = self.name.clone();
        let reason = match self.why {
            Why::Measured { value, target } if self.replicas == current => {
                Reason::WithinTolerance { signal, value, target }
            }
            Why::Measured { value, target } => Reason::Signal { signal, value, target },
            Why::Slo { value, slo } => Reason::SloBreached { signal, value, slo },
            Why::Fallback { failures } => Reason::Fallback { signal, failures },
        };
        StepResult { after: self.replicas, reason }
    }
}

/// A signal that keeps the number from falling.
struct Hold<'a> {
    name: &'a SignalName,
    why: Doubt,
}

enum Doubt {
    Samples(Gaps),
    Signal(Trouble),
}

impl Hold<'_> {
    fn silent(&self) -> Option<Silent> {
        match self.why {
            Doubt::Samples(Gaps { missing, of, .. }) if missing > 0 => {
                Some(Silent { signal: self.name.clone(), missing, of })
            }
            Doubt::Samples(_) | Doubt::Signal(_) => None,
        }
    }

    fn reason(&self) -> Reason {
        let signal = self.name.clone();
        match self.why {
            Doubt::Samples(Gaps { missing, new, of }) => Reason::SamplesMissing { signal, missing: missing + new, of },
            Doubt::Signal(trouble) => Reason::SignalsUnavailable { signal, trouble },
        }
    }
}

/// More of what does not start helps nobody, unless it is a few of many.
fn not_starting(asked: StepResult, workload: &Workload, now: Timestamp) -> StepResult {
    let current = workload.current();
    if asked.after <= current {
        return asked;
    }
    let late = workload.late(now, START_GRACE);
    if late.replicas.0 <= current.0 / FEW_IN {
        return asked;
    }
    let reason = Reason::ReplicasNotStarting { replicas: late.replicas.0, waited: late.longest };
    StepResult { after: current, reason }
}
