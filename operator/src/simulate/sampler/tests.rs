//! Slices against what the models are known to do.

use super::*;
use crate::evidence::Metric;
use std::path::Path;
use wellfed_sim::scenario::Scenario;

/// One trainer whose two loader workers take 0.1 s of CPU a sample, 8 samples a step, and whose GPU takes 0.1 s a step:
/// its GPU works a quarter of the time, since the workers need 0.4 s a step.
const STARVED: &str = "
workloads:
- name: vision
  namespace: demo
  selector: {matchLabels: {app: vision}}
  model:
    training:
      gpuSecondsPerStep: 0.1
      samplesPerStep: 8
      loader: {workers: 2, cpuSecondsPerSample: 0.1, bytesPerSample: 1000}
      backlog: 100000000
  arrivals: {rate: {perSecond: 0}}
";

fn pod(name: &str, gpu: &str) -> SampledPod {
    SampledPod {
        workload: "vision".into(),
        key: ("demo".into(), name.into()),
        container: "train".into(),
        replica: Replica::ready(name, 1, Some(8.0)),
        product: "NVIDIA-H100-80GB-HBM3".into(),
        gpus: vec![gpu.into()],
    }
}

/// A minute of these pods, scraped every fifteen seconds, with `change` made before it.
fn minute(pods: &[SampledPod], exporter: Exporter, change: impl Fn(&mut Sim)) -> Slice {
    let mut sim = Sim::new(&Scenario::parse(STARVED, "starved", Path::new(".")).unwrap()).unwrap();
    let replicas = BTreeMap::from([("vision".to_owned(), pods.iter().map(|pod| pod.replica.clone()).collect())]);
    change(&mut sim);
    let mut sampler = Sampler::new(exporter);
    sampler.scrape_sim(&sim, pods);
    for second in 1..=60 {
        for _ in 0..10 {
            sim.step(&replicas);
        }
        if second % 15 == 0 {
            sampler.scrape_sim(&sim, pods);
        }
    }
    sampler.slice(Timestamp::constant(60, 0))
}

fn get(slice: &Slice, pod: &str, thing: &str, metric: Metric) -> Option<f64> {
    slice.get(&("demo".to_owned(), pod.to_owned()), thing, metric)
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 0.01)
}

#[test]
fn a_starved_trainer_shows_a_quarter_of_its_gpu_and_all_of_its_workers() {
    let slice = minute(&[pod("a", "GPU-1")], Exporter::default(), |_| {});

    assert!(near(get(&slice, "a", "GPU-1", Metric::Engine), 0.25), "{slice:?}");
    let container = |metric| get(&slice, "a", "train", metric);
    assert!(near(container(Metric::Cores), 2.15), "two workers and the trainer itself");
    let says = |metric| get(&slice, "a", "", metric);
    assert!(near(says(Metric::StepSeconds), 0.4) && near(says(Metric::DataWaitSeconds), 0.3));
    assert!(near(says(Metric::Throughput), 20.0) && says(Metric::Loss).is_some());
    assert_eq!(says(Metric::Running), None, "a trainer serves nothing");
}

#[test]
fn sm_activity_is_there_only_if_the_exporter_sends_it() {
    let sends = |sm_active| minute(&[pod("a", "GPU-1")], Exporter { sm_active, ..Exporter::default() }, |_| {});

    assert_eq!(get(&sends(false), "a", "GPU-1", Metric::Sm), None);
    assert!(near(get(&sends(true), "a", "GPU-1", Metric::Sm), 0.25 * 0.78));
}

#[test]
fn pods_on_one_gpu_both_show_the_work_of_both() {
    let slice = minute(&[pod("a", "GPU-1"), pod("b", "GPU-1")], Exporter::default(), |_| {});

    assert!(near(get(&slice, "a", "GPU-1", Metric::Engine), 0.5), "{slice:?}");
    assert_eq!(get(&slice, "a", "GPU-1", Metric::Engine), get(&slice, "b", "GPU-1", Metric::Engine));
}

#[test]
fn what_is_not_scraped_is_missing() {
    let without = |path: &'static str| {
        let change = move |sim: &mut Sim| sim.set("vision", path, &"Off".into()).unwrap();
        minute(&[pod("a", "GPU-1")], Exporter::default(), change)
    };

    let (blind, cpuless) = (without("telemetry.gpu"), without("telemetry.cpu"));
    let engine = |slice| get(slice, "a", "GPU-1", Metric::Engine);
    let cores = |slice| get(slice, "a", "train", Metric::Cores);
    assert!(engine(&blind).is_none() && cores(&blind).is_some());
    assert!(cores(&cpuless).is_none() && engine(&cpuless).is_some());
    let silent = without("telemetry.metrics");
    assert!(get(&silent, "a", "", Metric::StepSeconds).is_none() && engine(&silent).is_some());
}
