//! What stands between exporters and the lane, for the ways in which telemetry is broken that are not a pod's own.

use crate::case::{Case, Fault, Pod, WORKLOAD};
use wellfed::config::TrainerNames;
use wellfed::evidence::{Metric, Slice, Subject};
use wellfed_sim::sim::Replica;

/// The container of each pod that uses its GPUs.
pub const CONTAINER: &str = "gpu";
/// What an exporter shows as a share of time or of a pipe.
const ACTIVITY: [Metric; 6] = [Metric::Util, Metric::Engine, Metric::Sm, Metric::Tensor, Metric::Fp32, Metric::Dram];
/// Samples of a minute, of which one can't be.
const SAMPLES: f64 = 4.0;

/// `slice` as the lane gets it, where `pods` are those of the case.
pub fn garbled(case: &Case, slice: Slice, pods: &[Pod]) -> Slice {
    let again = |seen: &dyn Fn(&Pod, Metric, f64) -> Option<f64>, mig: &str| rewritten(case, &slice, pods, seen, mig);
    match case.draft.fault {
        Some(Fault::ProfilingZero) => again(&profiling_zero, ""),
        Some(Fault::MigUtilisation) => again(&mig_utilisation, "/7"),
        Some(Fault::ScrapedTwice) => again(&scraped_twice, ""),
        Some(Fault::UnknownMakes(clock)) => {
            again(&|pod, metric, value| Some(other_make(pod, metric, value, clock)), "")
        }
        Some(Fault::Impossible(bad)) => again(&|_, metric, value| impossible(metric, value, bad), ""),
        Some(Fault::Gaps(_) | Fault::Shared | Fault::OneNamed) | None => slice,
    }
}

/// The GPUs of a replica, whose node has the name `place`.
pub fn gpus(replica: &Replica, place: &str) -> Vec<String> {
    (0..replica.gpus).map(|gpu| format!("GPU-{place}-{gpu}")).collect()
}

/// Everything in `slice` about `pods`, as it is `seen`; GPUs are instances called `mig` of theirs.
fn rewritten(
    case: &Case,
    slice: &Slice,
    pods: &[Pod],
    seen: &dyn Fn(&Pod, Metric, f64) -> Option<f64>,
    mig: &str,
) -> Slice {
    let mut again = Slice::ending(slice.at);
    for pod in pods {
        let key = (WORKLOAD.to_owned(), pod.replica.uid.clone());
        let gpus = gpus(&pod.replica, &pod.replica.uid);
        for metric in Metric::ALL {
            match metric.subject() {
                Subject::Gpu => gpus.iter().for_each(|gpu| {
                    let value = slice.get(&key, gpu, metric).and_then(|value| seen(pod, metric, value));
                    value.into_iter().for_each(|value| again.note_gpu(&key, &format!("{gpu}{mig}"), metric, value));
                }),
                Subject::Container => {
                    let value = slice.get(&key, CONTAINER, metric).and_then(|value| seen(pod, metric, value));
                    value.into_iter().for_each(|value| again.note_container(&key, CONTAINER, metric, value));
                }
                Subject::Server => {
                    let value = slice.get(&key, "", metric).and_then(|value| seen(pod, metric, value));
                    value.into_iter().for_each(|value| again.note_server(&key, metric, value));
                }
            }
        }
        gpus.iter().for_each(|gpu| again.note_product(gpu, case.draft.product));
    }
    again
}

/// What a driver shows after some errors: nothing was profiled, yet the GPU is in use (DCGM issue 303).
fn profiling_zero(_: &Pod, metric: Metric, value: f64) -> Option<f64> {
    Some(match metric {
        Metric::Util => 1.0,
        Metric::Swing => 0.0,
        metric if ACTIVITY.contains(&metric) => 0.0,
        _ => value,
    })
}

/// What no profiling counter reaches.
fn mig_utilisation(_: &Pod, metric: Metric, value: f64) -> Option<f64> {
    match metric {
        Metric::Util => Some(0.0),
        Metric::Swing => None,
        metric if ACTIVITY.contains(&metric) => None,
        _ => Some(value),
    }
}

/// Both jobs' series of a counter are there, and the question adds them or does not.
fn scraped_twice(_: &Pod, metric: Metric, value: f64) -> Option<f64> {
    let question = metric.query("60s", &TrainerNames::default()).unwrap_or_default();
    let counted = metric.subject() == Subject::Container && metric != Metric::Throttled;
    Some(if counted && question.starts_with("sum by") { 2.0 * value } else { value })
}

/// Of every second replica.
fn other_make(pod: &Pod, metric: Metric, value: f64, clock: f64) -> f64 {
    let number = pod.replica.uid.split('-').nth(1).and_then(|number| number.parse::<u32>().ok()).unwrap_or(0);
    if metric == Metric::Clock && number % 2 == 1 { clock * value } else { value }
}

/// The mean of a minute with one such sample in it, unless the question leaves out what can't be.
fn impossible(metric: Metric, value: f64, bad: f64) -> Option<f64> {
    if !ACTIVITY.contains(&metric) {
        return Some(value);
    }
    let question = metric.query("60s", &TrainerNames::default()).unwrap_or_default();
    if question.contains(">=") || question.contains("min_over_time") {
        return Some(value);
    }
    let bad = if metric == Metric::Util { bad / 100.0 } else { bad };
    Some((value * (SAMPLES - 1.0) + bad) / SAMPLES).filter(|mean| (0.0..=1.0).contains(mean))
}
