//! GPUs look busy and do nothing: a hang.

use super::{Certainty, Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{ContainerEvidence, Evidence, GpuEvidence, Moves, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::policy::Class;
use crate::span::Span;

/// Kernels that are always there, hardly any SM at work, a power near idle, links at rest where they are measured, and no
/// progress where it is counted.
pub struct Stalled;

impl Rule for Stalled {
    fn name(&self) -> RuleName {
        RuleName::Stalled
    }

    fn cause(&self) -> &'static str {
        "GPUs look busy and do nothing"
    }

    fn consequence(&self) -> &'static str {
        "more GPUs would hang as well"
    }

    fn certainty(&self) -> Certainty {
        Certainty::Stuck
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if seen.most_gpus(|gpu| spinning(gpu, seen)) && no_traffic(seen) && no_progress(seen) {
            Says::Found(Weight::Veto, measured(seen))
        } else {
            Says::NotMine
        }
    }
}

fn spinning(gpu: &GpuEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let nothing = |value| below(value, limits.stuck_work_below);
    let still = match gpu.sm {
        Some(sm) => sm.below(limits.stuck_sm_below),
        None => !gpu.sm_lost && nothing(gpu.tensor) && nothing(gpu.dram),
    };
    let rests = |link: Option<Span>, lost: bool| link.map_or(!lost, |link| link.below(limits.stuck_link_below));
    still
        && at_least(gpu.activity(), limits.stuck_active_from)
        && below(gpu.power, limits.stuck_power_below)
        && rests(gpu.nvlink, gpu.nvlink_lost)
        && rests(gpu.pcie, gpu.pcie_lost)
}

/// An exchange over a slow network keeps the GPUs as still as a hang; a network that is not measured tells nothing.
fn no_traffic(seen: &Evidence) -> bool {
    let (limit, links) = (seen.gate.thresholds.stuck_network_below, seen.gate.thresholds.stuck_link_below);
    let rests = |link: Option<Span>, lost: bool, limit| link.map_or(!lost, |link| link.below(limit));
    let rests =
        |one: &ContainerEvidence| rests(one.network, one.network_lost, limit) && rests(one.rdma, one.rdma_lost, links);
    seen.most_containers(rests)
}

/// Whoever counts its work is believed: servers, trainers, the workload's own signals. A small model on a large card looks
/// the same and serves well: inference must say itself that nothing comes out. Training seldom says so.
fn no_progress(seen: &Evidence) -> bool {
    let limit = seen.gate.thresholds.progress_below;
    let of_server = |server: &ServerEvidence| Moves::rate(server.progress, server.progress_lost, limit);
    let own = seen.own.moves();
    let served = || seen.servers.iter().map(of_server);
    let trained = || seen.trainers.iter().map(|trainer| trainer.moves(limit));
    match seen.class {
        Class::Inference if own == Moves::Stands => !served().any(|moves| moves == Moves::May),
        Class::Inference => own != Moves::May && seen.most_servers(|server| of_server(server) == Moves::Stands),
        Class::Training | Class::Batch => {
            own != Moves::May && !served().chain(trained()).any(|moves| moves == Moves::May)
        }
    }
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    let trained = seen.trainer_mean(|trainer| trainer.throughput);
    let progress = seen.server_mean(|server| server.progress).or(trained);
    [
        measure(Quantity::GpuActivity, seen.gpu_mean(GpuEvidence::activity), limits.stuck_active_from),
        measure(Quantity::SmActivity, seen.gpu_mean(|gpu| gpu.sm), limits.stuck_sm_below),
        measure(Quantity::TensorActivity, seen.gpu_mean(|gpu| gpu.tensor), limits.stuck_work_below),
        measure(Quantity::PowerOfLimit, seen.gpu_mean(|gpu| gpu.power), limits.stuck_power_below),
        measure(Quantity::Progress, progress, limits.progress_below),
        seen.trainer_mean(|trainer| trainer.steps).map(|steps| Measure::of(Quantity::StepsDone, steps, None)),
        seen.own.throughput.map(|work| Measure::of(Quantity::WorkDone, work.mean, None)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
