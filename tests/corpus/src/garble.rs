//! What stands between exporters and the lane, for the ways in which telemetry is broken that are not a pod's own.

use crate::case::Fault;
use wellfed::config::EvidenceConfig;
use wellfed::evidence::{Metric, Slice, Subject};
use wellfed::simulate::sampler::SampledPod;

/// What an exporter shows as a share of time or of a pipe.
const ACTIVITY: [Metric; 6] = [Metric::Util, Metric::Engine, Metric::Sm, Metric::Tensor, Metric::Fp32, Metric::Dram];
/// Part of the name of makes that nobody has heard of.
const UNHEARD: &str = "Unheard";
/// Samples of a minute, of which one can't be.
const SAMPLES: f64 = 4.0;

/// `slice` as the lane gets it through `fault`, where `pods` are those of the workload.
pub fn garbled(fault: Option<Fault>, slice: Slice, pods: &[SampledPod]) -> Slice {
    let again = |seen: &dyn Fn(usize, Metric, f64) -> Option<f64>, mig: &str| rewritten(&slice, pods, seen, mig);
    match fault {
        Some(Fault::ProfilingZero) => again(&|_, metric, value| Some(profiling_zero(metric, value)), ""),
        Some(Fault::MigUtilisation) => again(&mig_utilisation, "/7"),
        Some(Fault::ScrapedTwice) => again(&|_, metric, value| Some(scraped_twice(metric, value)), ""),
        Some(Fault::UnknownMakes(clock)) => again(&|pod, metric, value| Some(make(pod, metric, value, clock)), ""),
        Some(Fault::Impossible(bad)) => again(&|_, metric, value| impossible(metric, value, bad), ""),
        Some(Fault::Gaps(_) | Fault::Shared | Fault::OneNamed) | None => slice,
    }
}

/// Everything in `slice` about `pods`, as it is `seen` of each; GPUs are instances called `mig` of theirs.
fn rewritten(slice: &Slice, pods: &[SampledPod], seen: &dyn Fn(usize, Metric, f64) -> Option<f64>, mig: &str) -> Slice {
    let mut again = Slice::ending(slice.at);
    for (number, pod) in pods.iter().enumerate() {
        for metric in Metric::ALL {
            let value = |thing: &str| slice.get(&pod.key, thing, metric).and_then(|value| seen(number, metric, value));
            match metric.subject() {
                Subject::Gpu => {
                    for gpu in &pod.gpus {
                        if let Some(value) = value(gpu) {
                            again.note_gpu(&pod.key, &format!("{gpu}{mig}"), metric, value);
                        }
                    }
                }
                Subject::Container => {
                    if let Some(value) = value(&pod.container) {
                        again.note_container(&pod.key, &pod.container, metric, value);
                    }
                }
                Subject::Server => {
                    if let Some(value) = value("") {
                        again.note_server(&pod.key, metric, value);
                    }
                }
                // No case has an exporter of nodes.
                Subject::Node => {}
            }
        }
        pod.gpus.iter().for_each(|gpu| again.note_product(&format!("{gpu}{mig}"), &model(pod, number)));
    }
    again
}

/// As the driver names it, which is how scenarios give it; makes that nobody has heard of by turns.
fn model(pod: &SampledPod, number: usize) -> String {
    let other = if pod.product.contains(UNHEARD) && number % 2 == 1 { " B" } else { "" };
    format!("{}{other}", pod.product)
}

/// Without what the workload counts itself; its network is counted by the kubelet.
pub fn uncounted(slice: &Slice, pods: &[SampledPod]) -> Slice {
    let network = [Metric::NetworkRx, Metric::NetworkTx];
    let seen = |_: usize, metric: Metric, value: f64| {
        (metric.subject() != Subject::Server || network.contains(&metric)).then_some(value)
    };
    rewritten(slice, pods, &seen, "")
}

/// What a driver shows after some errors: nothing was profiled, yet the GPU is in use (DCGM issue 303).
fn profiling_zero(metric: Metric, value: f64) -> f64 {
    match metric {
        Metric::Util => 1.0,
        Metric::Swing => 0.0,
        metric if ACTIVITY.contains(&metric) => 0.0,
        _ => value,
    }
}

/// What no profiling counter reaches.
fn mig_utilisation(_: usize, metric: Metric, value: f64) -> Option<f64> {
    match metric {
        Metric::Util => Some(0.0),
        Metric::Swing => None,
        metric if ACTIVITY.contains(&metric) => None,
        _ => Some(value),
    }
}

/// Both jobs' series of a counter are there, and the question adds them or does not.
fn scraped_twice(metric: Metric, value: f64) -> f64 {
    let question = metric.query("60s", &EvidenceConfig::default()).unwrap_or_default();
    let counted = metric.subject() == Subject::Container && metric != Metric::Throttled;
    if counted && question.starts_with("sum by") { 2.0 * value } else { value }
}

/// Of every second replica.
fn make(pod: usize, metric: Metric, value: f64, clock: f64) -> f64 {
    if metric == Metric::Clock && pod % 2 == 1 { clock * value } else { value }
}

/// The mean of a minute with one such sample in it, unless the question asks for what can't be, and so believes nothing.
fn impossible(metric: Metric, value: f64, bad: f64) -> Option<f64> {
    if !ACTIVITY.contains(&metric) {
        return Some(value);
    }
    let question = metric.query("60s", &EvidenceConfig::default()).unwrap_or_default();
    if question.contains("min_over_time") {
        return None;
    }
    let bad = if metric == Metric::Util { bad / 100.0 } else { bad };
    Some((value * (SAMPLES - 1.0) + bad) / SAMPLES).filter(|mean| (0.0..=1.0).contains(mean))
}
