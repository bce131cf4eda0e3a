//! What becomes of a finding once its cause was worked on: tested again under the new pod template, then resolved or worse,
//! or lost sight of.

use super::GateMemory;
use super::listed::{Listed, Written};
use crate::figures::{Comparison, Figures, Worse};
use crate::finding::is_fault;
use crate::memory::Moment;
use crate::opinion::{Lean, Opinion, Weight};
use crate::policy::GatePolicy;
use crate::rules::RuleName;
use crate::world::Template;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// A finding that is over is shown for this long, or until the pod template changes again.
pub const SHOWN_AFTERWARDS: SignedDuration = SignedDuration::from_hours(1);

/// A retest that growth does not wait for any more ends when nobody has looked at the new template for this long: demand is
/// met, or the rollout waits for a person and may never end.
pub const GIVEN_UP_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// How a finding stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    /// It stands.
    Open,
    /// The pod template changed since, and whether that helped is not known yet.
    Retesting,
    /// It did not show for a whole window under the new template, and nothing is worse than before.
    Resolved,
    /// It shows again under the new template, or something is worse than before.
    Regressed,
    /// Nobody could look under the new template, since demand is met or the rollout has not ended: whether it is over is not
    /// known.
    NotSeenAgain,
}

/// One pod template, tested for what stood under the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retest {
    /// When the change was seen.
    pub at: Moment,
    /// Since when every replica is made from it, Ready and warm. Before that old and new are mixed, and nothing counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Moment>,
    /// It took so long that growth is not held for it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lapsed: bool,
    /// The template changed again before the test of an earlier change had ended: what was before is older than the last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Over the last window before the change.
    pub before: Figures,
    /// The revisions of the targets then, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revisions: Option<String>,
    /// The findings.
    pub lives: Vec<Life>,
}

/// One finding under test; written as a short list, since it is kept in status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Listed")]
pub struct Life {
    /// Which rule.
    pub rule: RuleName,
    /// What it did.
    pub weight: Weight,
    /// When it first fired.
    pub first: Moment,
    /// When it last fired.
    pub last: Moment,
    /// How far it has come.
    pub fate: Fate,
}

/// How far a retest has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Not decided; since when it has been quiet, with evidence, under the new template.
    Retesting(Option<Moment>),
    /// Over, since then.
    Resolved(Moment),
    /// Given up then, since nobody had looked at the new template for long.
    Unseen(Moment),
    /// It showed again then.
    Again(Moment),
    /// It did not show again, but this was worse then.
    Worse(Moment, Worse),
}

impl Life {
    pub(super) const fn is_running(&self) -> bool {
        matches!(self.fate, Fate::Retesting(_))
    }

    /// Its state, and since when.
    pub fn state(&self, retest: &Retest) -> (State, Moment) {
        match self.fate {
            Fate::Retesting(_) => (State::Retesting, retest.at),
            Fate::Resolved(at) => (State::Resolved, at),
            Fate::Unseen(at) => (State::NotSeenAgain, at),
            Fate::Again(at) | Fate::Worse(at, _) => (State::Regressed, at),
        }
    }
}

impl Retest {
    /// Whether anything is undecided.
    pub fn is_running(&self) -> bool {
        self.lives.iter().any(Life::is_running)
    }

    /// Whether `at` is too early: replicas of the old template may still be in what was measured.
    fn is_mixed(&self, at: Timestamp) -> bool {
        self.is_running() && !self.lapsed && self.settled.is_none_or(|settled| at <= settled.0)
    }

    /// Since when nobody has looked at the new template, and growth does not wait.
    fn unseen_since(&self, counted: Option<Moment>, policy: &GatePolicy) -> Moment {
        let lapsed = Moment(self.at.plus(policy.expiry));
        self.settled.and(counted).map_or(lapsed, |counted| counted.max(lapsed))
    }

    /// The rule for whose retest growth waits.
    fn holds_for(&self) -> Option<RuleName> {
        let veto = self.lives.iter().find(|life| life.is_running() && life.weight == Weight::Veto);
        veto.filter(|_| !self.lapsed).map(|life| life.rule)
    }
}

impl GateMemory {
    /// Notes what the pods are made from. Under a new template what was counted means nothing: vetoes and ceilings end, and
    /// what stood is tested again.
    pub(super) fn note_template(&mut self, template: Option<&Template>, now: Timestamp) {
        let Some(template) = template else { return };
        if self.template.as_ref() == Some(&template.digest) {
            if template.rolled_out {
                self.revisions.clone_from(&template.revisions);
            }
            return;
        }
        let changed = self.template.replace(template.digest.clone()).is_some();
        if changed {
            self.retest_all(Moment::of(now));
            self.counts.clear();
            (self.lean, self.figures, self.waits) = (None, None, None);
            self.sources = self.sources.without_pods();
            (self.trial, self.ceiling, self.cause) = (None, None, None);
        }
        (self.peak, self.revisions) = (None, None);
    }

    fn retest_all(&mut self, at: Moment) {
        let old = self.retest.take();
        let unfinished = old.as_ref().filter(|old| old.is_running());
        let again = unfinished.is_some();
        let (before, revisions) = match unfinished {
            Some(old) => (old.before, old.revisions.clone()),
            None => (self.figures.unwrap_or_default(), self.revisions.clone()),
        };
        let shown = self.counts.iter().filter(|count| count.is_shown() && is_fault(count.rule));
        let mut lives: Vec<_> = shown
            .map(|count| Life {
                rule: count.rule,
                weight: count.weight,
                first: count.first,
                last: count.last,
                fate: Fate::Retesting(None),
            })
            .collect();
        let open = |life: &&Life| matches!(life.fate, Fate::Retesting(_) | Fate::Worse(..));
        for life in old.iter().flat_map(|old| &old.lives).filter(open) {
            if !lives.iter().any(|known| known.rule == life.rule) {
                lives.push(Life { fate: Fate::Retesting(None), ..*life });
            }
        }
        self.retest =
            (!lives.is_empty()).then_some(Retest { at, settled: None, lapsed: false, again, before, revisions, lives });
    }

    /// Quiet ends where nobody looked.
    pub(super) fn disturb(&mut self) {
        for life in self.retest.iter_mut().flat_map(|retest| &mut retest.lives).filter(|life| life.is_running()) {
            life.fate = Fate::Retesting(None);
        }
    }

    /// Whether evidence that ends at `at` can't tell the old template from the new one.
    pub(super) fn is_mixed(&self, at: Timestamp) -> bool {
        self.retest.as_ref().is_some_and(|retest| retest.is_mixed(at))
    }

    /// The rule for whose retest growth waits.
    pub(super) fn retests(&self) -> Option<RuleName> {
        self.retest.as_ref().and_then(Retest::holds_for)
    }

    /// Time passes: `settled` says whether every replica is made from the new template and warm, `asked` whether demand
    /// exceeds the replicas, so that evidence is looked for.
    pub(super) fn age_retest(&mut self, settled: bool, asked: bool, policy: &GatePolicy, now: Timestamp) {
        let standing = |rule| self.counts.iter().any(|count| count.rule == rule && count.is_shown());
        let counted = self.counted;
        let Some(retest) = &mut self.retest else { return };
        if settled {
            retest.settled.get_or_insert(Moment::of(now));
        }
        retest.lapsed = retest.lapsed || now >= retest.at.plus(policy.expiry);
        let looked_at = asked && retest.settled.is_some();
        if !looked_at && retest.lapsed && now >= retest.unseen_since(counted, policy).plus(GIVEN_UP_AFTER) {
            for life in retest.lives.iter_mut().filter(|life| life.is_running()) {
                life.fate = Fate::Unseen(Moment::of(now));
            }
        }
        retest.lives.retain(|life| match life.fate {
            Fate::Retesting(_) => true,
            Fate::Again(_) => standing(life.rule),
            Fate::Resolved(at) | Fate::Unseen(at) | Fate::Worse(at, _) => now < at.plus(SHOWN_AFTERWARDS),
        });
        self.retest.take_if(|retest| retest.lives.is_empty());
    }

    /// One evaluation under the new template, counted already; `last` is when the one before ended.
    pub(super) fn retest(&mut self, opinion: &Opinion, last: Option<Moment>, policy: &GatePolicy) {
        let figures = self.figures.unwrap_or_default();
        let standing: Vec<RuleName> =
            self.counts.iter().filter(|count| count.is_shown()).map(|count| count.rule).collect();
        let Some(retest) = &mut self.retest else { return };
        let at = Moment::of(opinion.at);
        for life in &mut retest.lives {
            if opinion.findings.iter().any(|finding| finding.rule == life.rule) {
                life.last = at;
            }
            if standing.contains(&life.rule) && !matches!(life.fate, Fate::Again(_)) {
                life.fate = Fate::Again(at);
            }
        }
        let Some(settled) = retest.settled.filter(|settled| opinion.at > settled.0) else { return };
        let begins = if last.is_none_or(|last| last <= settled) { settled } else { at };
        let seen = Seen { opinion, figures, at, begins, whole: policy.window.mul_f64(policy.thresholds.coverage) };
        for life in retest.lives.iter_mut().filter(|life| life.is_running()) {
            life.fate = seen.fate(life, &retest.before);
        }
    }
}

/// One evaluation, as a retest looks at it.
struct Seen<'a> {
    opinion: &'a Opinion,
    figures: Figures,
    at: Moment,
    /// When the evidence began, if this is where the quiet begins.
    begins: Moment,
    /// Quiet for this long is a whole window, as far as one must be covered.
    whole: SignedDuration,
}

impl Seen<'_> {
    /// No data keeps it under test.
    fn fate(&self, life: &Life, before: &Figures) -> Fate {
        let fires = self.opinion.findings.iter().any(|finding| finding.rule == life.rule);
        if fires || matches!(self.opinion.lean, Lean::Unknown(_)) {
            return Fate::Retesting(None);
        }
        let Fate::Retesting(quiet) = life.fate else { return life.fate };
        let quiet = quiet.unwrap_or(self.begins);
        if self.at.0 < quiet.plus(self.whole) {
            return Fate::Retesting(Some(quiet));
        }
        match before.against(&self.figures) {
            Comparison::NotWorse => Fate::Resolved(self.at),
            Comparison::Worse(what) => Fate::Worse(self.at, what),
            Comparison::Unknown => Fate::Retesting(Some(quiet)),
        }
    }
}
