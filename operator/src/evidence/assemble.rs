//! Slices → one workload's evidence: only its live, Ready, warm pods, and only since demand exceeded its target.

use super::history::{History, PodKey, Slice};
use super::metric::Metric;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, HashMap};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence};
use wellfed_engine::policy::{Class, GatePolicy};
use wellfed_engine::span::Span;

/// A workload that wants to grow, as the last cycle saw it.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Its uid.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// What kind of work it is.
    pub class: Class,
    /// How it wants to be judged.
    pub gate: GatePolicy,
    /// Since when demand exceeds its target.
    pub since: Timestamp,
    /// Its Ready pods.
    pub pods: Vec<WatchedPod>,
}

/// A Ready pod.
#[derive(Clone, Debug)]
pub struct WatchedPod {
    /// Its name.
    pub name: String,
    /// Since when it is Ready.
    pub ready_since: Timestamp,
    /// The container that uses its GPUs.
    pub container: String,
    /// Cores that this container may use.
    pub cpu_limit: Option<f64>,
    /// GPUs that it asks for.
    pub gpus: u32,
}

impl History {
    /// The evidence on `workload`; none before the first slice since demand exceeded its target.
    pub fn evidence(&self, workload: &Watched) -> Option<Evidence> {
        let last = self.slices.back()?;
        let from = workload.since.max(last.at - workload.gate.window);
        let usable: Vec<&Slice> = self.slices.iter().filter(|slice| slice.at - self.interval >= from).collect();
        let at = usable.last()?.at;
        let mut evidence = Evidence {
            class: workload.class,
            gate: workload.gate,
            at,
            covered: covered(usable.len(), self.interval),
            expected_gpus: 0,
            gpus: Vec::new(),
            containers: Vec::new(),
            servers: Vec::new(),
            trainers: Vec::new(),
            slo_breached: false,
            sharded: false,
        };
        let shared = last.sharers();
        for pod in &workload.pods {
            let warm = pod.ready_since + workload.gate.warm_up;
            let judged: Vec<&Slice> = usable.iter().copied().filter(|slice| slice.at - self.interval >= warm).collect();
            if !judged.is_empty() {
                let key = (workload.namespace.clone(), pod.name.clone());
                self.add(&mut evidence, pod, &key, &judged, &shared);
            }
        }
        Some(evidence)
    }

    /// Whether `metric` was seen of this GPU in any slice that is still kept, whichever pod had it.
    fn ever_measured(&self, gpu: &str, metric: Metric) -> bool {
        let of_gpu =
            |slice: &Slice| slice.gpus.values().any(|gpus| gpus.get(gpu).is_some_and(|one| one.contains_key(&metric)));
        self.slices.iter().any(of_gpu)
    }

    fn add(
        &self,
        evidence: &mut Evidence,
        pod: &WatchedPod,
        key: &PodKey,
        judged: &[&Slice],
        shared: &HashMap<&str, u32>,
    ) {
        // A slice that was never taken is a missing sample too.
        let span = judged.last().map_or(SignedDuration::ZERO, |last| last.at.duration_since(judged[0].at));
        let expected = judged.len().max(slices_in(span, self.interval) + 1);
        evidence.expected_gpus = evidence.expected_gpus.saturating_add(pod.gpus);
        let series = |slice: &Slice, gpu: &str| slice.gpus.get(key).and_then(|gpus| gpus.get(gpu)).cloned();
        let mut names: Vec<&String> =
            judged.iter().filter_map(|slice| slice.gpus.get(key)).flat_map(BTreeMap::keys).collect();
        names.sort();
        names.dedup();
        for gpu in names {
            let samples: Vec<_> = judged.iter().filter_map(|slice| series(slice, gpu)).collect();
            let sharers = shared.get(gpu.as_str()).copied().unwrap_or(0);
            let measured = gpu_evidence(&samples, expected, sharers > 1);
            let lost = |field: Option<Span>, metric| field.is_none() && self.ever_measured(gpu, metric);
            evidence.gpus.push(GpuEvidence {
                engine_lost: lost(measured.engine, Metric::Engine),
                sm_lost: lost(measured.sm, Metric::Sm),
                power: self.power(gpu, &samples, expected),
                ..measured
            });
        }
        let of_pod = judged.iter().filter_map(|slice| slice.containers.get(key)?.get(&pod.container)).cloned();
        let samples: Vec<_> = of_pod.collect();
        evidence.containers.push(ContainerEvidence {
            cores: mean(&samples, expected, Metric::Cores),
            limit: pod.cpu_limit,
            throttled: mean(&samples, expected, Metric::Throttled),
            pressure: mean(&samples, expected, Metric::Pressure),
            io_pressure: mean(&samples, expected, Metric::IoPressure),
            ..ContainerEvidence::default()
        });
        let samples: Vec<_> = judged.iter().filter_map(|slice| slice.servers.get(key)).cloned().collect();
        evidence.servers.push(self.server(key, &samples, expected));
    }

    /// Over the limit in force; over the product's own only where the one in force was never seen, since it may be lower.
    fn power(&self, gpu: &str, samples: &[BTreeMap<Metric, f64>], expected: usize) -> Option<Span> {
        // Of a MIG instance it is the whole board's, which others use too.
        let power = mean(samples, expected, Metric::Power).filter(|_| !gpu.contains('/'))?;
        let set = mean(samples, expected, Metric::PowerLimit);
        let by_product = || self.slices.iter().rev().find_map(|slice| slice.boards.get(gpu)).copied().map(Span::exact);
        let limit = if self.ever_measured(gpu, Metric::PowerLimit) { set } else { by_product() };
        power.share_of(limit?)
    }

    /// What the server in this pod said.
    fn server(&self, key: &PodKey, samples: &[BTreeMap<Metric, f64>], expected: usize) -> ServerEvidence {
        let ever = |metric| {
            self.slices.iter().any(|slice| slice.servers.get(key).is_some_and(|one| one.contains_key(&metric)))
        };
        let value = |metric| mean(samples, expected, metric);
        let waiting = if ever(Metric::WaitingForRoom) { Metric::WaitingForRoom } else { Metric::Waiting };
        let (kv, progress) = (value(Metric::Kv), value(Metric::Progress));
        ServerEvidence {
            running: value(Metric::Running),
            waiting: value(waiting),
            // A server that counts what runs batches while it runs: its executions say nothing then.
            batch: value(Metric::Batch).filter(|_| !ever(Metric::Running)),
            kv,
            kv_lost: kv.is_none() && ever(Metric::Kv),
            preemptions: value(Metric::Preemptions),
            progress,
            progress_lost: progress.is_none() && ever(Metric::Progress),
            ..ServerEvidence::default()
        }
    }
}

fn covered(slices: usize, interval: SignedDuration) -> SignedDuration {
    interval * i32::try_from(slices).unwrap_or(i32::MAX)
}

fn slices_in(span: SignedDuration, interval: SignedDuration) -> usize {
    usize::try_from(span.as_millis() / interval.as_millis().max(1)).unwrap_or(0)
}

fn gpu_evidence(samples: &[BTreeMap<Metric, f64>], expected: usize, shared: bool) -> GpuEvidence {
    GpuEvidence {
        util: mean(samples, expected, Metric::Util),
        engine: mean(samples, expected, Metric::Engine),
        sm: mean(samples, expected, Metric::Sm),
        dram: mean(samples, expected, Metric::Dram),
        tensor: mean(samples, expected, Metric::Tensor),
        pcie_rx: mean(samples, expected, Metric::PcieRx),
        clocks_held: mean(samples, expected, Metric::ClocksHeld),
        shared,
        ..GpuEvidence::default()
    }
}

fn mean(samples: &[BTreeMap<Metric, f64>], expected: usize, metric: Metric) -> Option<Span> {
    let values: Vec<f64> = samples.iter().filter_map(|sample| sample.get(&metric).copied()).collect();
    Span::of(&values, expected, metric.largest())
}
