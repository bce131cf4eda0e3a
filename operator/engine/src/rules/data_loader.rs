//! GPUs wait for the CPU that feeds them.

use super::{Certainty, Rule, RuleName, Says, at_least, below, cpu_stage, measure, storage_stall};
use crate::evidence::{ContainerEvidence, DataWait, Evidence, GpuEvidence, TrainerEvidence};
use crate::opinion::{Gap, Measure, Quantity, Weight};
use crate::policy::Class;

/// GPUs that wait, by the trainers' own count or else by their activity, while the CPU that prepares their input is at
/// its limit.
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
        match seen.data_wait() {
            // A CPU that idles meanwhile waits for storage itself.
            DataWait::High if !storage_stall::cpu_idles(seen) => Says::Found(counted(seen), measured(seen)),
            DataWait::Unsure if inferred(seen) => Says::Unsure(Gap::DataWaitLost),
            DataWait::Uncounted if inferred(seen) => Says::Found(Weight::Veto, measured(seen)),
            _ => Says::NotMine,
        }
    }
}

/// What a counted wait weighs.
pub(super) fn counted(seen: &Evidence) -> Weight {
    if seen.gpus_may_wait() { Weight::Veto } else { Weight::Advice }
}

/// A server that tells its queue from its latency names the stage itself.
fn inferred(seen: &Evidence) -> bool {
    seen.most_gpus(|gpu| starved(gpu, seen))
        && seen.most_containers(|one| cpu_bound(one, seen))
        && !cpu_stage::at_limit(seen)
}

fn starved(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    // Requests come in bursts by themselves; steps do not.
    let gaps = seen.class != Class::Inference
        && at_least(gpu.swing, limits.gaps_from)
        && below(gpu.activity(), limits.busy_from);
    gaps || below(gpu.activity(), limits.starved_below)
}

/// The container's CPU is what it waits for.
pub(super) fn cpu_bound(container: &ContainerEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let at_limit = at_least(container.of_limit(), limits.cpu_of_limit_from)
        && container.limit.is_some_and(|cores| cores >= limits.cpu_limit_cores_from);
    // A container that wakes for a moment is throttled while it mostly sleeps (kubernetes-mixin#108).
    let throttled = at_least(container.throttled, limits.throttled_from)
        && at_least(container.of_limit(), limits.throttled_cpu_from);
    at_limit || throttled || at_least(container.pressure, limits.cpu_pressure_from)
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    let wait = seen.trainer_mean(TrainerEvidence::data_wait_share);
    [
        measure(Quantity::DataWaitShare, wait, limits.data_wait_from),
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.starved_below),
        measure(Quantity::CpuOfLimit, seen.container_mean(ContainerEvidence::of_limit), limits.cpu_of_limit_from),
        measure(Quantity::CpuThrottled, seen.container_mean(|one| one.throttled), limits.throttled_from),
        measure(Quantity::CpuPressure, seen.container_mean(|one| one.pressure), limits.cpu_pressure_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
