//! A stage on the CPU before the engine (tokeniser, retrieval, sampling) holds requests back.

use super::{Certainty, Rule, RuleName, Says, at_least, below, data_loader, measure};
use crate::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// GPUs hardly active although requests wait or are late, little of their latency in the engine's own queue, and a CPU at
/// its limit. One busy core alone only advises: an engine that polls looks the same.
pub struct CpuStage;

impl Rule for CpuStage {
    fn name(&self) -> RuleName {
        RuleName::CpuStage
    }

    fn cause(&self) -> &'static str {
        "requests wait for a stage on the CPU"
    }

    fn certainty(&self) -> Certainty {
        Certainty::Upstream
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if at_limit(seen) {
            Says::Found(Weight::Veto, measured(seen))
        } else if late(seen) && seen.most_containers(|one| one_core(one, seen)) {
            Says::Found(Weight::Advice, measured(seen))
        } else {
            Says::NotMine
        }
    }
}

/// Whether it refuses.
pub(super) fn at_limit(seen: &Evidence) -> bool {
    late(seen) && seen.most_containers(|one| data_loader::cpu_bound(one, seen))
}

/// The gate is asked while demand exceeds its target, so requests wait somewhere: before the engine, where its own count of
/// what waits does not see them.
fn late(seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let late = |server: &ServerEvidence| below(server.queue_share(), limits.queue_share_below);
    seen.most_gpus(|gpu| below(gpu.activity(), limits.underused_below)) && seen.most_servers(late)
}

fn one_core(container: &ContainerEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    at_least(container.cores, limits.launching_cores_from) && below(container.cores, limits.one_core_below)
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::QueueShare, seen.server_mean(ServerEvidence::queue_share), limits.queue_share_below),
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.underused_below),
        measure(Quantity::CpuOfLimit, seen.container_mean(ContainerEvidence::of_limit), limits.cpu_of_limit_from),
        measure(Quantity::CpuThrottled, seen.container_mean(|one| one.throttled), limits.throttled_from),
        measure(Quantity::CpuPressure, seen.container_mean(|one| one.pressure), limits.cpu_pressure_from),
        measure(Quantity::CpuCores, seen.container_mean(|one| one.cores), limits.launching_cores_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
