//! What one test of the operator owns: a namespace with GPU nodes, metrics that it sets, a Prometheus that scrapes them, a
//! way to that which it can break, and the operator as its chart installs it, for this namespace only.

mod cleanup;
mod hands;
mod look;
mod pool;
mod wish;

use crate::fixture::{Fixture, GpuDeployment, GpuNodes};
use crate::operator::{Operator, install_crds};
use crate::plane::Plane;
use crate::process::Group;
use crate::prometheus::{Prometheus, PrometheusConfig};
use crate::proxy::Proxy;
use crate::source::MetricSource;
use cleanup::OwnNamespace;
use std::ops::Deref;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

pub use wish::Wish;

/// The name under which a `GpuWorkload` reads through the proxy; without a name it reads Prometheus directly.
pub const PROXIED: &str = "proxied";
/// The operator's release.
pub const RELEASE: &str = "wellfed";
/// For whatever should happen within a few cycles.
pub const SOON: Duration = Duration::from_secs(30);

/// Each has a Prometheus and an operator; more at once make each other slow.
static ROOM: Semaphore = Semaphore::const_new(5);

/// A test's own operator and everything around it. Dropping it ends the processes and deletes what it made.
pub struct OperatorFixture {
    /// The operator: stop, kill and start it as you like.
    pub operator: Operator,
    /// The way to Prometheus of signals whose endpoint is [`PROXIED`].
    pub proxy: Proxy,
    /// What the application exposes.
    pub source: MetricSource,
    /// Who scrapes it.
    pub prometheus: Prometheus,
    /// The group of the operator's process, for `operator.start`.
    pub group: Group,
    /// The values of its release.
    values: Vec<String>,
    _own: OwnNamespace,
    fixture: Fixture,
    _room: SemaphorePermit<'static>,
}

impl Deref for OperatorFixture {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl OperatorFixture {
    /// Everything, started, with short times: a cycle and a reading a second, a deadline of one second, stale after five.
    pub async fn start(plane: &Plane, name: &str) -> anyhow::Result<Self> {
        Self::start_with(plane, name, &[]).await
    }

    /// As [`OperatorFixture::start`], with more values of the chart (`key=value`).
    pub async fn start_with(plane: &Plane, name: &str, values: &[&str]) -> anyhow::Result<Self> {
        let room = ROOM.acquire().await?;
        install_crds(plane).await?;
        let fixture = Fixture::new(plane, name).await?;
        let own = OwnNamespace::of(&fixture);
        let source = MetricSource::start(&fixture.namespace).await?;
        let prometheus = Prometheus::start(&plane.binaries, &PrometheusConfig { jobs: vec![source.job()] }).await?;
        let proxy = Proxy::start(&prometheus.url()).await?;
        let mut all = settings(&fixture.namespace, &prometheus.url(), &proxy.url());
        all.extend(values.iter().map(ToString::to_string));
        let mut operator = Operator::install(plane, own.name(), RELEASE, &all).await?;
        let group = Group::default();
        fixture.add_nodes(&GpuNodes::new(2)).await?;
        operator.start(&group).await?;
        Ok(Self { operator, proxy, source, prometheus, group, values: all, _own: own, fixture, _room: room })
    }

    /// A Deployment of `replicas` replicas with one GPU each, and the workload that scales it.
    pub async fn run(&self, wish: &Wish, replicas: i32) -> anyhow::Result<()> {
        self.deploy(&GpuDeployment::new(wish.name()).replicas(replicas)).await?;
        self.apply(wish).await
    }

    /// `kubectl apply` as a strict client; an error holds what a user would read.
    pub async fn apply(&self, wish: &Wish) -> anyhow::Result<()> {
        let args = ["apply", "--validate=strict", "-n", &self.namespace, "-f", "-"];
        self.plane.kubectl()?.run_with_input(&args, &wish.manifest()).await?;
        Ok(())
    }
}

fn settings(namespace: &str, direct: &str, proxied: &str) -> Vec<String> {
    vec![
        format!("watchNamespaces[0]={namespace}"),
        format!("prometheus[0].name=default,prometheus[0].url={direct}"),
        format!("prometheus[1].name={PROXIED},prometheus[1].url={proxied}"),
        "timing.interval=1s,timing.signalInterval=1s,timing.signalTimeout=1s,timing.staleAfter=5s".to_owned(),
        "timing.evidenceInterval=5s,timing.evidenceTimeout=5s".to_owned(),
        "rbac.aggregate=false".to_owned(),
    ]
}
