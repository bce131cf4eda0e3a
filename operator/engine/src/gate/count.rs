//! How often a rule fired in a row.

use super::{TO_END, TO_STAND};
use crate::memory::Moment;
use crate::opinion::{Finding, Opinion, Weight};
use crate::policy::GatePolicy;
use crate::rules::RuleName;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// One rule's row; written as a short list, since it is kept in status. What was measured is not: it is shown in
/// `status.findings`, and nothing is decided by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Listed")]
pub struct Count {
    /// Which rule.
    pub rule: RuleName,
    /// What its finding does.
    pub weight: Weight,
    /// When it first fired in this row.
    pub first: Moment,
    /// In a row.
    pub hits: u32,
    /// Evaluations in a row without it.
    pub misses: u32,
    /// Since when it stands.
    pub standing: Option<Moment>,
    /// When it last fired.
    pub last: Moment,
}

type Listed = (RuleName, Weight, Moment, u32, u32, Option<Moment>, Moment);

/// Before the last time was kept it was counted from when the finding began to stand.
type Undated = (RuleName, Weight, Moment, u32, u32, Option<Moment>);

/// In version 1 the rule and its weight began a list of everything that was found.
type Found = (RuleName, Weight, IgnoredAny, IgnoredAny, IgnoredAny);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Now(Listed),
    Undated(Undated),
    Version1((Found, Moment, u32, u32, Option<Moment>)),
}

impl From<Written> for Count {
    fn from(written: Written) -> Self {
        let (rule, weight, first, hits, misses, standing) = match written {
            Written::Now((rule, weight, first, hits, misses, standing, last)) => {
                return Self { rule, weight, first, hits, misses, standing, last };
            }
            Written::Undated(undated) => undated,
            Written::Version1(((rule, weight, ..), first, hits, misses, standing)) => {
                (rule, weight, first, hits, misses, standing)
            }
        };
        Self { rule, weight, first, hits, misses, standing, last: standing.unwrap_or(first) }
    }
}

impl From<Count> for Listed {
    fn from(count: Count) -> Self {
        (count.rule, count.weight, count.first, count.hits, count.misses, count.standing, count.last)
    }
}

impl Count {
    /// A first hit.
    fn new(finding: &Finding, first: Moment) -> Self {
        Self { rule: finding.rule, weight: finding.weight, first, hits: 1, misses: 0, standing: None, last: first }
    }

    /// Whether it is shown: it stands, and is a fault.
    pub fn is_shown(&self) -> bool {
        self.standing.is_some() && self.weight != Weight::Support
    }

    /// A rule that used to veto and now only advises is counted anew.
    fn is_of(&self, finding: &Finding) -> bool {
        self.rule == finding.rule && self.weight == finding.weight
    }

    /// When it ends by itself, unless it fires again before that.
    pub fn expires(&self, policy: &GatePolicy) -> Moment {
        Moment(self.last.plus(policy.expiry))
    }

    fn hit(&mut self, at: Moment) {
        self.misses = 0;
        self.last = at;
        self.hits = (self.hits + 1).min(TO_STAND);
        if self.hits >= TO_STAND {
            self.standing.get_or_insert(at);
        }
    }

    const fn miss(&mut self) {
        self.hits = 0;
        self.misses += 1;
    }
}

/// Counts one evaluation. An unknown one counts as one without the rule: losing a sample may end a veto, never make one.
pub(super) fn add(counts: &mut Vec<Count>, opinion: &Opinion) {
    let at = Moment::of(opinion.at);
    for count in counts.iter_mut() {
        if opinion.findings.iter().any(|finding| count.is_of(finding)) {
            count.hit(at);
        } else {
            count.miss();
        }
    }
    counts.retain(|count| count.misses < TO_END && (count.hits > 0 || count.standing.is_some()));
    for finding in &opinion.findings {
        if !counts.iter().any(|count| count.is_of(finding)) {
            counts.push(Count::new(finding, at));
        }
    }
}
