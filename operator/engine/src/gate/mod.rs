//! From opinions to a verdict: three in a row to veto, two to release, so that neither flaps.

mod at_rest;
mod count;
mod gone;
mod life;
mod listed;
mod overruled;
mod recall;
mod shown;
mod trial;
mod waits;

use crate::evidence::{Demand, Sources};
use crate::figures::{Figures, SignalFigures};
use crate::memory::Moment;
use crate::opinion::{Gap, Lean, Opinion, Weight};
use crate::policy::GatePolicy;
use crate::rules::RuleName;
use crate::world::Workload;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trial::Backlog;

pub use at_rest::AtRest;
pub use count::Count;
pub use gone::Gone;
pub use life::{Fate, GIVEN_UP_AFTER, Life, Retest, SHOWN_AFTERWARDS, State};
pub use recall::{Cause, REMEMBERED};
pub use shown::{MOST_SHOWN, Shown};
pub use trial::{CHECKLIST, Ceiling, Check, Gain, Trial};
pub use waits::Waits;

/// Evaluations in a row that make a finding stand.
pub const TO_STAND: u32 = 3;
/// Evaluations in a row without it that end a finding.
pub const TO_END: u32 = 2;

/// Rules counted or under test at a time: what is remembered of a workload must fit into its status.
const MOST: usize = 10;

/// What the gate has counted; part of a workload's memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateMemory {
    /// What the evidence had when something was last there to measure.
    #[serde(skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
    /// The evidence last counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<Moment>,
    /// What it leaned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lean: Option<Lean>,
    /// What the last evaluation that let growth pass rested on; shown while nothing grows, never decided on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<Passed>,
    /// One count a rule that fired lately.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<Count>,
    /// Rules that show although nobody asks for more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_rest: Vec<AtRest>,
    /// How well it did by the last evaluation that could tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// The most GPU memory that the work took of one GPU since the pods are made from this template, 0–1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<f64>,
    /// How long work waited then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// What refused last, and was not disproved since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// What the pods are made from, as last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The revisions by which the targets keep that, once every replica is made from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<String>,
    /// What is tested again since that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retest: Option<Retest>,
    /// Growth whose gain is not known yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// Growth that brought nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// When a latency objective last let growth pass that was held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo_passed: Option<Moment>,
}

/// Growth was let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// The rule that spoke for it, if one did.
    pub by: Option<RuleName>,
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
        /// When the veto ends by itself, unless its cause shows again before that.
        expires: Moment,
    },
    /// No verdict.
    Unknown(Gap),
}

impl GateMemory {
    /// Takes in one cycle's look at `workload`: whether evidence of it is looked for, and since when its demand has exceeded
    /// its replicas.
    pub fn look(&mut self, workload: &Workload, (asked, backlog): (bool, Option<Timestamp>), now: Timestamp) {
        let policy = &workload.policy.gate;
        self.note_template(workload.template.as_ref(), now);
        let settled = workload.is_settled(policy.warm_up, now);
        self.age_retest(settled, asked, policy, now);
        self.rest_on(workload, now);
        let asked = workload.opinion.as_ref().filter(|opinion| opinion.demand == Demand::Above);
        let (last, opinion) = (self.counted, asked.filter(|opinion| !self.is_mixed(opinion.at)));
        let signals = self.signals(workload, opinion, now);
        let waits = opinion.map(|opinion| self.waits_now(workload, opinion, backlog, now));
        let fresh = self.count(opinion, policy, now);
        if let Some(opinion) = fresh {
            self.figures = self.figures.map(|figures| Figures { signals, ..figures });
            if !matches!(opinion.lean, Lean::Unknown(_)) {
                self.waits = waits;
            }
            self.retest(opinion, last, policy);
        }
        let (current, class) = (workload.current(), workload.policy.class);
        self.try_on(&Backlog { opinion: fresh, since: backlog, current, settled, class }, policy, now);
    }

    /// What the workload's own signals say, blended into what they said before.
    fn signals(&self, workload: &Workload, opinion: Option<&Opinion>, now: Timestamp) -> SignalFigures {
        let before = self.figures.map(|figures| figures.signals).unwrap_or_default();
        let (Some(last), Some(_)) = (self.counted, opinion) else {
            return SignalFigures::blended(before, &workload.measures, workload.current(), 1.0);
        };
        SignalFigures::blended(before, &workload.measures, workload.current(), share(last, workload, now))
    }

    /// How long work waits. What was before demand exceeded the replicas, or before all that were added are warm, is not
    /// blended into it.
    fn waits_now(&self, workload: &Workload, opinion: &Opinion, backlog: Option<Timestamp>, now: Timestamp) -> Waits {
        let latest = Waits::now(opinion.facts.waits, workload);
        let comparable = |last: &Moment| {
            let growing = self.trial.is_some_and(|trial| trial.warm.is_none_or(|warm| warm > *last));
            backlog.is_some_and(|since| since <= last.0) && !growing
        };
        match self.counted.filter(comparable) {
            Some(last) => latest.blended(self.waits, share(last, workload, now)),
            None => latest.blended(None, 1.0),
        }
    }

    /// Counts `opinion`, if it is newer than the last by at least `policy.spacing`, and gives it back if it was; a veto
    /// that nothing has confirmed for long starts anew.
    pub fn count<'a>(
        &mut self,
        opinion: Option<&'a Opinion>,
        policy: &GatePolicy,
        now: Timestamp,
    ) -> Option<&'a Opinion> {
        self.expire(policy, now);
        let Some(opinion) = opinion.filter(|opinion| self.is_fresh(opinion, policy)) else {
            self.outdate(opinion);
            return None;
        };
        self.counted = Some(Moment::of(opinion.at));
        self.lean = Some(opinion.lean);
        count::add(&mut self.counts, opinion);
        self.sources = opinion.facts.sources.or(self.sources);
        self.recall(opinion);
        self.drop_the_least();
        if !matches!(opinion.lean, Lean::Unknown(_)) {
            self.figures = Some(opinion.facts.figures);
            self.peak = self.peak.into_iter().chain(opinion.facts.needs).reduce(f64::max);
        }
        self.passed = (opinion.lean == Lean::Allow).then(|| Passed { by: self.supporter() });
        Some(opinion)
    }

    /// Nobody looks: what is over by the clock ends, and quiet that nobody watched proves nothing.
    pub(crate) fn rest(&mut self, policy: &GatePolicy, now: Timestamp) {
        self.expire(policy, now);
        self.age_retest(false, false, policy, now);
        self.disturb();
    }

    fn expire(&mut self, policy: &GatePolicy, now: Timestamp) {
        self.obey(policy.stances);
        self.counts.retain(|count| count.standing.is_none() || now < count.expires(policy).0);
        self.slo_passed.take_if(|at| now >= at.plus(policy.window));
        self.ceiling.take_if(|ceiling| now >= ceiling.at.plus(policy.expiry));
        if self.counted.is_some_and(|last| now > last.plus(policy.window)) {
            self.forget();
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
        self.disturb();
        self.counts.retain(|count| count.standing.is_some());
        if self.counts.is_empty() {
            (self.figures, self.waits) = (None, None);
        }
    }

    /// A look without an answer is no evaluation: it confirms nothing and disproves nothing. But once too little of the window
    /// is left, what was last thought is not known any more.
    fn outdate(&mut self, opinion: Option<&Opinion>) {
        let lean = opinion.map(|opinion| opinion.lean);
        if let (Some(_), Some(Lean::Unknown(Gap::Unanswered { .. }))) = (self.lean, lean) {
            self.lean = lean;
        }
    }

    fn is_fresh(&self, opinion: &Opinion, policy: &GatePolicy) -> bool {
        self.counted.is_none_or(|last| opinion.at.duration_since(last.0) >= policy.spacing)
    }

    /// Whether one more rule fits in.
    fn has_room(&self) -> bool {
        self.of_demand() + self.at_rest.len() < MOST
    }

    /// Rules that are counted, or under test.
    fn of_demand(&self) -> usize {
        self.counts.len() + self.retest.as_ref().map_or(0, |retest| retest.lives.len())
    }

    /// Of too many what is over goes first; then what matters least: what is told at rest, advice before what refuses, and of
    /// those the latest.
    fn drop_the_least(&mut self) {
        let mut none = Vec::new();
        let lives = self.retest.as_mut().map_or(&mut none, |retest| &mut retest.lives);
        while self.counts.len() + lives.len() + self.at_rest.len() > MOST {
            let over = lives.iter().rposition(|life| !life.is_running());
            let life = (0..lives.len()).max_by_key(|at| lives[*at].weight);
            let count = (0..self.counts.len()).max_by_key(|at| self.counts[*at].weight);
            match (over, life, count) {
                (Some(over), ..) => drop(lives.remove(over)),
                (None, ..) if !self.at_rest.is_empty() => drop(self.at_rest.pop()),
                (None, Some(life), Some(count)) if lives[life].weight > self.counts[count].weight => {
                    lives.remove(life);
                }
                (None, _, Some(count)) => drop(self.counts.remove(count)),
                (None, Some(life), None) => drop(lives.remove(life)),
                (None, None, None) => break,
            }
        }
    }

    /// The verdict as far as it has been counted.
    pub fn verdict(&self, policy: &GatePolicy) -> Verdict {
        let vetoes = || self.counts.iter().filter(|count| count.weight == Weight::Veto);
        if let Some(count) = vetoes().find(|count| count.standing.is_some()) {
            return Verdict::Refuse { rule: count.rule, expires: count.expires(policy) };
        }
        if let Some(rule) = self.retests() {
            return Verdict::Unknown(Gap::Retesting { rule });
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

    /// `verdict`, unless there is none because a whole window went by without an answer, while demand exceeded its target
    /// `since`.
    pub fn dated(&self, verdict: Verdict, since: Option<Timestamp>, policy: &GatePolicy, now: Timestamp) -> Verdict {
        let old = |last: &Moment| since.is_some_and(|since| since < last.0) && now > last.plus(policy.window);
        match (verdict, self.counted.filter(old)) {
            (Verdict::Unknown(Gap::NotAsked), Some(since)) => Verdict::Unknown(Gap::Unanswered { since }),
            (verdict, _) => verdict,
        }
    }

    fn supporter(&self) -> Option<RuleName> {
        self.counts.iter().find(|count| count.weight.supports()).map(|count| count.rule)
    }
}

/// The time since `last` over the window.
fn share(last: Moment, workload: &Workload, now: Timestamp) -> f64 {
    now.duration_since(last.0).as_secs_f64() / workload.policy.gate.window.as_secs_f64().max(1.0)
}
