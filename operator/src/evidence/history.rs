//! The last slices of evidence: one a look, each covering the time since the one before.

use super::boards;
use super::metric::{Metric, Subject};
use crate::signals::client::Row;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Which pod: namespace and name.
pub type PodKey = (String, String);

/// One look.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// Its end.
    pub at: Timestamp,
    /// GPU values by pod, then by GPU (and MIG instance).
    pub gpus: HashMap<PodKey, BTreeMap<String, BTreeMap<Metric, f64>>>,
    /// Container values by pod, then by container.
    pub containers: HashMap<PodKey, BTreeMap<String, BTreeMap<Metric, f64>>>,
    /// What model servers say, by pod.
    pub servers: HashMap<PodKey, BTreeMap<Metric, f64>>,
    /// The power limit of a GPU's product, in watts, where it is known.
    pub boards: HashMap<String, f64>,
}

impl Slice {
    /// An empty look that ends at `at`.
    pub fn ending(at: Timestamp) -> Self {
        Self { at, ..Self::default() }
    }

    /// Takes in the answer to one metric's question; what can't be a measurement is left out.
    pub fn take(&mut self, metric: Metric, rows: Vec<Row>) {
        for row in rows {
            let Some(value) = metric.believed(row.value) else { continue };
            let label = |name: &str| row.labels.get(name).filter(|value| !value.is_empty());
            // Where the scrape did not honour the exporter's labels, `pod` is the exporter itself.
            let namespace = label("exported_namespace").or_else(|| label("namespace"));
            let pod = label("exported_pod").or_else(|| label("pod"));
            let (Some(namespace), Some(pod)) = (namespace, pod) else { continue };
            let key = (namespace.clone(), pod.clone());
            match metric.subject() {
                Subject::Gpu => {
                    let Some(uuid) = label("UUID") else { continue };
                    let instance = label("GPU_I_ID").map(|instance| format!("{uuid}/{instance}"));
                    let gpu = instance.unwrap_or_else(|| uuid.clone());
                    if let Some(model) = label("modelName") {
                        self.note_product(&gpu, model);
                    }
                    self.note_gpu(&key, &gpu, metric, value);
                }
                Subject::Container => {
                    let Some(container) = label("container") else { continue };
                    self.note_container(&key, container, metric, value);
                }
                Subject::Server => self.note_server(&key, metric, value),
            }
        }
    }

    /// One GPU's value over the time of this look, in our unit.
    pub fn note_gpu(&mut self, pod: &PodKey, gpu: &str, metric: Metric, value: f64) {
        self.gpus.entry(pod.clone()).or_default().entry(gpu.to_owned()).or_default().insert(metric, value);
    }

    /// The product of a GPU, as the driver names it.
    pub fn note_product(&mut self, gpu: &str, model: &str) {
        if let Some(watts) = boards::power_limit(model) {
            self.boards.insert(gpu.to_owned(), watts);
        }
    }

    /// One container's value over the time of this look, in our unit.
    pub fn note_container(&mut self, pod: &PodKey, container: &str, metric: Metric, value: f64) {
        self.containers.entry(pod.clone()).or_default().entry(container.to_owned()).or_default().insert(metric, value);
    }

    /// What the server in `pod` says, in our unit.
    pub fn note_server(&mut self, pod: &PodKey, metric: Metric, value: f64) {
        self.servers.entry(pod.clone()).or_default().insert(metric, value);
    }

    /// How many pods each GPU shows.
    pub fn sharers(&self) -> HashMap<&str, u32> {
        let mut sharers = HashMap::new();
        for gpu in self.gpus.values().flat_map(BTreeMap::keys) {
            *sharers.entry(gpu.as_str()).or_default() += 1;
        }
        sharers
    }
}

/// The slices of the longest window.
#[derive(Debug)]
pub struct History {
    /// Oldest first.
    pub slices: VecDeque<Slice>,
    /// How much time one slice covers.
    pub interval: SignedDuration,
}

impl History {
    /// Nothing yet; one look each `interval`.
    pub const fn every(interval: SignedDuration) -> Self {
        Self { slices: VecDeque::new(), interval }
    }

    /// Adds a look, and drops what lies more than `longest` before it.
    pub fn push(&mut self, slice: Slice, longest: SignedDuration) {
        let now = slice.at;
        self.slices.push_back(slice);
        while self.slices.front().is_some_and(|first| now.duration_since(first.at) > longest) {
            self.slices.pop_front();
        }
    }
}
