//! The gate of a spec with the defaults of its class.

use super::{MINUTE, Reader, WEEK};
use crate::evidence::LONGEST;
use crate::overrides::{self, OverrideError};
use crate::refusal::RefusalReason;
use jiff::SignedDuration;
use wellfed_crds::{Class, Gate, GoDuration, RuleStance};
use wellfed_engine::policy::{self, GatePolicy};
use wellfed_engine::rules::Thresholds;
use wellfed_engine::stance::{Stance, Stances};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// A window of fewer looks makes no case: of two, one that failed is half.
const FEWEST_LOOKS: i32 = 3;

impl Reader<'_> {
    pub(super) fn gate(&mut self, class: Class, gate: Option<&Gate>) -> GatePolicy {
        let gate = gate.cloned().unwrap_or_default();
        let (window, on_unknown) = match class {
            Class::Inference => (MINUTE * 10, policy::OnUnknown::Allow),
            Class::Training | Class::Batch => (MINUTE * 30, policy::OnUnknown::Hold),
        };
        let shortest = (self.settings.evidence_interval * FEWEST_LOOKS).min(LONGEST);
        GatePolicy {
            mode: match gate.mode {
                None | Some(wellfed_crds::GateMode::Enforce) => policy::GateMode::Enforce,
                Some(wellfed_crds::GateMode::Advise) => policy::GateMode::Advise,
                Some(wellfed_crds::GateMode::Off) => policy::GateMode::Off,
            },
            window: self.window(gate.window.as_ref(), window.max(shortest), shortest),
            expiry: self.duration("spec.gate.expireAfter", gate.expire_after.as_ref(), MINUTE * 30, (SECOND, WEEK.1)),
            // An evaluation counts on a look of its own, however late or early that is.
            spacing: self.settings.evidence_interval / 2,
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
            stances: self.stances(&gate),
        }
    }

    fn stances(&mut self, gate: &Gate) -> Stances {
        let mut all = Stances::default();
        for (name, stance) in &gate.rules {
            match overrides::rule(name) {
                Ok(rule) => all = all.with(rule, stance_of(*stance)),
                Err(error) => {
                    let path = format!("spec.gate.rules.{name}");
                    self.refuse(path, RefusalReason::UnknownRule, error.to_string());
                }
            }
        }
        all
    }

    /// A window within which there are looks enough.
    fn window(
        &mut self,
        set: Option<&GoDuration>,
        default: SignedDuration,
        shortest: SignedDuration,
    ) -> SignedDuration {
        const PATH: &str = "spec.gate.window";
        let window = self.duration(PATH, set, default, (SECOND, LONGEST));
        if window < shortest {
            let apart = self.settings.evidence_interval;
            let message = format!(
                "{window:#} is too short: GPUs are looked at once each {apart:#} (the operator's --evidence-interval), and a \
                 window needs {FEWEST_LOOKS} looks; write {shortest:#} or more, or leave it out"
            );
            self.refuse(PATH.to_owned(), RefusalReason::BadValue, message);
        }
        window
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

const fn stance_of(stance: RuleStance) -> Stance {
    match stance {
        RuleStance::Advise => Stance::Advise,
        RuleStance::Off => Stance::Off,
    }
}
