//! How each aspect of a workload stands, from what was observed and decided.

use crate::gate_override::{ANNOTATION, Word};
use crate::observe::Ready;
use crate::resolve::Unresolved;
use crate::stuck::Stuck;
use wellfed_crds::ConditionStatus::{self, False, True, Unknown};
use wellfed_engine::decision::{Decision, Reason, Silent, Step};
use wellfed_engine::explain;
use wellfed_engine::gate::Verdict;
use wellfed_engine::policy::Mode;
use wellfed_engine::reading::{ReadFailure, Trouble};
use wellfed_engine::sizing::Sizing;
use wellfed_engine::world::GateOverride;

/// A condition before it has a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aspect {
    /// Which.
    pub kind: &'static str,
    /// How it stands.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: String,
    /// Why, in words.
    pub message: String,
}

fn aspect(kind: &'static str, status: ConditionStatus, reason: &str, message: impl Into<String>) -> Aspect {
    Aspect { kind, status, reason: reason.to_owned(), message: message.into() }
}

/// Of a workload that can't be decided.
pub fn unresolved(why: &Unresolved) -> Vec<Aspect> {
    match why {
        Unresolved::Refused(refusals) => {
            let reason = refusals.first().map_or_else(String::new, |refusal| refusal.reason.to_string());
            let message: Vec<_> = refusals.iter().map(ToString::to_string).collect();
            let kept = "The workload keeps its replicas until this is fixed.";
            let message = format!("{}. {kept}", message.join("; "));
            vec![
                aspect("Accepted", False, &reason, message.clone()),
                aspect("ScalingActive", False, "NotAccepted", "nothing is decided until it is accepted"),
                aspect("Ready", False, &reason, message),
            ]
        }
        Unresolved::NoTarget(refusal) => vec![
            aspect("Accepted", True, "Accepted", "the object is well formed"),
            aspect("AbleToScale", False, "TargetNotFound", refusal.to_string()),
            aspect("ScalingActive", False, "TargetNotFound", "there is nothing to scale"),
            aspect("Ready", False, "TargetNotFound", refusal.to_string()),
        ],
    }
}

/// Of a workload whose decision panicked.
pub fn panicked(message: &str) -> Vec<Aspect> {
    let message = format!("deciding it failed: {message}. The workload keeps its replicas; please report this.");
    vec![
        aspect("ScalingActive", False, "DecisionFailed", message.clone()),
        aspect("Ready", False, "DecisionFailed", message),
    ]
}

/// What stands in the way of writing.
pub struct Obstacles<'a> {
    /// The kill switch, with its reason.
    pub stopped: Option<&'a str>,
    /// The last write's failure: one word, and words.
    pub failed: Option<(&'a str, &'a str)>,
}

/// Of a decided workload.
pub fn decided(ready: &Ready, decision: &Decision, obstacles: &Obstacles<'_>) -> Vec<Aspect> {
    let mut all = vec![
        accepted(ready.resolved.sizing.as_ref()),
        able(ready, obstacles),
        active(ready, decision),
        limited(decision),
        healthy(decision),
        starved(decision),
        contested(ready),
    ];
    all.extend(ready.gate_override.as_ref().map(overridden));
    all.push(summary(&all, ready, decision));
    all
}

/// Only where a person said something against the gate.
fn overridden(word: &Word) -> Aspect {
    match word {
        Word::InForce(GateOverride { reason, until }) => {
            let message = format!("the gate holds nothing back until {until}: {reason}");
            aspect("GateOverridden", True, "Overridden", message)
        }
        Word::Expired(GateOverride { reason, until }) => {
            let message = format!("the override ended at {until} ({reason}); remove annotation {ANNOTATION}");
            aspect("GateOverridden", False, "Expired", message)
        }
        Word::Refused(error) => {
            let message = format!(
                "annotation {ANNOTATION} has no effect: {error}. Write \"<reason>; until=<time>\" with a time of the next 7 \
                 days, such as \"launch day; until=2026-01-31T18:00:00Z\""
            );
            aspect("GateOverridden", False, "OverrideRefused", message)
        }
    }
}

/// A model that can't fit is a warning: pools say what their GPUs have, and a person may know better.
fn accepted(sizing: Option<&Sizing>) -> Aspect {
    match sizing.and_then(Sizing::misfit) {
        Some(misfit) => aspect("Accepted", True, "ModelMayNotFit", misfit),
        None => aspect("Accepted", True, "Accepted", "the object is well formed and its pools and targets exist"),
    }
}

fn able(ready: &Ready, obstacles: &Obstacles<'_>) -> Aspect {
    let mode = ready.resolved.policy.mode;
    if let Some(driven) = &ready.resolved.driven {
        let reason = match driven {
            crate::resolve::Driven::ByHpa { .. } => "DrivenByHpa",
            crate::resolve::Driven::ByOwner { .. } => "DrivenByOwner",
        };
        return aspect("AbleToScale", False, reason, driven.message(mode));
    }
    if let Some(reason) = obstacles.stopped {
        let message = format!("the kill switch is on ({reason}): nothing is written to any workload");
        return aspect("AbleToScale", False, "KillSwitch", message);
    }
    if ready.contested {
        let message =
            "somebody else keeps changing the replicas: nothing is written until ten quiet minutes have passed";
        return aspect("AbleToScale", False, "Contested", message);
    }
    if let Some((reason, message)) = obstacles.failed.filter(|_| mode == Mode::Auto) {
        return aspect("AbleToScale", False, reason, message);
    }
    match mode {
        Mode::Auto => aspect("AbleToScale", True, "ReadyForNewScale", "decisions are written"),
        Mode::Recommend => aspect("AbleToScale", True, "Recommend", "mode Recommend: decisions are shown, not written"),
        Mode::Paused => aspect("AbleToScale", True, "Paused", "mode Paused: nothing is decided"),
    }
}

fn active(ready: &Ready, decision: &Decision) -> Aspect {
    if ready.resolved.policy.mode == Mode::Paused {
        return aspect("ScalingActive", False, "Paused", "mode Paused: nothing is decided");
    }
    if not_read_yet(decision) {
        return aspect("ScalingActive", Unknown, "NotReadYet", "the signals have not been read yet");
    }
    if decision.troubles.len() >= ready.resolved.policy.signals.len() {
        return aspect("ScalingActive", False, "NoSignal", format!("no signal can be used: {}", troubles(decision)));
    }
    aspect("ScalingActive", True, "ValidSignal", "at least one signal can be used")
}

fn limited(decision: &Decision) -> Aspect {
    match decision.binding_record() {
        Some(record) if record.step != Step::Demand && record.before != record.after => {
            let message = format!("{}: {}", explain::step(record.step), explain::reason(&record.reason));
            aspect("ScalingLimited", True, why(record.step, &record.reason), message)
        }
        _ => aspect("ScalingLimited", False, "DesiredWithinRange", "the number is what the signals ask for"),
    }
}

fn healthy(decision: &Decision) -> Aspect {
    if not_read_yet(decision) {
        return aspect("SignalsHealthy", Unknown, "NotReadYet", "the signals have not been read yet");
    }
    let reason = match (decision.troubles.first(), decision.silent.first()) {
        (None, None) => {
            return aspect("SignalsHealthy", True, "AllKnown", "every signal is read, recent and plausible");
        }
        (Some((_, trouble)), _) => unhealthy(*trouble),
        (None, Some(_)) => "SamplesMissing",
    };
    let silent = decision.silent.iter().map(|Silent { signal, missing, of }| {
        format!("signal {signal}: no believable sample for {missing} of {of} Ready replicas")
    });
    let all: Vec<_> = each_trouble(decision).chain(silent).collect();
    aspect("SignalsHealthy", False, reason, format!("{}. Nothing shrinks until that ends.", all.join("; ")))
}

/// What is wrong with a signal in one word, so that another kind of fault is another condition.
const fn unhealthy(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Stale { .. } => "SignalStale",
        Trouble::Missing => "SignalEmpty",
        Trouble::Implausible(_) => "SignalImplausible",
        Trouble::Failed(failure) => match failure {
            ReadFailure::Unreachable => "SignalUnreachable",
            ReadFailure::Timeout => "SignalTimeout",
            ReadFailure::Http { .. } => "SignalHttpError",
            ReadFailure::BadQuery => "SignalQueryRefused",
            ReadFailure::NotAVector => "SignalNotAVector",
            ReadFailure::TooManyRows => "SignalTooManyRows",
            ReadFailure::Garbled => "SignalGarbled",
            ReadFailure::Partial => "SignalPartial",
            ReadFailure::NotYet => "SignalNotReadYet",
        },
    }
}

/// A new workload's first moments are no fault.
fn not_read_yet(decision: &Decision) -> bool {
    let not_yet = |trouble: &Trouble| *trouble == Trouble::Failed(ReadFailure::NotYet);
    !decision.troubles.is_empty() && decision.troubles.iter().all(|(_, trouble)| not_yet(trouble))
}

fn each_trouble(decision: &Decision) -> impl Iterator<Item = String> {
    decision.troubles.iter().map(|(signal, trouble)| format!("signal {signal}: {trouble}"))
}

fn troubles(decision: &Decision) -> String {
    each_trouble(decision).collect::<Vec<_>>().join("; ")
}

fn starved(decision: &Decision) -> Aspect {
    match decision.verdict {
        Verdict::Refuse { rule, .. } => {
            let message = format!("{}, see status.findings", explain::refusal(rule));
            aspect("Starved", True, &rule.to_string(), message)
        }
        Verdict::Allow { .. } => {
            aspect("Starved", False, "GpusFed", "nothing that is measured speaks against more GPUs")
        }
        Verdict::Unknown(gap) => {
            let message = format!("{}; what to do: docs/findings/DataInvalid.md", explain::gap(gap));
            aspect("Starved", Unknown, "NoVerdict", message)
        }
    }
}

fn contested(ready: &Ready) -> Aspect {
    if ready.contested {
        let message =
            "three changes by others in ten minutes; `kubectl get deployment -o yaml --show-managed-fields` names them";
        return aspect("Contested", True, "ForeignChanges", message);
    }
    aspect("Contested", False, "OneWriter", "nobody else keeps changing the replicas")
}

/// The first thing that a person should know.
fn summary(all: &[Aspect], ready: &Ready, decision: &Decision) -> Aspect {
    let wrong = |kind: &str| all.iter().find(|one| one.kind == kind && one.status == False);
    if let Some(one) = ["AbleToScale", "ScalingActive", "SignalsHealthy"].iter().find_map(|kind| wrong(kind)) {
        return aspect("Ready", False, &one.reason, one.message.clone());
    }
    match &ready.stuck {
        Some(Stuck::NotCreated(message)) => {
            aspect("Ready", False, "ReplicasNotCreated", format!("pods can't be made: {message}"))
        }
        Some(Stuck::Unschedulable { pods, message }) => {
            aspect("Ready", False, "ReplicasUnschedulable", format!("{pods} pods find no node: {message}"))
        }
        None => aspect("Ready", True, "Decided", format!("{} decides", explain::step(decision.binding()))),
    }
}

/// A step's reason in one word, as columns show it.
#[allow(clippy::match_same_arms)] // one line a reason
pub const fn why(step: Step, reason: &Reason) -> &'static str {
    match reason {
        Reason::GateRefused { .. } => "GateRefused",
        Reason::GateUnknown { .. } => "GateUnknown",
        Reason::GateOverridden { .. } => "GateOverridden",
        Reason::SloOverride { .. } => "SloOverride",
        Reason::Ceiling { .. } => "Ceiling",
        Reason::SamplesMissing { .. } => "SamplesMissing",
        Reason::SignalsUnavailable { .. } => "SignalsUnavailable",
        Reason::Fallback { .. } => "Fallback",
        Reason::ReplicasNotStarting { .. } => "ReplicasNotStarting",
        Reason::Window { .. } => "StabilizationWindow",
        Reason::RateLimited { .. } => "RateLimited",
        Reason::DirectionDisabled { .. } => "DirectionDisabled",
        Reason::Adopting { .. } => "Adopting",
        Reason::RaisedToMin => "TooFewReplicas",
        Reason::LoweredToMax => "TooManyReplicas",
        Reason::NoCapacity { .. } => "NoCapacity",
        Reason::Spilled { .. } => "Spilled",
        Reason::WithinTolerance { .. } => "WithinTolerance",
        Reason::Signal { .. } => "Signal",
        _ => match step {
            Step::Demand => "Demand",
            Step::Stabilise => "Stabilise",
            Step::Bounds => "Bounds",
            Step::Gate => "Gate",
            Step::Capacity => "Capacity",
            Step::Split => "Split",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wellfed_engine::sizing::{Dtype, Fit, Model, need};
    use wellfed_engine::units::{Gpus, PoolName};

    /// Seven billion parameters in two bytes, in a pool of small cards or not.
    fn sizing(small: bool) -> Sizing {
        let model = Model { params: 7e9, dtype: Dtype::FP16, sharded: false };
        let fits = Fit { pool: PoolName::from("a100"), gpus: Gpus(1), each: 85.9, cost: None };
        let small = if small { vec![(PoolName::from("t4"), 16.1)] } else { Vec::new() };
        Sizing { need: need(&model, wellfed_engine::policy::Class::Inference, None), small, fits: Some(fits) }
    }

    /// Kills: a misfit that refuses the object, or that is not told.
    #[test]
    fn a_model_that_may_not_fit_is_accepted_with_a_warning_that_names_the_cheapest_pool_that_holds_it() {
        let Aspect { kind, status, reason, message } = accepted(Some(&sizing(true)));

        assert_eq!((kind, status, reason.as_str()), ("Accepted", True, "ModelMayNotFit"));
        assert_eq!(
            message,
            "the model needs about 21–28 GB (14 GB of weights, and KV cache and activations); its GPUs have 16 GB in pool \
             \"t4\"; pool \"a100\" is the cheapest that holds it"
        );
    }

    #[test]
    fn a_model_that_fits_and_none_at_all_are_accepted_without_a_warning() {
        for sizing in [Some(sizing(false)), None] {
            let Aspect { status, reason, message, .. } = accepted(sizing.as_ref());
            assert_eq!((status, reason.as_str()), (True, "Accepted"));
            assert_eq!(message, "the object is well formed and its pools and targets exist");
        }
    }
}
