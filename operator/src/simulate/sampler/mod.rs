//! What the gate's lane would have got from Prometheus, made from the ledgers of simulated pods.

mod gpu;
mod means;
mod pod;
mod quantile;
mod server;
#[cfg(test)]
mod tests;

use crate::evidence::{PodKey, Slice};
use gpu::Gpu;
use jiff::Timestamp;
use pod::Pod;
use std::collections::BTreeMap;
use wellfed_sim::product::Product;
use wellfed_sim::scenario::{CpuRows, Exporter, GpuRows, Metrics, Telemetry};
use wellfed_sim::sim::{Ledger, Replica, Sim};

pub use server::Said;

/// A pod as exporters know it.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledPod {
    /// The workload of the simulation that it belongs to, by name.
    pub workload: String,
    /// Its namespace and name.
    pub key: PodKey,
    /// Its container that uses the GPUs.
    pub container: String,
    /// The replica that it is to the models.
    pub replica: Replica,
    /// The product of its GPUs, as GFD labels it (`NVIDIA-H100-80GB-HBM3`).
    pub product: String,
    /// The physical GPUs that it holds, by UUID; pods that name the same one share it.
    pub gpus: Vec<String>,
}

/// One pod at one scrape: who it is, and what it did and says.
#[derive(Clone, Debug)]
pub struct Scraped<'a> {
    /// Who.
    pub pod: &'a SampledPod,
    /// What it did since it was made.
    pub ledger: Ledger,
    /// What its own metrics say; none where it has none that the lane reads.
    pub said: Option<Said>,
    /// What scrapers get to see of it.
    pub telemetry: Telemetry,
}

/// Scrapes pods, and every now and then gives the mean of what it scraped as one slice of evidence.
///
/// ```text
/// sampler.scrape(sim.now(), &pods_of(&sim));            // every 15 s
/// history.push(sampler.slice(now), LONGEST);            // every 60 s
/// ```
#[derive(Debug)]
pub struct Sampler {
    exporter: Exporter,
    gpus: BTreeMap<String, Gpu>,
    /// By uid.
    pods: BTreeMap<String, Pod>,
    pressure: bool,
    at: f64,
}

impl Sampler {
    /// Nothing scraped yet. Of GPUs there are the metrics of the exporter's default counter file, and what `exporter` adds.
    pub fn new(exporter: Exporter) -> Self {
        Self { exporter, gpus: BTreeMap::new(), pods: BTreeMap::new(), pressure: true, at: f64::NEG_INFINITY }
    }

    /// On kernels that do not tell how long tasks wait for CPU and storage.
    #[must_use]
    pub fn without_pressure(self) -> Self {
        Self { pressure: false, ..self }
    }

    /// Scrapes `pods` of a running simulation at its present time.
    pub fn scrape_sim(&mut self, sim: &Sim, pods: &[SampledPod]) {
        let scraped: Vec<_> = pods.iter().filter_map(|pod| of_sim(sim, pod)).collect();
        self.scrape(sim.now(), &scraped);
    }

    /// Scrapes `pods` `at` this second of the simulation. The first scrape of a pod gives counters their beginning, as
    /// `rate` needs two samples. Two scrapes at one time count once.
    pub fn scrape(&mut self, at: f64, pods: &[Scraped<'_>]) {
        if at <= self.at {
            return;
        }
        self.at = at;
        for one in pods {
            for gpu in &one.pod.gpus {
                self.gpus.entry(gpu.clone()).or_insert_with(|| Gpu::of(gpu)).owned(&one.pod.replica.uid, one.ledger);
            }
        }
        for one in pods {
            self.scrape_one(at, one);
        }
    }

    fn scrape_one(&mut self, at: f64, one: &Scraped<'_>) {
        let SampledPod { key, container, replica, product, gpus, .. } = one.pod;
        let pod = self.pods.entry(replica.uid.clone()).or_insert_with(|| Pod::of(key, container, product));
        pod.seen = at;
        let interval = self.exporter.interval.seconds();
        for name in gpus {
            let Some(gpu) = self.gpus.get_mut(name) else { continue };
            let sample = match one.telemetry.gpu {
                GpuRows::Normal => gpu.read(at, interval, Product::named(product)),
                GpuRows::Frozen => gpu.last,
                // Without their pod's name rows belong to nobody.
                GpuRows::Off | GpuRows::NaN | GpuRows::Unattributed => None,
            };
            if let Some(sample) = sample {
                pod.gpu(name, &sample, &self.exporter);
            }
        }
        if one.telemetry.cpu == CpuRows::Normal {
            pod.container(at, one.ledger.used, replica.cpu_limit);
        }
        match (one.telemetry.metrics, &one.said) {
            (Metrics::Normal, Some(said)) => pod.server(at, said.clone()),
            (Metrics::Frozen, _) => pod.server_again(at),
            // Samples that carry an old timestamp are outside of every window.
            (Metrics::Off | Metrics::NaN | Metrics::Old, _) | (_, None) => {}
        }
    }

    /// The means of all scrapes since the last slice, which ends `at` this instant.
    pub fn slice(&mut self, at: Timestamp) -> Slice {
        let mut slice = Slice::ending(at);
        for pod in self.pods.values_mut() {
            pod.note(&mut slice, self.pressure);
        }
        let last = self.at;
        self.pods.retain(|_, pod| pod.seen >= last);
        let uids = &self.pods;
        self.gpus.values_mut().for_each(|gpu| gpu.keep_only(|uid| uids.contains_key(uid)));
        slice
    }

    /// Forgets what was scraped since the last slice: after a pause nothing of before it belongs to the next slice.
    pub fn pause(&mut self) {
        self.pods.clear();
        self.gpus.clear();
    }
}

fn of_sim<'a>(sim: &Sim, pod: &'a SampledPod) -> Option<Scraped<'a>> {
    let workload = sim.workloads().iter().find(|one| one.spec.name == pod.workload)?;
    Some(Scraped {
        pod,
        ledger: sim.ledger(&pod.replica.uid),
        said: Said::by(workload, &pod.replica.uid),
        telemetry: workload.spec.telemetry,
    })
}
