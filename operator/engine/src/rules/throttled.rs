//! Heat or hardware holds the clocks down.

use super::{Rule, RuleName, Says};
use crate::evidence::{Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// Some GPUs run at lowered clocks most of the time. It is said, never decided on: the others may be well.
pub struct Throttled;

impl Rule for Throttled {
    fn name(&self) -> RuleName {
        RuleName::Throttled
    }

    fn cause(&self) -> &'static str {
        "heat or hardware holds the clocks down"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let from = seen.gate.thresholds.clocks_held_from;
        let held = |gpu: &GpuEvidence| gpu.clocks_held.filter(|share| share.at_least(from));
        let concerned = seen.gpus.iter().filter(|gpu| held(gpu).is_some()).count();
        if concerned == 0 {
            return Says::NotMine;
        }
        let share = seen.gpu_mean(held).unwrap_or_default();
        let measured = vec![
            Measure::of(Quantity::ClocksHeld, share, Some(from)),
            Measure::of(Quantity::GpusConcerned, concerned as f64, None),
        ];
        Says::Found(Weight::Advice, measured)
    }
}
