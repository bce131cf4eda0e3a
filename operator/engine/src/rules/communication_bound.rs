//! GPUs wait for each other: the exchange between them takes the time.

use super::{Rule, RuleName, Says, at_least, below, measure, storage_stall};
use crate::evidence::{ContainerEvidence, Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::policy::Class;

/// Several GPUs that work and wait by turns, or spin in kernels that hold few SMs, with room in their memory and a busy
/// link between them. Replicas of a trainer exchange, so one more makes it worse; those of a service or a batch job do
/// not, and are only advised.
pub struct CommunicationBound;

impl Rule for CommunicationBound {
    fn name(&self) -> RuleName {
        RuleName::CommunicationBound
    }

    fn cause(&self) -> &'static str {
        "GPUs wait for each other's data"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let waits = |gpu: &GpuEvidence| by_turns(gpu, seen) || spinning(gpu, seen);
        if !(seen.expected_gpus >= 2 && seen.most_gpus(waits) && exchanging(seen)) {
            return Says::NotMine;
        }
        let weight = match seen.class {
            Class::Training => Weight::Veto,
            Class::Inference | Class::Batch => Weight::Advice,
        };
        Says::Found(weight, measured(seen))
    }
}

/// Pipeline bubbles, accumulated gradients and evaluation swing too: a busy link must be seen beside it.
fn by_turns(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    at_least(gpu.swing, limits.swing_from) && below(gpu.activity(), limits.busy_from) && has_room(gpu, seen)
}

/// Collectives that wait for a peer count as active, so that the GPU is never without a kernel and its SMs are, by NVIDIA's
/// line, used badly. With memory or tensor pipe at work it is real work.
fn spinning(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    at_least(gpu.activity(), limits.stuck_active_from)
        && below(gpu.sm, limits.sm_busy_from)
        && below(gpu.dram, limits.dram_busy_from)
        && below(gpu.tensor, limits.spinning_tensor_below)
        && has_room(gpu, seen)
}

fn has_room(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    below(gpu.memory, seen.gate.thresholds.memory_room_below)
}

/// A link that is not measured is neither idle nor busy. `PCIe` also carries what an optimizer on the host copies, which keeps
/// the CPU busy.
fn exchanging(seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let several_pods = seen.containers.len() >= 2;
    seen.most_gpus(|gpu| at_least(gpu.nvlink, limits.link_from))
        || (seen.most_gpus(|gpu| at_least(gpu.pcie, limits.link_from)) && storage_stall::cpu_idles(seen))
        || (several_pods && seen.most_containers(|one| over_network(one, seen)))
}

/// Over RDMA, or over the network card: as a share of what it can carry, where that is known.
fn over_network(one: &ContainerEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let busy = match one.network_of_peak {
        Some(share) => share.at_least(limits.network_of_peak_from),
        None => !one.network_peak_lost && at_least(one.network, limits.network_from),
    };
    busy || at_least(one.rdma, limits.link_from)
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    // Where the card's peak is known, the rate is compared with nothing.
    let network = |one: &ContainerEvidence| one.network.filter(|_| one.network_of_peak.is_none());
    [
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.busy_from),
        measure(Quantity::GpuSwing, seen.gpu_mean(|gpu| gpu.swing), limits.swing_from),
        measure(Quantity::SmActivity, seen.gpu_mean(|gpu| gpu.sm), limits.sm_busy_from),
        measure(Quantity::NvlinkOfPeak, seen.gpu_mean(|gpu| gpu.nvlink), limits.link_from),
        measure(Quantity::PcieOfPeak, seen.gpu_mean(|gpu| gpu.pcie), limits.link_from),
        measure(Quantity::NetworkRate, seen.container_mean(network), limits.network_from),
        measure(Quantity::NetworkOfPeak, seen.container_mean(|one| one.network_of_peak), limits.network_of_peak_from),
        measure(Quantity::RdmaOfPeak, seen.container_mean(|one| one.rdma), limits.link_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
