//! Plain policies: HPA's default behaviour and the gate's.

use super::secs;
use crate::policy::{Amount, Behavior, Class, GateMode, GatePolicy, OnUnknown, Pace, RatePolicy, Select};
use crate::rules::Thresholds;
use crate::stance::Stances;
use jiff::SignedDuration;

/// HPA's defaults: up by the larger of 100 % and 4 pods in 15 s, down by 100 % in 15 s after a window of 5 min.
pub fn behavior() -> Behavior {
    Behavior { up: pace(0, &[percent(100, 15), pods(4, 15)]), down: pace(300, &[percent(100, 15)]) }
}

/// One direction with this window in seconds, HPA's tolerance and `Max`.
pub fn pace(window: i64, policies: &[RatePolicy]) -> Pace {
    Pace { window: secs(window), tolerance: 0.1, policies: policies.to_vec(), select: Select::Max }
}

/// So many replicas in so many seconds.
pub const fn pods(pods: u32, seconds: i64) -> RatePolicy {
    RatePolicy { amount: Amount::Pods(pods), period: secs(seconds) }
}

/// So many percent in so many seconds.
pub const fn percent(percent: u32, seconds: i64) -> RatePolicy {
    RatePolicy { amount: Amount::Percent(percent), period: secs(seconds) }
}

/// Enforced, 10 min window, 30 min expiry, 30 s between evaluations; unknown allows inference and holds the others.
pub fn gate(class: Class) -> GatePolicy {
    GatePolicy {
        mode: GateMode::Enforce,
        window: SignedDuration::from_mins(10),
        expiry: SignedDuration::from_mins(30),
        spacing: secs(30),
        warm_up: SignedDuration::from_mins(5),
        on_unknown: match class {
            Class::Inference => OnUnknown::Allow,
            Class::Training | Class::Batch => OnUnknown::Hold,
        },
        thresholds: Thresholds::default(),
        stances: Stances::default(),
    }
}
