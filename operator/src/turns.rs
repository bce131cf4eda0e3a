//! The turns of a finding's life, each told once.

use crate::events::Happening;
use crate::findings;
use wellfed_crds::{Better, FindingStatus};
use wellfed_engine::finding::FindingName;
use wellfed_engine::gate::{GateMemory, Gone};
use wellfed_engine::memory::Moment;
use wellfed_engine::rest::Rest;

/// Findings that came into another state, and those that went; `gate` is the memory that `after` was made from, `better` says
/// which values of the signal of role Quality are.
pub fn turns(
    before: &[FindingStatus],
    after: &[FindingStatus],
    gate: (&GateMemory, &Rest),
    better: Better,
) -> Vec<Happening> {
    let turned = |finding: &&FindingStatus| {
        let old = before.iter().find(|old| old.id == finding.id);
        !old.is_some_and(|old| old.state == finding.state && old.since == finding.since)
    };
    // What is over was told to be over.
    let gone = |old: &&FindingStatus| {
        let over = matches!(old.state.as_str(), "Resolved" | "NotSeenAgain");
        !over && !after.iter().any(|finding| finding.id == old.id)
    };
    let came = after.iter().filter(turned).map(came);
    came.chain(before.iter().filter(gone).map(|old| went(old, gate, better))).collect()
}

fn judged(reason: String, note: String) -> Happening {
    Happening { warning: false, reason, action: "Judge", note }
}

fn came(finding: &FindingStatus) -> Happening {
    let reason = match finding.state.as_str() {
        "Open" => "FindingOpened".to_owned(),
        state => format!("Finding{state}"),
    };
    let warning = finding.state == "Regressed" || (finding.state == "Open" && finding.weight != "Either");
    Happening { warning, ..judged(reason, note(finding)) }
}

fn note(finding: &FindingStatus) -> String {
    let both = finding.before.as_ref().zip(finding.after.as_ref());
    let course = both.map(|(before, after)| findings::course(before, after)).filter(|course| !course.is_empty());
    let figures = course.map(|course| format!("; {course}")).unwrap_or_default();
    let rule = &finding.rule;
    match finding.state.as_str() {
        "Open" => {
            let first = finding.remedies.first().map(|first| format!(". First: {first}")).unwrap_or_default();
            format!("{rule}: {}{first}", finding.evidence)
        }
        "Retesting" => format!("the pod template changed: whether that ended {rule} is being tested"),
        "NotSeenAgain" => format!(
            "nobody could look for {rule} again, since demand is met or the rollout has not ended: whether it is over is \
             not known"
        ),
        "Resolved" => format!("{rule} has not shown for a whole window under the new pod template{figures}"),
        _ => format!("{rule}: {}{figures}", finding.way_back.as_deref().unwrap_or("it is worse than before")),
    }
}

/// It went without a step of its life: what is known of why, and what was measured then and is now.
fn went(old: &FindingStatus, (gate, rest): (&GateMemory, &Rest), better: Better) -> Happening {
    let rule = &old.rule;
    let closed = |note| judged("FindingClosed".to_owned(), note);
    if *rule == FindingName::ScaleOutIneffective.to_string() {
        return closed(format!("{rule}: its ceiling has ended, so growth may be tried again"));
    }
    match gate.gone(rule, Moment(old.last_seen.unwrap_or(old.since)), rest) {
        Gone::NotShown => {
            let now = gate.figures.as_ref().map(|figures| findings::now(figures, better)).filter(|now| !now.is_empty());
            let now = now.map(|now| format!(". Now: {now}")).unwrap_or_default();
            closed(format!("{rule} has not shown in the last evaluations. It was: {}{now}", old.evidence))
        }
        Gone::Displaced => closed(format!("{rule} makes room for findings that matter more")),
        Gone::NotLookedFor => {
            let last = old.last_seen.or_else(|| rest.known()).unwrap_or(old.since);
            let note = format!(
                "nobody has looked for {rule} since {last:.0}, since demand is met or the gate does not ask: whether it is \
                 over is not known"
            );
            judged("FindingNotSeenAgain".to_owned(), note)
        }
    }
}

#[cfg(test)]
mod tests;
