//! Heat or hardware holds the clocks down.

use super::{Rule, RuleName, Says, measure};
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

    fn needs_demand(&self) -> bool {
        false
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let limits = &seen.gate.thresholds;
        let held = |gpu: &GpuEvidence| gpu.clocks_held.filter(|share| share.at_least(limits.clocks_held_from));
        // Events tell badly for how long: only where nothing tells the time.
        let often = |gpu: &GpuEvidence| {
            let events = gpu.clock_events.filter(|events| events.at_least(limits.clock_events_from));
            events.filter(|_| gpu.clocks_held.is_none())
        };
        let concerned = seen.gpus.iter().filter(|gpu| held(gpu).or(often(gpu)).is_some()).count();
        if concerned == 0 {
            return Says::NotMine;
        }
        let measured = [
            measure(Quantity::ClocksHeld, seen.gpu_mean(held), limits.clocks_held_from),
            measure(Quantity::ClockEvents, seen.gpu_mean(often), limits.clock_events_from),
            Some(Measure::of(Quantity::GpusConcerned, concerned as f64, None)),
        ];
        Says::Found(Weight::Advice, measured.into_iter().flatten().collect())
    }
}
