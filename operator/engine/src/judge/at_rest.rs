//! A look while nobody asks for more: what it finds is told, and decides nothing.

use super::{ask, attributable, certainty, finding};
use crate::evidence::Evidence;
use crate::facts::Facts;
use crate::opinion::{Gap, Lean, Opinion, Weight};
use crate::rest::Answers;
use crate::rules::{RULES, Says, counts};

/// Rules that need no demand, each for itself: what would refuse only advises, and leans to nothing.
pub fn judge(seen: &Evidence) -> Opinion {
    let own = attributable(seen);
    let mut findings = Vec::new();
    let mut gap: Option<Gap> = None;
    let mut at_rest = Answers::of(seen);
    for rule in RULES.iter().filter(|rule| !rule.needs_demand()) {
        let says = ask(*rule, seen, own.as_ref());
        at_rest.note(*rule, &says, seen);
        match says {
            Says::NotMine | Says::Unsure(_) => {}
            Says::Invalid(why) => gap = gap.or(Some(why)),
            Says::Found(_, measured) | Says::Unexplained(_, measured) | Says::Unopposed(_, measured) => {
                findings.push(finding(*rule, Weight::Advice, measured, seen));
            }
        }
    }
    if gap.is_some() {
        findings.retain(|finding| counts(finding.rule));
        at_rest = at_rest.blind();
    }
    findings.sort_by_key(|finding| certainty(finding.rule));
    let lean = Lean::Unknown(gap.unwrap_or(Gap::NotAsked));
    Opinion { at: seen.at, demand: seen.demand, lean, findings, at_rest, facts: Facts::default() }
}
