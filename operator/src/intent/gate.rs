//! The gate of a spec with the defaults of its class.

use super::{MINUTE, Reader, WEEK};
use crate::evidence::LONGEST;
use crate::refusal::RefusalReason;
use jiff::SignedDuration;
use wellfed_crds::{Class, Gate, Quantity};
use wellfed_engine::policy::{self, GatePolicy};
use wellfed_engine::rules::Thresholds;

const SECOND: SignedDuration = SignedDuration::from_secs(1);

impl Reader<'_> {
    pub(super) fn gate(&mut self, class: Class, gate: Option<&Gate>) -> GatePolicy {
        let gate = gate.cloned().unwrap_or_default();
        let (window, on_unknown) = match class {
            Class::Inference => (MINUTE * 10, policy::OnUnknown::Allow),
            Class::Training | Class::Batch => (MINUTE * 30, policy::OnUnknown::Hold),
        };
        GatePolicy {
            mode: match gate.mode {
                None | Some(wellfed_crds::GateMode::Enforce) => policy::GateMode::Enforce,
                Some(wellfed_crds::GateMode::Advise) => policy::GateMode::Advise,
                Some(wellfed_crds::GateMode::Off) => policy::GateMode::Off,
            },
            window: self.duration("spec.gate.window", gate.window.as_ref(), window, (SECOND, LONGEST)),
            expiry: self.duration("spec.gate.expireAfter", gate.expire_after.as_ref(), MINUTE * 30, (SECOND, WEEK.1)),
            spacing: self.settings.spacing,
            warm_up: self.duration(
                "spec.gate.warmUp",
                gate.warm_up.as_ref(),
                MINUTE * 5,
                (SignedDuration::ZERO, LONGEST),
            ),
            on_unknown: match gate.on_unknown {
                None => on_unknown,
                Some(wellfed_crds::OnUnknown::Allow) => policy::OnUnknown::Allow,
                Some(wellfed_crds::OnUnknown::Hold) => policy::OnUnknown::Hold,
            },
            thresholds: self.thresholds(&gate),
        }
    }

    fn thresholds(&mut self, gate: &Gate) -> Thresholds {
        let own = gate.thresholds.clone().unwrap_or_default();
        let default = Thresholds::default();
        let mut share = |name: &str, own: Option<&Quantity>, default| {
            let path = format!("spec.gate.thresholds.{name}");
            let share = self.quantity(&path, own, default);
            if share > 1.0 {
                let message = format!("{share} is no share; write one from 0 to 1, such as \"700m\" for 70 %");
                self.refuse(path, RefusalReason::BadValue, message);
            }
            share
        };
        Thresholds {
            underused_below: share("underusedBelow", own.underused_below.as_ref(), default.underused_below),
            starved_below: share("starvedBelow", own.starved_below.as_ref(), default.starved_below),
            busy_from: share("busyFrom", own.busy_from.as_ref(), default.busy_from),
            cpu_of_limit_from: share("cpuOfLimitFrom", own.cpu_of_limit_from.as_ref(), default.cpu_of_limit_from),
            throttled_from: share("throttledFrom", own.throttled_from.as_ref(), default.throttled_from),
            cpu_pressure_from: share("cpuPressureFrom", own.cpu_pressure_from.as_ref(), default.cpu_pressure_from),
            ..default
        }
    }
}
