//! GPUs wait for storage, and the CPU waits with them.

use super::{Certainty, Rule, RuleName, Says, measure};
use crate::evidence::{ContainerEvidence, Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// GPUs less than half active while the tasks that feed them wait for storage and leave their CPU idle.
pub struct StorageStall;

impl Rule for StorageStall {
    fn name(&self) -> RuleName {
        RuleName::StorageStall
    }

    fn cause(&self) -> &'static str {
        "GPUs wait for storage"
    }

    fn certainty(&self) -> Certainty {
        Certainty::AtLimit
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let limits = &seen.gate.thresholds;
        let starved = |gpu: &GpuEvidence| gpu.activity().is_some_and(|activity| activity.below(limits.starved_below));
        if seen.most_gpus(starved) && seen.most_containers(|one| fetching(one, seen)) {
            Says::Found(Weight::Veto, measured(seen))
        } else {
            Says::NotMine
        }
    }
}

/// Without a limit nobody knows whether the CPU is idle: then it is no storage stall.
fn fetching(container: &ContainerEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    container.io_pressure.is_some_and(|share| share.at_least(limits.io_pressure_from))
        && container.of_limit().is_some_and(|share| share.below(limits.cpu_idle_below))
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.starved_below),
        measure(Quantity::IoPressure, seen.container_mean(|one| one.io_pressure), limits.io_pressure_from),
        measure(Quantity::CpuOfLimit, seen.container_mean(ContainerEvidence::of_limit), limits.cpu_idle_below),
    ]
    .into_iter()
    .flatten()
    .collect()
}
