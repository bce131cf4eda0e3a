//! Containers end because GPU memory does not suffice.

use super::{Certainty, Rule, RuleName, Says};
use crate::evidence::Evidence;
use crate::opinion::{Measure, Quantity, Weight};
use crate::policy::Class;

/// More replicas have the same memory each. One exit stops a trainer; a service goes on without the replica, so a single
/// one among many only advises.
pub struct GpuOutOfMemory;

impl Rule for GpuOutOfMemory {
    fn name(&self) -> RuleName {
        RuleName::GpuOutOfMemory
    }

    fn cause(&self) -> &'static str {
        "GPU memory does not suffice"
    }

    fn consequence(&self) -> &'static str {
        "more replicas have no more memory each"
    }

    fn certainty(&self) -> Certainty {
        Certainty::Counted
    }

    fn infers(&self) -> bool {
        false
    }

    fn needs_demand(&self) -> bool {
        false
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let exits: f64 = seen.exits().map(|exits| f64::from(exits.gpu_memory)).sum();
        if exits < 1.0 {
            return Says::NotMine;
        }
        let hit = seen.exits().filter(|exits| exits.gpu_memory > 0).count() as f64;
        // One that ended for another reason is no reason to think less of this one.
        let all = seen.containers.len() + seen.ended.iter().filter(|one| one.exits.gpu_memory > 0).count();
        let many = hit >= seen.gate.thresholds.memory_exits_from * all as f64;
        let weight = if many || seen.class == Class::Training { Weight::Veto } else { Weight::Advice };
        let memory = seen.gpu_mean(|gpu| gpu.memory).map(|used| Measure::of(Quantity::MemoryUsed, used, None));
        let exits = Measure::of(Quantity::GpuMemoryExits, exits, Some(1.0));
        Says::Found(weight, [Some(exits), memory].into_iter().flatten().collect())
    }
}
