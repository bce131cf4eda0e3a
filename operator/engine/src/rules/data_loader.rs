//! GPUs wait for the CPU that feeds them.

use super::{Certainty, Rule, RuleName, Says, measure};
use crate::evidence::{ContainerEvidence, Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// GPUs less than half active while the CPU that prepares their input is at its limit.
pub struct DataLoader;

impl Rule for DataLoader {
    fn name(&self) -> RuleName {
        RuleName::DataLoader
    }

    fn cause(&self) -> &'static str {
        "GPUs wait for the CPU that feeds them"
    }

    fn certainty(&self) -> Certainty {
        Certainty::AtLimit
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let limits = &seen.gate.thresholds;
        if !seen.most_gpus(|gpu| gpu.activity().is_some_and(|activity| activity.below(limits.starved_below))) {
            return Says::NotMine;
        }
        let cause = seen.most_containers(|one| cpu_bound(one, seen)) || seen.most_gpus(|gpu| copying(gpu, seen));
        if cause { Says::Found(Weight::Veto, measured(seen)) } else { Says::NotMine }
    }
}

fn cpu_bound(container: &ContainerEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    // An inference engine polls on one core, so one busy core of a one-core limit proves nothing without throttling.
    let at_limit = container.of_limit().is_some_and(|share| share.at_least(limits.cpu_of_limit_from))
        && container.limit.is_some_and(|cores| cores >= 2.0);
    at_limit
        || container.throttled.is_some_and(|share| share.at_least(limits.throttled_from))
        || container.pressure.is_some_and(|share| share.at_least(limits.cpu_pressure_from))
}

/// Input streams over `PCIe` while the SMs wait for it.
fn copying(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    gpu.pcie_rx.is_some_and(|rate| rate.at_least(limits.pcie_rx_from))
        && gpu.sm.is_some_and(|sm| sm.below(limits.sm_waiting_below))
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.starved_below),
        measure(Quantity::CpuOfLimit, seen.container_mean(ContainerEvidence::of_limit), limits.cpu_of_limit_from),
        measure(Quantity::CpuThrottled, seen.container_mean(|one| one.throttled), limits.throttled_from),
        measure(Quantity::CpuPressure, seen.container_mean(|one| one.pressure), limits.cpu_pressure_from),
        measure(Quantity::PcieReceived, seen.gpu_mean(|gpu| gpu.pcie_rx), limits.pcie_rx_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
