//! The last clamp: minimum and maximum.

use crate::decision::{Reason, StepResult};
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
