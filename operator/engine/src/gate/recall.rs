//! A cause that refused growth and that nothing has disproved since: when demand comes back, growth waits for the next look.

use super::{Count, GateMemory, TO_END, Verdict};
use crate::memory::Moment;
use crate::opinion::{Gap, Lean, Opinion, Weight};
use crate::policy::GatePolicy;
use crate::rules::RuleName;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// A cause is remembered for this long after it last refused: a weekend without load mends nothing.
pub const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Growth waits for a window of the gate, in which evidence is gathered, and half of one, in which it is judged.
fn patience(policy: &GatePolicy) -> SignedDuration {
    policy.window.saturating_mul(3) / 2
}

/// What refused last under the present pod template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The rule.
    pub rule: RuleName,
    /// When its veto was last in force.
    pub at: Moment,
    /// Evaluations in a row, each with evidence, that did not show it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub misses: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl GateMemory {
    /// Takes in one counted evaluation. Without evidence it disproves nothing.
    pub(super) fn recall(&mut self, opinion: &Opinion) {
        let standing = |count: &&Count| count.weight == Weight::Veto && count.standing.is_some();
        if let Some(count) = self.counts.iter().find(standing) {
            self.cause = Some(Cause { rule: count.rule, at: Moment::of(opinion.at), misses: 0 });
            return;
        }
        let Some(cause) = &mut self.cause else { return };
        if opinion.findings.iter().any(|finding| finding.rule == cause.rule) {
            cause.misses = 0;
        } else if !matches!(opinion.lean, Lean::Unknown(_)) {
            cause.misses += 1;
        }
        self.cause.take_if(|cause| cause.misses >= TO_END);
    }

    /// `verdict`, unless there is none and a cause is remembered: growth waits to see whether it is still there, from when
    /// demand exceeded the replicas at `since`, or from when the evidence of it ended.
    pub fn recalled(&self, verdict: Verdict, since: Option<Timestamp>, policy: &GatePolicy, now: Timestamp) -> Verdict {
        let Some(cause) = self.cause.filter(|cause| now < cause.at.plus(REMEMBERED)) else { return verdict };
        let begun = Moment::of(since.unwrap_or(now)).max(cause.at);
        let until = Moment(begun.plus(patience(policy)));
        match verdict {
            Verdict::Unknown(Gap::Retesting { .. }) => verdict,
            Verdict::Unknown(_) if now < until.0 => Verdict::Unknown(Gap::Recalled { rule: cause.rule, until }),
            Verdict::Allow { .. } | Verdict::Refuse { .. } | Verdict::Unknown(_) => verdict,
        }
    }
}
