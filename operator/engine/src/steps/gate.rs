//! Optimise first, then add: growth passes only where more GPUs would help, as far as that is known.

use crate::decision::{Reason, StepResult};
use crate::gate::Verdict;
use crate::policy::{GateMode, GatePolicy, OnUnknown};
use crate::units::Replicas;

/// `want` as far as the verdict lets it grow. It never lowers the number, never holds back `min`, never holds at zero.
pub fn gate(want: Replicas, current: Replicas, min: Replicas, verdict: Verdict, policy: &GatePolicy) -> StepResult {
    let pass = |reason| StepResult { after: want, reason };
    let hold = |reason| StepResult { after: current.max(min).min(want), reason };
    if want <= current {
        return pass(Reason::NotGrowing);
    }
    if policy.mode == GateMode::Off {
        return pass(Reason::GateOff);
    }
    if current == Replicas::ZERO {
        return pass(Reason::FromZero);
    }
    match (verdict, policy.mode) {
        (Verdict::Allow { by }, _) => pass(Reason::GatePassed { by }),
        (Verdict::Refuse { rule, .. }, GateMode::Enforce) => hold(Reason::GateRefused { rule, mode: policy.mode }),
        (Verdict::Refuse { rule, .. }, GateMode::Advise | GateMode::Off) => {
            pass(Reason::GateRefused { rule, mode: policy.mode })
        }
        (Verdict::Unknown(gap), mode) => {
            let then = if mode == GateMode::Enforce { policy.on_unknown } else { OnUnknown::Allow };
            let reason = Reason::GateUnknown { gap, then };
            match then {
                OnUnknown::Allow => pass(reason),
                OnUnknown::Hold => hold(reason),
            }
        }
    }
}
