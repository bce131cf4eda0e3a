//! Findings that need no demand. They are told, and decide nothing: no verdict, no cause and no trial knows of them.

use super::{Count, GateMemory, TO_STAND};
use crate::evidence::Demand;
use crate::memory::Moment;
use crate::policy::{GateMode, GatePolicy};
use crate::rest::{Course, Rest, Run, day, part_of_a_day};
use crate::rules::{self, Rule, RuleName};
use crate::world::Workload;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// A rule that shows without demand: written only when it begins, stands or ends, as a short list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct AtRest {
    /// Which.
    pub rule: RuleName,
    /// Since when it has shown at every look.
    pub since: Moment,
    /// Since when it stands.
    pub standing: Option<Moment>,
}

type Listed = (RuleName, Moment, Option<Moment>);

impl From<Listed> for AtRest {
    fn from((rule, since, standing): Listed) -> Self {
        Self { rule, since, standing }
    }
}

impl From<AtRest> for Listed {
    fn from(one: AtRest) -> Self {
        (one.rule, one.since, one.standing)
    }
}

impl AtRest {
    /// A rule that shows at every look since `since`; what stands from demand goes on standing.
    fn of(run: &Run, since: Moment, counted: Option<Count>, policy: &GatePolicy) -> Self {
        let long = if takes_a_day(run.rule) { day(policy) } else { SignedDuration::ZERO };
        if run.hits < TO_STAND || run.last.0 < since.plus(long) {
            return Self { rule: run.rule, since, standing: None };
        }
        let first = counted.map_or(since, |count| count.first.min(since));
        let standing = counted.and_then(|count| count.standing).unwrap_or(run.last);
        Self { rule: run.rule, since: first, standing: Some(standing) }
    }

    /// Every look of its day must show it; a finding that stands ends as others do.
    const fn goes_on(&self, course: Course) -> bool {
        match course {
            Course::Shows | Course::Open => true,
            Course::Missed => self.standing.is_some(),
            Course::Over | Course::Unknown => false,
        }
    }
}

impl GateMemory {
    /// Takes in how the rules stand that need no demand. While demand exceeds its target none of them begins anew.
    pub(crate) fn rest_on(&mut self, workload: &Workload, now: Timestamp) {
        let (rest, policy) = (&workload.rest, &workload.policy.gate);
        if policy.mode == GateMode::Off {
            self.at_rest.clear();
        }
        self.at_rest.retain(|one| one.goes_on(rest.course(one.rule, policy, now)));
        let is_quiet = workload.opinion.as_ref().is_some_and(|opinion| opinion.demand == Demand::Met);
        if is_quiet && policy.mode != GateMode::Off {
            self.take_runs(rest, policy);
        }
    }

    fn take_runs(&mut self, rest: &Rest, policy: &GatePolicy) {
        for run in rest.shows() {
            let counted = self.counts.iter().find(|count| count.rule == run.rule && count.is_shown()).copied();
            let place = self.at_rest.iter().position(|one| one.rule == run.rule);
            match place.map(|place| &mut self.at_rest[place]) {
                Some(known) if known.standing.is_some() => {}
                Some(known) => *known = AtRest::of(run, known.since.min(run.since), counted, policy),
                None => {
                    let new = AtRest::of(run, run.since, counted, policy);
                    let lasts = new.standing.is_some() || begins(run, policy);
                    self.at_rest.extend(Some(new).filter(|_| lasts && self.has_room()));
                }
            }
        }
        self.at_rest.sort_by_key(|one| one.rule);
    }

    /// Whether the finding of this rule is known from demand, or stands without.
    pub fn demand_of(&self, rule: &str) -> Demand {
        if self.findings_at_rest().any(|one| one.rule.to_string() == rule) { Demand::Met } else { Demand::Above }
    }

    /// Those that stand, where nothing is known of them from demand.
    pub(super) fn findings_at_rest(&self) -> impl Iterator<Item = &AtRest> {
        let counted = |rule| self.findings().any(|count| count.rule == rule);
        self.at_rest.iter().filter(move |one| one.standing.is_some() && !counted(one.rule))
    }
}

fn takes_a_day(rule: RuleName) -> bool {
    rules::rule(rule).is_some_and(Rule::takes_a_day)
}

/// Whether it has shown for so long that a restart should not lose it.
fn begins(run: &Run, policy: &GatePolicy) -> bool {
    takes_a_day(run.rule) && run.last.0 >= run.since.plus(part_of_a_day(policy))
}
