//! From opinions to a verdict: three in a row to veto, two to release, so that neither flaps.

use crate::memory::Moment;
use crate::opinion::{Finding, Gap, Lean, Opinion, Weight};
use crate::policy::GatePolicy;
use crate::rules::RuleName;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Evaluations in a row that make a finding stand.
pub const TO_STAND: u32 = 3;
/// Evaluations in a row without it that end a finding.
pub const TO_END: u32 = 2;

/// Rules counted at a time: what is remembered of a workload must fit into its status.
const MOST_COUNTS: usize = 4;

/// What the gate has counted; part of a workload's memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GateMemory {
    /// The evidence last counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Moment>,
    /// What it leaned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lean: Option<Lean>,
    /// What the last evaluation that let growth pass rested on; shown while nothing grows, never decided on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Passed>,
    /// One count a rule that fired lately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<Count>,
}

/// Growth was let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// The rule that spoke for it, if one did.
    pub by: Option<RuleName>,
}

/// How often a rule fired in a row; written as a short list, since it is kept in status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct Count {
    /// What it found when it last changed its standing.
    pub finding: Finding,
    /// When it first fired in this row.
    pub first: Moment,
    /// In a row.
    pub hits: u32,
    /// Evaluations in a row without it.
    pub misses: u32,
    /// Since when it stands.
    pub standing: Option<Moment>,
}

type Listed = (Finding, Moment, u32, u32, Option<Moment>);

impl From<Listed> for Count {
    fn from((finding, first, hits, misses, standing): Listed) -> Self {
        Self { finding, first, hits, misses, standing }
    }
}

impl From<Count> for Listed {
    fn from(count: Count) -> Self {
        (count.finding, count.first, count.hits, count.misses, count.standing)
    }
}

/// Whether more GPUs would help, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// Nothing speaks against it; the rule that speaks for it, if one does.
    Allow {
        /// A rule that found the GPUs at work.
        by: Option<RuleName>,
    },
    /// A cause that more GPUs do not fix.
    Refuse {
        /// The cause.
        rule: RuleName,
        /// When the veto ends by itself.
        expires: Moment,
    },
    /// No verdict.
    Unknown(Gap),
}

impl GateMemory {
    /// Counts `opinion`, if it is newer than the last by at least `policy.spacing`; an expired veto starts anew.
    pub fn count(&mut self, opinion: Option<&Opinion>, policy: &GatePolicy, now: Timestamp) {
        self.counts.retain(|count| count.standing.is_none_or(|since| now < since.plus(policy.expiry)));
        if self.counted.is_some_and(|last| now > last.plus(policy.window)) {
            self.forget();
        }
        if let Some(opinion) = opinion.filter(|opinion| self.is_fresh(opinion, policy)) {
            self.counted = Some(Moment::of(opinion.at));
            self.lean = Some(opinion.lean);
            self.add(opinion);
            self.passed = (opinion.lean == Lean::Allow).then(|| Passed { by: self.supporter() });
        }
    }

    /// What is shown while nothing grows: the last verdict, until it is asked again.
    pub fn last_said(&self, policy: &GatePolicy) -> Verdict {
        match (self.verdict(policy), self.passed) {
            (Verdict::Unknown(Gap::NotAsked), Some(passed)) => Verdict::Allow { by: passed.by },
            (verdict, _) => verdict,
        }
    }

    /// What was seen a whole window ago says nothing about now, and is in a row with nothing. What stands, stands.
    fn forget(&mut self) {
        self.lean = None;
        self.counts.retain(|count| count.standing.is_some());
    }

    fn is_fresh(&self, opinion: &Opinion, policy: &GatePolicy) -> bool {
        self.counted.is_none_or(|last| opinion.at.duration_since(last.0) >= policy.spacing)
    }

    /// An unknown evaluation counts as one without the rule: losing a sample may end a veto, never make one.
    fn add(&mut self, opinion: &Opinion) {
        let at = Moment::of(opinion.at);
        for count in &mut self.counts {
            match opinion.findings.iter().find(|finding| count.is_of(finding)) {
                Some(finding) => count.hit(finding, at),
                None => count.miss(),
            }
        }
        self.counts.retain(|count| count.misses < TO_END && (count.hits > 0 || count.standing.is_some()));
        for finding in &opinion.findings {
            if !self.counts.iter().any(|count| count.is_of(finding)) {
                self.counts.push(Count { finding: kept(finding), first: at, hits: 1, misses: 0, standing: None });
            }
        }
        self.drop_the_least();
    }

    /// Of too many counts the latest that matters least goes: advice before what refuses.
    fn drop_the_least(&mut self) {
        while self.counts.len() > MOST_COUNTS {
            let least = (0..self.counts.len()).max_by_key(|at| self.counts[*at].finding.weight);
            least.map(|at| self.counts.remove(at));
        }
    }

    /// The verdict as far as it has been counted.
    pub fn verdict(&self, policy: &GatePolicy) -> Verdict {
        let vetoes = || self.counts.iter().filter(|count| count.finding.weight == Weight::Veto);
        if let Some((count, since)) = vetoes().find_map(|count| Some((count, count.standing?))) {
            return Verdict::Refuse { rule: count.finding.rule, expires: Moment(since.plus(policy.expiry)) };
        }
        match self.lean {
            None => Verdict::Unknown(Gap::NotAsked),
            Some(Lean::Unknown(gap)) => Verdict::Unknown(gap),
            Some(Lean::Refuse(_)) => {
                let seen = vetoes().map(|count| count.hits).max().unwrap_or(0);
                Verdict::Unknown(Gap::Counting { seen, needed: TO_STAND })
            }
            Some(Lean::Allow) => Verdict::Allow { by: self.supporter() },
        }
    }

    fn supporter(&self) -> Option<RuleName> {
        self.counts.iter().find(|count| count.finding.weight.supports()).map(|count| count.finding.rule)
    }

    /// The findings that stand, without those that only speak for more GPUs.
    pub fn findings(&self) -> impl Iterator<Item = &Count> {
        self.counts.iter().filter(|count| count.standing.is_some() && count.finding.weight != Weight::Support)
    }
}

/// What is never shown needs no numbers.
fn kept(finding: &Finding) -> Finding {
    match finding.weight {
        Weight::Support => Finding { measured: Vec::new(), ..finding.clone() },
        Weight::Veto | Weight::Either | Weight::Advice => finding.clone(),
    }
}

impl Count {
    /// A rule that used to veto and now only advises is counted anew.
    fn is_of(&self, finding: &Finding) -> bool {
        self.finding.rule == finding.rule && self.finding.weight == finding.weight
    }

    fn hit(&mut self, finding: &Finding, at: Moment) {
        self.misses = 0;
        self.hits = (self.hits + 1).min(TO_STAND);
        if self.hits >= TO_STAND && self.standing.is_none() {
            self.standing = Some(at);
            self.finding = kept(finding);
        }
    }

    const fn miss(&mut self) {
        self.hits = 0;
        self.misses += 1;
    }
}
