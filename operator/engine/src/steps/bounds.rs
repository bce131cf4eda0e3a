//! The last clamp: minimum and maximum, and a ceiling of the gate.

use super::pleas::Pleas;
use crate::decision::{Reason, StepResult};
use crate::gate::Ceiling;
use crate::memory::Moment;
use crate::policy::GatePolicy;
use crate::units::Replicas;
use std::cmp::Ordering;

/// `want` between `min` and `max`; the maximum wins where they cross.
pub fn bounds(want: Replicas, min: Replicas, max: Replicas) -> StepResult {
    let after = want.max(min).min(max);
    let reason = match after.cmp(&want) {
        Ordering::Equal => Reason::Unchanged,
        Ordering::Greater => Reason::RaisedToMin,
        Ordering::Less => Reason::LoweredToMax,
    };
    StepResult { after, reason }
}

/// `bounded` below `ceiling`, which limits growth only: it never lowers what runs, never holds back the
/// minimum, and what is heard against a refusal is heard against it.
pub fn under_ceiling(
    bounded: StepResult,
    ceiling: &Ceiling,
    (current, min): (Replicas, Replicas),
    policy: &GatePolicy,
    pleas: &Pleas<'_>,
) -> StepResult {
    let wanted = bounded.after;
    let after = wanted.min(ceiling.replicas.max(current).max(min));
    if after == wanted {
        return bounded;
    }
    if let Some(heard) = pleas.heard(wanted, after, None) {
        return heard;
    }
    let until = Moment(ceiling.at.plus(policy.expiry));
    StepResult { after, reason: Reason::Ceiling { wanted, ceiling: *ceiling, until } }
}
