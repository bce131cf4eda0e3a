//! Copies between host and GPU fill the step, and neither of the two computes meanwhile.

use super::{Rule, RuleName, Says, at_least, below, measure, storage_stall};
use crate::evidence::{Evidence, GpuEvidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// Much traffic over `PCIe` beside GPUs that wait, few SMs at work and an idle CPU. An offloaded optimizer copies too,
/// and keeps the CPU busy; a server with a KV cache may have moved part of it to the host because it must.
pub struct HostDeviceTransfer;

impl Rule for HostDeviceTransfer {
    fn name(&self) -> RuleName {
        RuleName::HostDeviceTransfer
    }

    fn cause(&self) -> &'static str {
        "GPUs wait for copies from and to the host"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if !(seen.most_gpus(|gpu| copying(gpu, seen)) && storage_stall::cpu_idles(seen)) {
            return Says::NotMine;
        }
        let keeps_a_cache = seen.servers.iter().any(ServerEvidence::keeps_a_cache);
        Says::Found(if keeps_a_cache { Weight::Advice } else { Weight::Veto }, measured(seen))
    }
}

fn copying(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    // No more SMs are at work than the engine is active.
    let waiting = match gpu.sm {
        Some(sm) => sm.below(limits.sm_waiting_below),
        None => !gpu.sm_lost && below(gpu.activity(), limits.sm_waiting_below),
    };
    below(gpu.activity(), limits.starved_below)
        && waiting
        && (at_least(gpu.pcie_rx, limits.pcie_rx_from) || at_least(gpu.pcie, limits.link_from))
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::PcieReceived, seen.gpu_mean(|gpu| gpu.pcie_rx), limits.pcie_rx_from),
        measure(Quantity::PcieOfPeak, seen.gpu_mean(|gpu| gpu.pcie), limits.link_from),
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.starved_below),
        measure(Quantity::SmActivity, seen.gpu_mean(|gpu| gpu.sm), limits.sm_waiting_below),
    ]
    .into_iter()
    .chain(storage_stall::idleness(seen))
    .flatten()
    .collect()
}
