//! The gate of a spec with the defaults of its class.

use super::{MINUTE, Reader, WEEK};
use crate::evidence::LONGEST;
use crate::overrides::{self, OverrideError};
use crate::refusal::RefusalReason;
use jiff::SignedDuration;
use wellfed_crds::{Class, Gate};
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

    /// What the workload says, else what the cluster says, else what is built in.
    fn thresholds(&mut self, gate: &Gate) -> Thresholds {
        // The file was checked when it was read.
        let mut all = self.settings.config.gate.resolved().unwrap_or_default();
        for (name, value) in &gate.thresholds {
            match overrides::set(&all, name, value) {
                Ok(set) => all = set,
                Err(error) => {
                    let reason = match error {
                        OverrideError::Unknown { .. } => RefusalReason::UnknownThreshold,
                        OverrideError::Quantity(_) | OverrideError::Impossible(_) => RefusalReason::BadValue,
                    };
                    self.refuse(format!("spec.gate.thresholds.{name}"), reason, error.to_string());
                }
            }
        }
        all
    }
}
