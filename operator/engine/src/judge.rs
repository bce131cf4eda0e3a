//! Evidence → opinion: whether more GPUs would help, and if not, why.

mod at_rest;
mod lost;

use crate::evidence::{Demand, Evidence};
use crate::facts::Facts;
use crate::opinion::{Confidence, Finding, Gap, Lean, Measure, Opinion, Quantity, Weight};
use crate::rest::Answers;
use crate::rules::{Certainty, RULES, Rule, RuleName, Says, counts, rule};
use crate::stance::Stance;

/// One look at one workload. The same evidence gives the same opinion.
pub fn judge(seen: &Evidence) -> Opinion {
    match seen.demand {
        Demand::Above => asked(seen),
        Demand::Met => at_rest::judge(seen),
    }
}

/// While demand exceeds its target.
fn asked(seen: &Evidence) -> Opinion {
    let own = attributable(seen);
    let mut at_rest = Answers::of(seen);
    let mut findings = Vec::new();
    let (mut unexplained, mut unopposed) = (Vec::new(), Vec::new());
    let mut unsure: Option<Gap> = None;
    let mut gap: Option<Gap> = None;
    let unopposed_by_lost = lost::unopposed(seen);
    for rule in RULES {
        let says = ask(*rule, seen, own.as_ref());
        if let Some(source) = lost::hides(*rule, &says, &unopposed_by_lost) {
            unsure = unsure.or(Some(Gap::SourceLost { rule: rule.name(), source }));
            at_rest.leave_open(*rule);
        }
        at_rest.note(*rule, &says, seen);
        match says {
            Says::NotMine => {}
            Says::Invalid(why) => gap = gap.or(Some(why)),
            Says::Unsure(why) => unsure = unsure.or(Some(why)),
            Says::Found(weight, measured) => findings.push(finding(*rule, weight, measured, seen)),
            Says::Unexplained(weight, measured) => unexplained.push(finding(*rule, weight, measured, seen)),
            Says::Unopposed(weight, measured) => unopposed.push(finding(*rule, weight, measured, seen)),
        }
    }
    if let Some(gap) = gap {
        return blind(gap, findings, at_rest.blind(), seen);
    }
    let refused = findings.iter().any(|finding| finding.weight == Weight::Veto);
    let named = findings.iter().any(|finding| finding.weight != Weight::Support);
    // What a cause explains needs no other word; beside advice it still holds.
    at_rest.explain(&unexplained, refused);
    // Advice does not silence a refusal: losing the sample behind the advice would bring the refusal back.
    unexplained.retain(|finding| if finding.weight == Weight::Veto { !refused } else { !named });
    findings.append(&mut unexplained);
    unopposed.retain(|_| unsure.is_none() && !findings.iter().any(|finding| finding.weight == Weight::Veto));
    findings.append(&mut unopposed);
    // Refusals first, and among them the rule that sees its cause most directly; then by name.
    findings.sort_by_key(|finding| (finding.weight, certainty(finding.rule)));
    let veto = findings.iter().find(|finding| finding.weight == Weight::Veto);
    let lean = match (veto, unsure) {
        (Some(finding), _) => Lean::Refuse(finding.rule),
        (None, Some(gap)) => Lean::Unknown(gap),
        (None, None) => Lean::Allow,
    };
    Opinion { at: seen.at, demand: seen.demand, lean, findings, at_rest, facts: Facts::of(seen) }
}

/// Without GPUs that can be trusted, what the workload's own software counts still refuses.
fn blind(gap: Gap, mut findings: Vec<Finding>, at_rest: Answers, seen: &Evidence) -> Opinion {
    let long_enough = gap == Gap::NoWarmReplica || seen.covered >= seen.least_covered();
    findings.retain(|finding| finding.weight == Weight::Veto && long_enough && counts(finding.rule));
    findings.sort_by_key(|finding| certainty(finding.rule));
    let lean = findings.first().map_or(Lean::Unknown(gap), |finding| Lean::Refuse(finding.rule));
    Opinion { at: seen.at, demand: seen.demand, lean, findings, at_rest, facts: Facts::of(seen) }
}

fn certainty(name: RuleName) -> Option<Certainty> {
    rule(name).map(Rule::certainty)
}

/// What is the workload's alone, where not all of it is.
fn attributable(seen: &Evidence) -> Option<Evidence> {
    seen.is_shared().then(|| seen.attributable())
}

/// What a rule says, as far as the workload's owner lets it.
fn ask(rule: &dyn Rule, seen: &Evidence, own: Option<&Evidence>) -> Says {
    match seen.gate.stances.of(rule.name()) {
        None => attributed(rule, seen, own),
        Some(Stance::Advise) => attributed(rule, seen, own).advised(),
        Some(Stance::Off) => Says::NotMine,
    }
}

/// What only shows with shared GPUs, or with what the pods on them count, may be another pod's doing: it advises, and
/// supports nothing. A refusal takes both: the whole, and what is the workload's alone.
fn attributed(rule: &dyn Rule, seen: &Evidence, own: Option<&Evidence>) -> Says {
    let Some(own) = own else { return rule.judge(seen) };
    match (rule.judge(own), rule.judge(seen)) {
        (alone, whole) if alone.refuses() && !whole.refuses() => whole,
        (says @ (Says::Found(..) | Says::Unexplained(..) | Says::Unopposed(..) | Says::Unsure(_)), _) => says,
        (_, Says::Unsure(_)) => Says::NotMine,
        (_, Says::Found(weight, _) | Says::Unopposed(weight, _)) if weight.supports() => Says::NotMine,
        (_, Says::Found(_, measured)) => Says::Found(Weight::Advice, measured),
        (_, Says::Unexplained(_, measured)) => Says::Unexplained(Weight::Advice, measured),
        (_, says) => says,
    }
}

fn finding(rule: &dyn Rule, weight: Weight, mut measured: Vec<Measure>, seen: &Evidence) -> Finding {
    let judged = u32::try_from(seen.gpus.len()).unwrap_or(u32::MAX);
    measured.push(Measure::of(Quantity::GpusJudged, f64::from(judged), None));
    let sharp = !rule.infers() || seen.most_gpus(|gpu| gpu.sm.is_some());
    let confidence = if sharp { Confidence::High } else { Confidence::Medium };
    Finding { rule: rule.name(), weight, confidence, measured, window: seen.covered }
}
