//! GPUs are hardly used, and nothing else explains it.

use super::{Rule, RuleName, Says, below, measure};
use crate::evidence::{Evidence, GpuEvidence};
use crate::opinion::{Quantity, Weight};
use crate::policy::Class;

/// Most GPUs active less than 30 % of the time. Without a cause this holds training, and only advises inference,
/// whose users wait while its engineers look for the cause. Where nobody asks for more, there are more GPUs than the work
/// needs.
pub struct Underused;

impl Rule for Underused {
    fn name(&self) -> RuleName {
        RuleName::Underused
    }

    fn cause(&self) -> &'static str {
        "GPUs are hardly used"
    }

    fn consequence(&self) -> &'static str {
        "more GPUs would be used as little"
    }

    fn needs_demand(&self) -> bool {
        false
    }

    fn takes_a_day(&self) -> bool {
        true
    }

    fn may_apply(&self, seen: &Evidence) -> bool {
        let limit = seen.gate.thresholds.underused_below;
        seen.most_seen_gpus(|gpu| gpu.activity().is_some_and(|activity| activity.mean < limit))
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let limit = seen.gate.thresholds.underused_below;
        if !seen.most_gpus(|gpu| below(gpu.activity(), limit)) {
            return Says::NotMine;
        }
        let weight = match seen.class {
            Class::Inference => Weight::Advice,
            Class::Training | Class::Batch => Weight::Veto,
        };
        let measured = measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limit);
        Says::Unexplained(weight, measured.into_iter().collect())
    }
}
