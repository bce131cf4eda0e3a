//! One scenario in the loop.

use super::scenario::scenario;
use crate::case::Case;
use anyhow::{Context, Result};
use wellfed::simulate::{Policy, play};
use wellfed_engine::decision::{Decision, Reason, Step};
use wellfed_engine::gate::Verdict;
use wellfed_engine::opinion::Opinion;
use wellfed_engine::rules::RuleName;
use wellfed_engine::units::Replicas;

/// How one scenario went with replicas that follow what is decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looped {
    /// When demand first exceeded its target, seconds since the start.
    pub asked: Option<f64>,
    /// The rules that refused, each with the second at which it first did.
    pub refusals: Vec<(RuleName, f64)>,
    /// When growth was first held because the last had brought nothing, seconds since the start.
    pub capped: Option<f64>,
    /// Replicas at the start.
    pub began: u32,
    /// Replicas asked for at the end.
    pub ended: u32,
    /// Replicas beyond those at the start, times hours.
    pub grown: f64,
    /// Replicas that the gate held back, by a verdict, for want of one or by a ceiling, times hours.
    pub held: f64,
}

/// Plays `case` in the loop with the defaults of its class; none where the harness has no room for it.
pub fn played(case: &Case) -> Result<Option<Looped>> {
    looked_at(case, &mut |_, _| {})
}

/// The same; `tell` is told what stands each time that this changes.
pub fn followed(case: &Case, tell: &mut dyn FnMut(String)) -> Result<Option<Looped>> {
    let mut last = String::new();
    looked_at(case, &mut |(second, opinion), decision| {
        let stands = stands(opinion, decision);
        if stands != last {
            tell(format!("minute {:.1}: {stands}", second / 60.0));
            last = stands;
        }
    })
}

/// When, and what was last judged then.
type At<'a> = (f64, Option<&'a Opinion>);

fn looked_at(case: &Case, look: &mut dyn FnMut(At<'_>, &Decision)) -> Result<Option<Looped>> {
    let Some(scenario) = scenario(case)? else { return Ok(None) };
    let mut looped = Looped { began: case.draft.replicas, ended: case.draft.replicas, ..Looped::default() };
    let hours = scenario.cycle / 3600.0;
    play(&scenario, Policy::Wellfed, &mut |world, decisions| {
        let second = world.now.duration_since(scenario.start).as_secs_f64();
        for decision in decisions {
            let workload = world.workloads.iter().find(|workload| workload.id == decision.id);
            look((second, workload.and_then(|workload| workload.opinion.as_ref())), decision);
            looped.note(decision, second, hours);
        }
    })
    .with_context(|| case.name.clone())?;
    Ok(Some(looped))
}

/// What was decided, what the gate said, and what its last look found.
fn stands(opinion: Option<&Opinion>, decision: &Decision) -> String {
    let Decision { current: Replicas(current), wanted: Replicas(wanted), number: Replicas(number), verdict, .. } =
        decision;
    let rules = opinion.iter().flat_map(|opinion| &opinion.findings);
    let rules: Vec<String> = rules.map(|finding| format!("{} ({:?})", finding.rule, finding.weight)).collect();
    let lean = opinion.map(|opinion| opinion.lean);
    format!("{current} of {wanted}, to {number}; {verdict:?}; {lean:?} by [{}]", rules.join(", "))
}

impl Looped {
    /// Takes in one decision that holds for so many `hours`.
    fn note(&mut self, decision: &Decision, second: f64, hours: f64) {
        if self.asked.is_none() && decision.memory.demand_above_since.is_some() {
            self.asked = Some(second);
        }
        if let Verdict::Refuse { rule, .. } = decision.verdict
            && self.refusals.iter().all(|(other, _)| *other != rule)
        {
            self.refusals.push((rule, second));
        }
        let capped = capped(decision);
        if capped > 0 {
            self.capped.get_or_insert(second);
        }
        let gate = decision.steps.iter().find(|record| record.step == Step::Gate);
        let held = gate.map_or(0, |record| record.before.0.saturating_sub(record.after.0));
        self.held += f64::from(held + capped) * hours;
        self.grown += f64::from(decision.number.0.saturating_sub(self.began)) * hours;
        self.ended = decision.number.0;
    }
}

/// Replicas that a ceiling held back: growth that had brought nothing limits the next.
fn capped(decision: &Decision) -> u32 {
    let ceilings = decision.steps.iter().filter_map(|record| match record.reason {
        Reason::Ceiling { wanted, .. } => Some(wanted.0.saturating_sub(record.after.0)),
        _ => None,
    });
    ceilings.sum()
}
