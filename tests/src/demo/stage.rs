//! Everything that runs during the demo, from the first process to the last.

use super::Mutant;
use super::check;
use super::history::History;
use super::look::Peaks;
use super::say;
use super::summary::Summary;
use crate::binaries::Binaries;
use crate::operator::{Operator, install_crds, repository};
use crate::plane::{Plane, RunningPlane};
use crate::process::Group;
use crate::prometheus::{Prometheus, PrometheusConfig, WorldJobs};
use crate::world::WorldProcess;
use anyhow::Context;
use std::time::Duration;
use tokio::sync::Mutex;

/// The workloads of `examples/`.
pub const WORKLOADS: [&str; 3] = ["chat", "vision-train", "search"];
/// Their namespace.
pub const NAMESPACE: &str = "demo";
/// The operator's own.
const OWN: &str = "wellfed";

/// A running demo.
pub struct Stage {
    /// The control plane.
    pub plane: RunningPlane,
    /// What the world is scraped by.
    pub prometheus: Prometheus,
    /// Who plays the GPUs.
    pub world: WorldProcess,
    /// Who decides.
    pub operator: Mutex<Operator>,
    /// The API server's version.
    pub version: String,
    /// The world and the operator; killed with it.
    _group: Group,
}

impl Stage {
    /// Starts everything; the operator last.
    pub async fn set(binaries: Binaries) -> anyhow::Result<Self> {
        let group = Group::default();
        let plane = Plane::start(binaries).await?;
        let world = WorldProcess::start(&plane, &repository().join("tests/world/scenarios/demo.yaml"), &group).await?;
        let jobs =
            WorldJobs { url: world.url.clone(), interval: Duration::from_secs(2), dcgm_honor_labels: false }.jobs();
        let prometheus = Prometheus::start(&plane.binaries, &PrometheusConfig { jobs }).await?;
        install_crds(&plane).await.context("the chart wellfed-crds")?;
        let mut operator =
            Operator::install(&plane, OWN, OWN, &settings(&prometheus)).await.context("the chart wellfed")?;
        operator.start(&group).await?;
        let version = plane.client().await?.apiserver_version().await?.git_version;
        Ok(Self { plane, prometheus, world, operator: Mutex::new(operator), version, _group: group })
    }

    /// Applies the examples.
    pub async fn open(&self, mutant: Option<Mutant>) -> anyhow::Result<()> {
        let kubectl = self.plane.kubectl()?;
        let examples = repository().join("examples");
        kubectl.run(&["apply", "--validate=strict", "-f", &examples.to_string_lossy()]).await?;
        if let Some(mutant) = mutant {
            say(&format!("with a mutant: {mutant}"));
            mutant.before(self).await?;
        }
        Ok(())
    }

    /// The summary, and everything in it that is not as it should be.
    pub async fn close(&self, peaks: &Peaks, took: Duration) -> anyhow::Result<(Summary, Vec<String>)> {
        let history = History::read(&self.plane, &self.operator.lock().await.user()).await?;
        let summary = Summary::of(&self.version, took, &history, peaks);
        let failures = check::check(&history);
        Ok((summary, failures))
    }

    /// Says how to look around while everything stays up.
    pub async fn how_to_look_around(&self) {
        println!("\nEverything stays up. In another terminal:\n");
        println!("  export KUBECONFIG={}", self.plane.kubeconfig.display());
        println!("  export PATH={}:$PATH", self.plane.binaries.folder().display());
        println!("  kubectl get gpuw -A");
        println!("  kubectl -n {NAMESPACE} describe gpuw vision-train");
        println!("  kubectl -n {NAMESPACE} get events");
        println!("\n  Prometheus     {}", self.prometheus.url());
        println!("  operator's log {}", self.operator.lock().await.log().display());
        println!("\nCtrl-C ends it and removes everything.");
    }

    /// Ends everything in order.
    pub async fn strike(self) -> anyhow::Result<()> {
        self.operator.into_inner().stop().await?;
        self.world.stop().await?;
        self.prometheus.stop().await?;
        drop(self.plane);
        Ok(())
    }

    /// The end of the operator's log.
    pub fn last_words(&self) -> String {
        let log = self.operator.try_lock().map(|operator| operator.log());
        let text = log.ok().and_then(|log| std::fs::read_to_string(log).ok()).unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

/// The chart's values: its own durations, shortened to fit the demo.
fn settings(prometheus: &Prometheus) -> Vec<String> {
    [
        format!("prometheus[0].name=default,prometheus[0].url={}", prometheus.url()),
        "timing.interval=2s,timing.signalInterval=2s,timing.signalTimeout=2s,timing.staleAfter=20s".to_owned(),
        "timing.evidenceInterval=10s,timing.evidenceTimeout=5s".to_owned(),
    ]
    .to_vec()
}
