//! Kernels are too small: the GPU waits for the next launch, and one CPU core for nothing else.

use super::{Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{ContainerEvidence, DataWait, Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::policy::Class;

/// A GPU that is often active with few SMs, little memory traffic and hardly a multiplication, beside a busy CPU core.
/// It holds training; inference, whose users wait meanwhile, it only advises. Kernels of late data may be as thin: where
/// nothing tells whether the CPU is at its limit, several busy cores may be what the GPU waits for, and it only advises. So it
/// does where a model is split over the replicas: more of them leave each more memory, and room for larger kernels.
pub struct LaunchBound;

impl Rule for LaunchBound {
    fn name(&self) -> RuleName {
        RuleName::LaunchBound
    }

    fn cause(&self) -> &'static str {
        "GPUs wait for the launch of small kernels"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let cores_from = seen.gate.thresholds.launching_cores_from;
        let launching = |one: &ContainerEvidence| at_least(one.cores, cores_from);
        if !(seen.most_gpus(|gpu| small_kernels(gpu, seen)) && seen.most_containers(launching)) {
            return Says::NotMine;
        }
        match seen.class {
            Class::Inference => Says::Found(Weight::Advice, measured(seen)),
            Class::Training | Class::Batch if waits_for_no_data(seen) && !seen.sharded => {
                Says::Found(Weight::Veto, measured(seen))
            }
            Class::Training | Class::Batch => Says::Unexplained(Weight::Advice, measured(seen)),
        }
    }
}

/// By the trainers' own count, or since the CPU has room, or since hardly more than the launching thread is busy.
fn waits_for_no_data(seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let has_room = |one: &ContainerEvidence| below(one.of_limit(), limits.cpu_of_limit_from);
    let one_thread = |one: &ContainerEvidence| below(one.cores, limits.launching_cores_below);
    seen.data_wait() == DataWait::Low || seen.most_containers(|one| has_room(one) || one_thread(one))
}

/// All four must be measured: with one of them high it is real work. Few SMs on the average may be large kernels that come
/// seldom, as when data is late: those fill the SMs while they run.
fn small_kernels(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    gpu.activity().is_some_and(|activity| {
        activity.at_least(limits.launch_active_from)
            && activity.below(limits.stuck_active_from)
            && below(gpu.sm, limits.launch_fill_below * activity.low)
    }) && below(gpu.sm, limits.launch_sm_below)
        && below(gpu.dram, limits.launch_dram_below)
        && below(gpu.tensor, limits.tensor_busy_from)
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.launch_active_from),
        measure(Quantity::SmActivity, seen.gpu_mean(|gpu| gpu.sm), limits.launch_sm_below),
        measure(Quantity::DramActivity, seen.gpu_mean(|gpu| gpu.dram), limits.launch_dram_below),
        measure(Quantity::CpuOfLimit, seen.container_mean(ContainerEvidence::of_limit), limits.cpu_of_limit_from),
        measure(Quantity::CpuCores, seen.container_mean(|one| one.cores), limits.launching_cores_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
