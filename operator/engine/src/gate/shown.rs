//! The findings of a workload as they are shown.

use super::life::{Fate, Retest, State};
use super::trial::Gain;
use super::{Count, GateMemory};
use crate::evidence::Demand;
use crate::figures::{Figures, Worse};
use crate::finding::{FindingName, is_fault};
use crate::memory::Moment;
use crate::opinion::Weight;
use crate::rules::RuleName;

/// The most that are shown.
pub const MOST_SHOWN: usize = 10;

/// One finding, without the numbers that made it one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// Which.
    pub name: FindingName,
    /// What it does, or did.
    pub weight: Weight,
    /// Whether it is known from demand, or stands without.
    pub demand: Demand,
    /// How it stands.
    pub state: State,
    /// When it was first seen.
    pub first: Moment,
    /// When it was last seen.
    pub last: Moment,
    /// Since when it is in this state.
    pub since: Moment,
    /// Before and after the pod template changed, if it did. The second is of the last evaluation: what decided, when this
    /// state began.
    pub figures: Option<(Figures, Option<Figures>)>,
    /// What is worse than before, where that is why it regressed.
    pub worse: Option<Worse>,
    /// What growth brought, where that is the finding.
    pub gain: Option<Gain>,
}

impl Shown {
    fn of(name: FindingName, weight: Weight, state: State, [first, last, since]: [Moment; 3]) -> Self {
        let demand = Demand::Above;
        Self { name, weight, demand, state, first, last, since, figures: None, worse: None, gain: None }
    }
}

impl GateMemory {
    /// The findings that stand, without those that only speak for more GPUs.
    pub fn findings(&self) -> impl Iterator<Item = &Count> {
        self.counts.iter().filter(|count| count.is_shown())
    }

    /// Everything that is shown: what stands, and what becomes of what stood; what refuses first.
    pub fn shown(&self) -> Vec<Shown> {
        let mut all: Vec<_> = self
            .ceiling
            .iter()
            .map(|ceiling| {
                let times = [ceiling.at; 3];
                let shown = Shown::of(FindingName::ScaleOutIneffective, Weight::Veto, State::Open, times);
                Shown { gain: Some(ceiling.gain), ..shown }
            })
            .collect();
        let untested = |rule: RuleName| {
            let mut lives = self.retest.iter().flat_map(|retest| &retest.lives);
            !lives.any(|life| life.rule == rule)
        };
        // What was tried outranks what a rule makes of busy GPUs.
        let holds = |count: &&Count| self.ceiling.is_none() || is_fault(count.rule);
        all.extend(self.findings().filter(|count| untested(count.rule)).filter(holds).map(|count| {
            let (first, since) = self.from(count);
            Shown::of(FindingName::Rule(count.rule), count.weight, State::Open, [first, count.last, since])
        }));
        all.extend(self.findings_at_rest().filter(|one| untested(one.rule)).map(|one| {
            let since = one.standing.unwrap_or(one.since);
            let shown = Shown::of(FindingName::Rule(one.rule), Weight::Advice, State::Open, [one.since, since, since]);
            Shown { demand: Demand::Met, ..shown }
        }));
        all.extend(self.retest.iter().flat_map(|retest| under_retest(retest, self.figures)));
        all.sort_by_key(|shown| shown.weight);
        all.truncate(MOST_SHOWN);
        all
    }

    /// When it was first seen and since when it stands: demand that comes is no new finding.
    fn from(&self, count: &Count) -> (Moment, Moment) {
        let (first, since) = (count.first, count.standing.unwrap_or(count.first));
        let before = self.at_rest.iter().find(|one| one.rule == count.rule);
        match before.and_then(|one| Some((one.since, one.standing?))) {
            Some((seen, standing)) => (seen.min(first), standing.min(since)),
            None => (first, since),
        }
    }
}

fn under_retest(retest: &Retest, now: Option<Figures>) -> impl Iterator<Item = Shown> {
    retest.lives.iter().map(move |life| {
        let (state, since) = life.state(retest);
        let after = now.filter(|_| !life.is_running());
        let worse = match life.fate {
            Fate::Worse(_, what) => Some(what),
            Fate::Retesting(_) | Fate::Resolved(_) | Fate::Unseen(_) | Fate::Again(_) => None,
        };
        let shown = Shown::of(FindingName::Rule(life.rule), life.weight, state, [life.first, life.last, since]);
        Shown { figures: Some((retest.before, after)), worse, ..shown }
    })
}
