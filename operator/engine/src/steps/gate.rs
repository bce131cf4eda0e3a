//! Optimise first, then add: growth passes only where more GPUs would help, as far as that is known.

use super::pleas::Pleas;
use crate::decision::{Reason, StepResult};
use crate::gate::Verdict;
use crate::opinion::Gap;
use crate::policy::{GateMode, GatePolicy, OnUnknown};
use crate::rules::RuleName;
use crate::units::Replicas;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// This many.
    pub want: Replicas,
    /// What runs.
    pub current: Replicas,
    /// Never held back.
    pub min: Replicas,
}

/// The wish as far as the verdict lets it grow. It never lowers the number, never holds back the minimum, never holds at
/// zero; what it would hold, a plea may still let pass.
pub fn gate(ask: Ask, verdict: Verdict, policy: &GatePolicy, pleas: &Pleas<'_>) -> StepResult {
    let Ask { want, current, min } = ask;
    let pass = |reason| StepResult { after: want, reason };
    if want <= current {
        return pass(Reason::NotGrowing);
    }
    if policy.mode == GateMode::Off {
        return pass(Reason::GateOff);
    }
    if current == Replicas::ZERO {
        return pass(Reason::FromZero);
    }
    let reason = match (verdict, policy.mode) {
        (Verdict::Allow { by }, _) => return pass(Reason::GatePassed { by }),
        (Verdict::Refuse { rule, .. }, mode) => {
            let reason = Reason::GateRefused { rule, mode };
            if mode != GateMode::Enforce {
                return pass(reason);
            }
            reason
        }
        (Verdict::Unknown(gap), mode) => {
            let then = match (mode, gap) {
                (GateMode::Enforce, Gap::Recalled { .. }) => OnUnknown::Hold,
                (GateMode::Enforce, _) => policy.on_unknown,
                (GateMode::Advise | GateMode::Off, _) => OnUnknown::Allow,
            };
            let reason = Reason::GateUnknown { gap, then };
            if then == OnUnknown::Allow {
                return pass(reason);
            }
            reason
        }
    };
    let held = current.max(min).min(want);
    pleas.heard(want, held, refusing(verdict)).unwrap_or(StepResult { after: held, reason })
}

const fn refusing(verdict: Verdict) -> Option<RuleName> {
    match verdict {
        Verdict::Refuse { rule, .. } => Some(rule),
        Verdict::Allow { .. } | Verdict::Unknown(_) => None,
    }
}
