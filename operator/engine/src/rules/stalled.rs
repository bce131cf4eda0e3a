//! GPUs look busy and do nothing: a hang.

use super::{Certainty, Rule, RuleName, Says, at_least, below, measure};
use crate::evidence::{Evidence, GpuEvidence, ServerEvidence, TrainerEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::policy::Class;
use crate::span::Span;

/// Kernels that are always there, hardly any SM at work, a power near idle, and no progress where it is counted.
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
        if seen.most_gpus(|gpu| spinning(gpu, seen)) && no_progress(seen) {
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
    still && at_least(gpu.activity(), limits.stuck_active_from) && below(gpu.power, limits.stuck_power_below)
}

/// A small model on a large card looks the same and serves well: an inference server must say itself that nothing comes
/// out. Training seldom counts its tokens; where it does, they are believed.
fn no_progress(seen: &Evidence) -> bool {
    let limit = seen.gate.thresholds.progress_below;
    let stands = |server: &ServerEvidence| below(server.progress, limit);
    let may_move = |rate: Option<Span>, lost: bool| rate.map_or(lost, |rate| !rate.below(limit));
    let serves = |server: &ServerEvidence| may_move(server.progress, server.progress_lost);
    let trains = |trainer: &TrainerEvidence| may_move(trainer.throughput, trainer.throughput_lost);
    match seen.class {
        Class::Inference => seen.most_servers(stands),
        Class::Training | Class::Batch => !seen.servers.iter().any(serves) && !seen.trainers.iter().any(trains),
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
    ]
    .into_iter()
    .flatten()
    .collect()
}
