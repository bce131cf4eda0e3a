//! What is told although nobody asks for more: rules that need no demand, over the looks of one process. What of it must
//! outlive the process is in the gate's memory.

use crate::evidence::Evidence;
use crate::gate::{TO_END, TO_STAND};
use crate::memory::Moment;
use crate::opinion::{Finding, Opinion};
use crate::policy::GatePolicy;
use crate::rules::{RULES, Rule, RuleName, Says, counts};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// What one look says of the rules that need no demand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answers {
    /// These apply.
    pub shows: Vec<RuleName>,
    /// These may apply: what would decide is missing.
    pub open: Vec<RuleName>,
    /// A whole window was seen and can be trusted: what neither shows nor is open is not there.
    pub whole: bool,
}

impl Answers {
    /// None yet.
    pub(crate) fn of(seen: &Evidence) -> Self {
        Self { whole: seen.covers_a_window(), ..Self::default() }
    }

    /// Takes in one rule's answer.
    pub(crate) fn note(&mut self, rule: &dyn Rule, says: &Says, seen: &Evidence) {
        if rule.needs_demand() {
            return;
        }
        match says {
            Says::NotMine if rule.may_apply(seen) => self.leave_open(rule),
            Says::NotMine | Says::Invalid(_) => {}
            Says::Unsure(_) => self.leave_open(rule),
            Says::Found(..) | Says::Unexplained(..) | Says::Unopposed(..) => self.shows.push(rule.name()),
        }
    }

    /// Something that may speak for this rule is missing.
    pub(crate) fn leave_open(&mut self, rule: &dyn Rule) {
        if !rule.needs_demand() && !self.open.contains(&rule.name()) {
            self.open.push(rule.name());
        }
    }

    /// Something that is `refused` explains what these do not.
    pub(crate) fn explain(&mut self, unexplained: &[Finding], refused: bool) {
        let explained = |rule: &RuleName| refused && unexplained.iter().any(|finding| finding.rule == *rule);
        self.shows.retain(|rule| !explained(rule));
    }

    /// GPUs can't be trusted: only what software counts shows, and nothing is known not to.
    pub(crate) fn blind(mut self) -> Self {
        self.shows.retain(|rule| counts(*rule));
        Self { whole: false, ..self }
    }
}

/// The looks at one workload since this process first saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rest {
    /// When a look last left nothing open; at first, when the workload was first seen.
    known: Option<Moment>,
    /// Such looks since nothing was known for long, up to those that end a finding.
    looks: u32,
    /// The look last taken in.
    last: Option<Moment>,
    /// What shows, or did at the look before.
    runs: Vec<Run>,
}

/// A rule that shows at every look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Which.
    pub rule: RuleName,
    /// Since when.
    pub since: Moment,
    /// When it last did.
    pub last: Moment,
    /// Looks that showed it, up to those that make a finding.
    pub hits: u32,
    /// Looks in a row that did not.
    pub misses: u32,
}

impl Run {
    const fn beginning(rule: RuleName, at: Moment) -> Self {
        Self { rule, since: at, last: at, hits: 1, misses: 0 }
    }

    fn hit(&mut self, at: Moment) {
        if self.misses > 0 {
            *self = Self::beginning(self.rule, at);
        } else {
            (self.last, self.hits) = (at, (self.hits + 1).min(TO_STAND));
        }
    }
}

/// How long a rule must show at every look that takes a day.
pub fn day(policy: &GatePolicy) -> SignedDuration {
    SignedDuration::from_hours(1).mul_f64(policy.thresholds.quiet_hours_from)
}

/// An eighth of a day, and at least a window. What shows for shorter is not remembered, so that noise about a threshold
/// writes nothing; what nobody knows anything of for longer begins anew.
pub fn part_of_a_day(policy: &GatePolicy) -> SignedDuration {
    (day(policy) / 8).max(policy.window)
}

impl Rest {
    /// Somebody else looked until then.
    pub fn known_until(at: Timestamp) -> Self {
        Self { known: Some(Moment::of(at)), ..Self::default() }
    }

    /// Takes in the latest opinion, if it is new.
    pub fn see(&mut self, opinion: Option<&Opinion>, policy: &GatePolicy, now: Timestamp) {
        let known = *self.known.get_or_insert(Moment::of(now));
        let longest = part_of_a_day(policy);
        self.runs.retain(|run| now < run.last.max(known).plus(longest));
        if now >= known.plus(longest) {
            self.looks = 0;
        }
        let Some(opinion) = opinion.filter(|opinion| self.is_fresh(opinion, policy)) else { return };
        let at = Moment::of(opinion.at);
        self.last = Some(at);
        self.count(&opinion.at_rest, at);
        if opinion.at_rest.whole && opinion.at_rest.open.is_empty() {
            self.known = Some(at);
            self.looks = (self.looks + 1).min(TO_END);
        }
    }

    fn is_fresh(&self, opinion: &Opinion, policy: &GatePolicy) -> bool {
        self.last.is_none_or(|last| opinion.at.duration_since(last.0) >= policy.spacing)
    }

    fn count(&mut self, answers: &Answers, at: Moment) {
        for run in &mut self.runs {
            if answers.shows.contains(&run.rule) {
                run.hit(at);
            } else if answers.whole && !answers.open.contains(&run.rule) {
                run.misses += 1;
            }
        }
        self.runs.retain(|run| run.misses < TO_END);
        for rule in &answers.shows {
            if self.run(*rule).is_none() {
                self.runs.push(Run::beginning(*rule, at));
            }
        }
    }

    /// When a look last left nothing open; at first, when the workload was first seen.
    pub fn known(&self) -> Option<Timestamp> {
        self.known.map(|known| known.0)
    }

    /// What shows at every look.
    pub fn shows(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.misses == 0)
    }

    /// The rule's run, though the last look may not have shown it.
    pub fn run(&self, rule: RuleName) -> Option<&Run> {
        self.runs.iter().find(|run| run.rule == rule)
    }

    /// How the rule stands by the looks of this process.
    pub fn course(&self, rule: RuleName, policy: &GatePolicy, now: Timestamp) -> Course {
        let run = self.run(rule);
        let known = run.map(|run| run.last).max(self.known);
        match run {
            _ if known.is_some_and(|known| now >= known.plus(part_of_a_day(policy))) => Course::Unknown,
            Some(Run { misses: 0, .. }) => Course::Shows,
            Some(_) => Course::Missed,
            None => match self.looks {
                0 => Course::Open,
                looks if looks < TO_END => Course::Missed,
                _ => Course::Over,
            },
        }
    }

    /// Whether a look after `last` knew that this rule does not show.
    pub fn disproves(&self, rule: &str, last: Moment) -> bool {
        let Some(rule) = RULES.iter().find(|one| one.name().to_string() == rule) else { return false };
        let knew = self.looks > 0 && self.known.is_some_and(|known| known > last);
        !rule.needs_demand() && self.run(rule.name()).is_none() && knew
    }
}

/// How a rule stands that was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// The last look that could tell showed it.
    Shows,
    /// One look did not.
    Missed,
    /// As many as end a finding did not.
    Over,
    /// This process has not had a look yet that could tell.
    Open,
    /// No look could tell for long.
    Unknown,
}
