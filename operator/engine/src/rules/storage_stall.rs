//! GPUs wait for storage, and the CPU waits with them.

use super::{Certainty, Rule, RuleName, Says, at_least, below, data_loader, measure};
use crate::evidence::{ContainerEvidence, DataWait, Evidence, GpuEvidence, TrainerEvidence};
use crate::opinion::{Gap, Measure, Quantity, Weight};
use crate::span::Span;

/// GPUs that wait, by the trainers' own count or else by their activity, while the tasks that feed them wait for storage
/// and leave their CPU idle.
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
        match seen.data_wait() {
            // Whatever storage it is: one that is mounted or read over the network shows no wait for a disk.
            DataWait::High if cpu_idles(seen) => Says::Found(data_loader::counted(seen), measured(seen)),
            DataWait::Unsure if inferred(seen) => Says::Unsure(Gap::DataWaitLost),
            DataWait::Uncounted if inferred(seen) => Says::Found(Weight::Veto, measured(seen)),
            _ => Says::NotMine,
        }
    }
}

fn inferred(seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let from = limits.io_pressure_from.max(limits.io_of_idle_from * most_idle(seen));
    let fetching = |one: &ContainerEvidence| at_least(one.io_wait(), from) && idles(one, seen);
    seen.most_gpus(|gpu| below(gpu.activity(), limits.starved_below)) && seen.most_containers(fetching)
}

/// Share of time in which the idlest GPU may have idled: a wait that is short beside it is not what the GPU waits for.
fn most_idle(seen: &Evidence) -> f64 {
    let seen_all = seen.gpus.len() >= seen.expected_gpus as usize;
    let least = seen.gpus.iter().map(|gpu| gpu.activity().map_or(0.0, |activity| activity.low)).fold(1.0, f64::min);
    if seen_all { 1.0 - least } else { 1.0 }
}

/// Whether most containers leave their CPU idle.
pub(super) fn cpu_idles(seen: &Evidence) -> bool {
    seen.most_containers(|one| idles(one, seen))
}

/// Without a limit, request and node nobody knows whether the CPU is idle.
fn idles(container: &ContainerEvidence, seen: &Evidence) -> bool {
    below(container.of_limit().or_else(|| container.of_at_hand()), seen.gate.thresholds.cpu_idle_below)
}

/// How little of its CPU a container uses, by what that is known.
pub(super) fn idleness(seen: &Evidence) -> [Option<Measure>; 2] {
    let below = seen.gate.thresholds.cpu_idle_below;
    [
        measure(Quantity::CpuOfLimit, seen.container_mean(ContainerEvidence::of_limit), below),
        measure(Quantity::CpuOfAtHand, seen.container_mean(ContainerEvidence::of_at_hand), below),
    ]
}

/// The node's wait, where it stands in for the container's own.
fn stands_in(container: &ContainerEvidence) -> Option<Span> {
    container.io_wait().filter(|_| container.io_pressure.is_none())
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    let wait = seen.trainer_mean(TrainerEvidence::data_wait_share);
    [
        measure(Quantity::DataWaitShare, wait, limits.data_wait_from),
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.starved_below),
        measure(Quantity::IoPressure, seen.container_mean(|one| one.io_pressure), limits.io_pressure_from),
        measure(Quantity::NodeIowait, seen.container_mean(stands_in), limits.io_pressure_from),
    ]
    .into_iter()
    .chain(idleness(seen))
    .flatten()
    .collect()
}
