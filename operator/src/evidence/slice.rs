//! One look, as it is filled.

use super::labels::{self, Scheme, label};
use super::metric::{Metric, Subject};
use super::numbering::{Id, Numbering};
use super::table::Table;
use crate::signals::client::{Labelled, Row};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};

/// Which pod: namespace and name.
pub type PodKey = (String, String);

/// What a pod says of itself as a whole belongs to no thing of it.
pub const WHOLE: Id = 0;

/// One look, each name kept once.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Its end.
    pub at: Timestamp,
    pub(super) pods: Numbering,
    pub(super) boards: Numbering,
    pub(super) containers: Numbering,
    pub(super) gpus: Table,
    pub(super) by_container: Table,
    pub(super) by_pod: Table,
    /// Of nodes by their name.
    pub(super) nodes: Numbering,
    pub(super) by_node: Table,
    /// The kernel's name of the node behind each address that is scraped.
    behind: HashMap<String, String>,
    /// The label that carries a node's name, before those that are common.
    node_label: Option<String>,
    /// The product of each board, by its number.
    pub(super) products: HashMap<Id, Id>,
    pub(super) models: Numbering,
    /// Pods that speak of the GPUs of others.
    pub(super) exporters: HashSet<Id>,
    /// Series that each metric had, believed or not.
    series: [usize; Metric::ALL.len()],
    /// Values of each metric that can't be measurements.
    dropped: [usize; Metric::ALL.len()],
    /// Series of GPUs by the scheme that carries their pod.
    schemes: [usize; Scheme::ALL.len()],
    gpu: String,
    pod: String,
}

impl Slice {
    /// An empty look that ends at `at`.
    pub fn ending(at: Timestamp) -> Self {
        Self {
            at,
            pods: Numbering::default(),
            boards: Numbering::default(),
            containers: Numbering::default(),
            gpus: Table::of(Subject::Gpu.metrics()),
            by_container: Table::of(Subject::Container.metrics()),
            by_pod: Table::of(Subject::Server.metrics()),
            nodes: Numbering::default(),
            by_node: Table::of(Subject::Node.metrics()),
            behind: HashMap::new(),
            node_label: None,
            products: HashMap::new(),
            models: Numbering::default(),
            exporters: HashSet::new(),
            series: [0; Metric::ALL.len()],
            dropped: [0; Metric::ALL.len()],
            schemes: [0; Scheme::ALL.len()],
            gpu: String::new(),
            pod: String::new(),
        }
    }

    /// The same, where this label carries the names of nodes.
    #[must_use]
    pub fn with_nodes_by(self, node_label: Option<String>) -> Self {
        Self { node_label, ..self }
    }

    /// Takes in the answer to one metric's question; what can't be a measurement is left out.
    pub fn take(&mut self, metric: Metric, rows: Vec<Row>) {
        for row in rows {
            self.take_row(metric, &row.labels, row.value);
        }
    }

    /// Takes in one row of the answer to one metric's question.
    pub fn take_row(&mut self, metric: Metric, labels: &impl Labelled, value: f64) {
        self.series[metric.index()] += 1;
        if metric.subject() == Subject::Node {
            return self.take_node(metric, labels, value);
        }
        let owner = labels::owner(labels);
        if metric.subject() == Subject::Gpu {
            let scheme = owner.map_or(Scheme::Missing, |(scheme, ..)| scheme);
            self.schemes[scheme as usize] += 1;
        }
        let believed = metric.believed(value);
        self.dropped[metric.index()] += usize::from(believed.is_none() && metric.is_wrong(value));
        let (Some(value), Some((_, namespace, pod))) = (believed, owner) else { return };
        match metric.subject() {
            Subject::Gpu => {
                if let Some((namespace, pod)) = labels::exporter(labels) {
                    let exporter = self.pod(namespace, pod);
                    self.exporters.insert(exporter);
                }
                let mut name = std::mem::take(&mut self.gpu);
                if labels::gpu(labels, &mut name) {
                    if let Some(model) = label(labels, "modelName").or_else(|| label(labels, "model_name")) {
                        self.note_product(&name, model);
                    }
                    let key = (self.pod(namespace, pod), self.boards.id(&name));
                    self.gpus.note(key, metric.column(), value);
                }
                self.gpu = name;
            }
            Subject::Container => {
                let Some(container) = label(labels, "container") else { return };
                let key = (self.pod(namespace, pod), self.containers.id(container));
                self.by_container.note(key, metric.column(), value);
            }
            Subject::Server => {
                let key = (self.pod(namespace, pod), WHOLE);
                self.by_pod.note(key, metric.column(), value);
            }
            Subject::Node => {}
        }
    }

    /// A row of a node: by a label of its own, or else by the address that was scraped.
    fn take_node(&mut self, metric: Metric, labels: &impl Labelled, value: f64) {
        let Some(value) = metric.believed(value) else { return };
        let named = labels::node(labels, self.node_label.as_deref());
        let instance = labels::instance(labels);
        if metric == Metric::NodeName
            && let (Some(name), Some((instance, _))) = (named, instance)
        {
            self.behind.insert(instance.to_owned(), name.to_owned());
        }
        let behind = instance.map(|(instance, host)| self.behind.get(instance).map_or(host, String::as_str));
        let Some(name) = named.or(behind) else { return };
        let node = self.nodes.id(name);
        self.by_node.note((node, WHOLE), metric.column(), value);
    }

    /// One GPU's value over the time of this look, in our unit.
    pub fn note_gpu(&mut self, pod: &PodKey, gpu: &str, metric: Metric, value: f64) {
        let key = (self.pod(&pod.0, &pod.1), self.boards.id(gpu));
        self.gpus.note(key, metric.column(), value);
    }

    /// The product of a GPU, as the driver names it.
    pub fn note_product(&mut self, gpu: &str, model: &str) {
        let (gpu, model) = (self.boards.id(gpu), self.models.id(model));
        self.products.insert(gpu, model);
    }

    /// One container's value over the time of this look, in our unit.
    pub fn note_container(&mut self, pod: &PodKey, container: &str, metric: Metric, value: f64) {
        let key = (self.pod(&pod.0, &pod.1), self.containers.id(container));
        self.by_container.note(key, metric.column(), value);
    }

    /// What a pod says as a whole (its server, its trainer, its network) over the time of this look, in our unit. A loss or
    /// an evaluation that is no number any more is infinite.
    pub fn note_server(&mut self, pod: &PodKey, metric: Metric, value: f64) {
        let key = (self.pod(&pod.0, &pod.1), WHOLE);
        self.by_pod.note(key, metric.column(), value);
    }

    /// Takes a metric out again: its answer broke off.
    pub fn forget(&mut self, metric: Metric) {
        (self.series[metric.index()], self.dropped[metric.index()]) = (0, 0);
        let table = match metric.subject() {
            Subject::Gpu => &mut self.gpus,
            Subject::Container => &mut self.by_container,
            Subject::Server => &mut self.by_pod,
            Subject::Node => &mut self.by_node,
        };
        table.forget(metric.column());
    }

    /// One value of a GPU, a container, (with any `thing`) of a pod as a whole or (with any `pod`) of a node; none where it was not believed or seen.
    pub fn get(&self, pod: &PodKey, thing: &str, metric: Metric) -> Option<f64> {
        if metric.subject() == Subject::Node {
            return self.by_node.get((self.nodes.get(thing)?, WHOLE), metric.column());
        }
        let pod = self.pods.get(&joined(&pod.0, &pod.1))?;
        match metric.subject() {
            Subject::Gpu => self.gpus.get((pod, self.boards.get(thing)?), metric.column()),
            Subject::Container => self.by_container.get((pod, self.containers.get(thing)?), metric.column()),
            Subject::Server => self.by_pod.get((pod, WHOLE), metric.column()),
            Subject::Node => None,
        }
    }

    /// How many series a metric had, believed or not.
    pub const fn series(&self, metric: Metric) -> usize {
        self.series[metric.index()]
    }

    /// How many values of a metric could not be measurements.
    pub const fn dropped(&self, metric: Metric) -> usize {
        self.dropped[metric.index()]
    }

    /// How many series of GPUs carry their pod in this way.
    pub const fn carried(&self, scheme: Scheme) -> usize {
        self.schemes[scheme as usize]
    }

    fn pod(&mut self, namespace: &str, pod: &str) -> Id {
        // Written into one buffer again and again: a look has millions of rows.
        self.pod.clear();
        self.pod.extend([namespace, "/", pod]);
        self.pods.id(&self.pod)
    }
}

/// A pod's namespace and name as one: neither can hold a slash.
pub fn joined(namespace: &str, pod: &str) -> String {
    [namespace, "/", pod].concat()
}
