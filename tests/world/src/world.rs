//! The whole state: the models, who holds which GPU, and the pages that scrapers see.

use crate::{
    discovery::{self, Target},
    exporters::{
        cadvisor,
        dcgm::{self, Row},
        disguise::{Kept, dated, disguise},
        node::{self, Counters},
        pod, queue,
    },
    product::Product,
    rack::{Rack, Racks},
    scenario::{CpuRows, GpuRows, Metrics, Scenario, ScenarioError, SetError, Telemetry, Workload},
    sim::{Ledger, Replica, Running, Sim, Truth},
    view::{ClusterView, PodView},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The whole state, moved on by [`World::observe`] and [`World::tick`].
#[derive(Debug)]
pub struct World {
    scenario: Scenario,
    sim: Sim,
    view: ClusterView,
    /// Replicas by workload.
    replicas: BTreeMap<String, Vec<Replica>>,
    /// Workload by pod uid.
    workload_of: BTreeMap<String, String>,
    racks: Racks,
    dcgm: Collected,
    cadvisor: Collected,
    /// What each node counted.
    counters: BTreeMap<String, Counters>,
    /// Pages as they were when a workload's telemetry broke, by workload, then by pod uid or "" for its queue.
    kept: BTreeMap<String, BTreeMap<String, Kept>>,
}

/// Pages by node, and when they were made.
#[derive(Debug, Default)]
struct Collected {
    pages: BTreeMap<String, String>,
    at: f64,
}

/// Everything that truly happens, for people and pictures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorldTruth {
    /// Seconds since the scenario began; `None` while it waits for its first replicas.
    pub seconds: Option<f64>,
    /// By name.
    pub workloads: BTreeMap<String, Truth>,
}

/// What a scraper asked for and cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPage {
    /// There is no such target.
    Unknown,
    /// The target exists and does not answer.
    Silent,
}

impl World {
    /// The state before anything happened.
    pub fn new(scenario: Scenario) -> Result<Self, ScenarioError> {
        Ok(Self {
            sim: Sim::new(&scenario)?,
            scenario,
            view: ClusterView::default(),
            replicas: BTreeMap::new(),
            workload_of: BTreeMap::new(),
            racks: Racks::default(),
            dcgm: Collected::default(),
            cadvisor: Collected::default(),
            counters: BTreeMap::new(),
            kept: BTreeMap::new(),
        })
    }

    /// Takes over what the cluster looks like now.
    pub fn observe(&mut self, view: ClusterView) {
        self.racks.follow(&view);
        self.view = view;
        self.assign();
    }

    fn assign(&mut self) {
        self.replicas.clear();
        self.workload_of.clear();
        for pod in &self.view.pods {
            let owner = self.sim.workloads().iter().find(|one| one.spec.owns(&pod.namespace, &pod.labels));
            let Some(name) = owner.map(|owner| owner.spec.name.clone()) else { continue };
            self.workload_of.insert(pod.replica.uid.clone(), name.clone());
            self.replicas.entry(name).or_default().push(pod.replica.clone());
        }
    }

    /// Plays one tick of the models, and collects what is due.
    pub fn tick(&mut self) {
        self.sim.step(&self.replicas);
        let now = self.sim.now();
        if now - self.dcgm.at >= self.scenario.exporter.interval.seconds() || self.dcgm.pages.is_empty() {
            self.collect_dcgm(now);
        }
        self.count_nodes(self.scenario.tick.seconds());
        if now - self.cadvisor.at >= self.scenario.cadvisor.interval.seconds() || self.cadvisor.pages.is_empty() {
            self.collect_cadvisor(now);
        }
        self.keep();
    }

    fn collect_dcgm(&mut self, now: f64) {
        let seconds = (now - self.dcgm.at).max(f64::EPSILON);
        let mut racks = std::mem::take(&mut self.racks);
        let pages = racks.0.iter_mut().map(|(node, rack)| {
            let rows = self.read(rack, seconds);
            (node.clone(), dcgm::page(node, rack, &rows, &self.scenario.exporter))
        });
        self.dcgm = Collected { pages: pages.collect(), at: now };
        self.racks = racks;
    }

    fn read(&self, rack: &mut Rack, seconds: f64) -> Vec<Row> {
        let product = Product::named(&rack.product);
        let memory = rack.memory_mib;
        let mut rows = Vec::new();
        for (index, gpu) in rack.gpus.iter_mut().enumerate() {
            let ledger = gpu.owner.as_ref().map_or(Ledger::default(), |uid| self.sim.ledger(uid));
            let state = gpu.owner.as_ref().map_or(GpuRows::Normal, |uid| self.telemetry(uid).gpu);
            let sample = gpu.meter.read(&ledger, product, memory, seconds);
            if state != GpuRows::Frozen || gpu.sample.is_none() {
                gpu.sample = Some(sample);
            }
            let pod = gpu.owner.as_ref().and_then(|uid| self.view.pods.iter().find(|pod| pod.replica.uid == *uid));
            let whose = |pod: &PodView| (pod.namespace.clone(), pod.name.clone(), pod.container.clone());
            match state {
                GpuRows::Off => {}
                GpuRows::NaN => rows.push(Row { index, sample: None, pod: pod.map(whose) }),
                GpuRows::Unattributed => rows.push(Row { index, sample: gpu.sample, pod: None }),
                GpuRows::Normal | GpuRows::Frozen => rows.push(Row { index, sample: gpu.sample, pod: pod.map(whose) }),
            }
        }
        rows
    }

    /// As the real one does, cAdvisor dates its samples: scrapes between two collections add nothing.
    fn collect_cadvisor(&mut self, now: f64) {
        let at = jiff::Timestamp::now().as_millisecond();
        let shown = |pod: &&PodView| pod.running && self.telemetry(&pod.replica.uid).cpu == CpuRows::Normal;
        let page = |node: &String| {
            let pods = self.view.pods.iter().filter(|pod| pod.node == *node).filter(shown);
            let rows: Vec<_> = pods.map(|pod| (pod, self.sim.ledger(&pod.replica.uid))).collect();
            (
                node.clone(),
                dated(&cadvisor::page(&rows, self.scenario.cadvisor.pressure, self.scenario.node_exporter.rdma), at),
            )
        };
        self.cadvisor = Collected { pages: self.view.nodes.keys().map(page).collect(), at: now };
    }

    fn count_nodes(&mut self, seconds: f64) {
        self.counters.retain(|name, _| self.view.nodes.contains_key(name));
        for (name, node) in &self.view.nodes {
            let pods = self.view.pods.iter().filter(|pod| pod.node == *name);
            let pods: Vec<_> = pods.map(|pod| (pod, self.sim.ledger(&pod.replica.uid))).collect();
            self.counters.entry(name.clone()).or_default().count(seconds, &pods, node.cpus);
        }
    }

    /// Keeps the pages of each workload whose telemetry has just begun to lie.
    fn keep(&mut self) {
        let at = jiff::Timestamp::now().as_millisecond();
        let mut kept = std::mem::take(&mut self.kept);
        for workload in self.sim.workloads() {
            let name = &workload.spec.name;
            if !matches!(workload.spec.telemetry.metrics, Metrics::Frozen | Metrics::Old) {
                kept.remove(name);
            } else if !kept.contains_key(name) {
                let pods = self.replicas.get(name).into_iter().flatten();
                let pages = pods.filter_map(|replica| Some((replica.uid.clone(), pod::page(workload, &replica.uid)?)));
                let queue = queue::page(workload).map(|body| (String::new(), body));
                let all = pages.chain(queue).map(|(key, body)| (key, Kept { body, at }));
                kept.insert(name.clone(), all.collect());
            }
        }
        self.kept = kept;
    }

    fn workload(&self, name: &str) -> Option<&Running> {
        self.sim.workloads().iter().find(|workload| workload.spec.name == name)
    }

    fn telemetry(&self, uid: &str) -> Telemetry {
        let workload = self.workload_of.get(uid).and_then(|name| self.workload(name));
        workload.map_or(Telemetry::default(), |workload| workload.spec.telemetry)
    }

    /// dcgm-exporter's page of `node`; empty before its first collection.
    pub fn dcgm_page(&self, node: &str) -> Result<String, NoPage> {
        self.view.nodes.get(node).ok_or(NoPage::Unknown)?;
        Ok(self.dcgm.pages.get(node).cloned().unwrap_or_default())
    }

    /// `node_exporter`'s page of `node`.
    pub fn node_page(&self, node: &str) -> Result<String, NoPage> {
        let cpus = self.view.nodes.get(node).ok_or(NoPage::Unknown)?.cpus;
        let counters = self.counters.get(node).ok_or(NoPage::Silent)?;
        Ok(node::page(node, counters, cpus, self.scenario.node_exporter.rdma))
    }

    /// cAdvisor's page of `node`; empty before its first collection.
    pub fn cadvisor_page(&self, node: &str) -> Result<String, NoPage> {
        self.view.nodes.get(node).ok_or(NoPage::Unknown)?;
        Ok(self.cadvisor.pages.get(node).cloned().unwrap_or_default())
    }

    /// The own metrics of a running pod.
    pub fn pod_page(&self, namespace: &str, name: &str) -> Result<String, NoPage> {
        let alive = |pod: &&PodView| pod.namespace == namespace && pod.name == name && pod.running;
        let uid = &self.view.pods.iter().find(alive).ok_or(NoPage::Unknown)?.replica.uid;
        let workload = self.workload_of.get(uid).and_then(|name| self.workload(name)).ok_or(NoPage::Unknown)?;
        let body = pod::page(workload, uid).ok_or(NoPage::Silent)?;
        self.disguised(workload, uid, body)
    }

    /// The page of a workload's queue exporter.
    pub fn queue_page(&self, namespace: &str, name: &str) -> Result<String, NoPage> {
        let workload = self.workload(name).filter(|one| one.spec.namespace == namespace).ok_or(NoPage::Unknown)?;
        let body = queue::page(workload).ok_or(NoPage::Unknown)?;
        self.disguised(workload, "", body)
    }

    fn disguised(&self, workload: &Running, key: &str, body: String) -> Result<String, NoPage> {
        let kept = self.kept.get(&workload.spec.name).and_then(|pages| pages.get(key));
        disguise(body, workload.spec.telemetry.metrics, kept).ok_or(NoPage::Silent)
    }

    /// The discovery answer of `job`: `dcgm`, `cadvisor`, `node` or `pods`.
    pub fn targets(&self, job: &str, address: &str) -> Option<Vec<Target>> {
        match job {
            "dcgm" => Some(discovery::dcgm(&self.view, address)),
            "node" => Some(discovery::node(&self.view, address)),
            "cadvisor" => Some(discovery::cadvisor(&self.view, address)),
            "pods" => Some(discovery::pods(&self.view, self.sim.workloads(), address)),
            _ => None,
        }
    }

    /// Where everything truly stands.
    pub fn truth(&self) -> WorldTruth {
        let each = self.sim.workloads().iter().map(|one| (one.spec.name.clone(), one.truth()));
        WorldTruth { seconds: self.sim.begun(), workloads: each.collect() }
    }

    /// Changes one cause; nothing changes on an error.
    pub fn set(&mut self, workload: &str, path: &str, value: &serde_json::Value) -> Result<(), SetError> {
        self.sim.set(workload, path, value)?;
        self.keep();
        Ok(())
    }

    /// Adds a workload.
    pub fn add(&mut self, workload: &Workload) -> Result<(), ScenarioError> {
        self.sim.add(workload)?;
        self.assign();
        Ok(())
    }

    /// Forgets a workload; its pods then idle. Whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let removed = self.sim.remove(name);
        self.assign();
        removed
    }
}
