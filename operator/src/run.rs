//! Wiring: everything that runs, and in which order it stops.

use crate::cli::Run;
use crate::config::{Config, PrometheusConfig};
use crate::cycle::{self, Cycle};
use crate::due::Due;
use crate::evidence::{Lane, Shown, Verdicts, Watched};
use crate::health::{self, ProbeBounds, Probes};
use crate::intent::Settings;
use crate::lease::{self, Holding, LeaseConfig, LeaseView};
use crate::metrics::Metrics;
use crate::recall::Recall;
use crate::signals::client::{Endpoint, EndpointConfig};
use crate::signals::{Asks, Board, Collector, Endpoints};
use crate::told::Told;
use crate::watch::{Scope, Stores};
use anyhow::Context;
use kube::Client;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Runs the operator until SIGTERM or SIGINT; then ends the cycle, gives the Lease back, and returns.
pub async fn run(settings: Run) -> anyhow::Result<()> {
    let config = settings.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
    tracing::info!(?settings, ?config, "starting");
    let stop = CancellationToken::new();
    let work_ended = CancellationToken::new();
    let identity = identity(&settings);
    let (client, lease_client) = clients().await?;
    let (held, holding) = watch::channel(Holding::default());
    let election = lease::hold(lease_client, lease(&settings, &identity), stop.clone(), work_ended.clone(), held);
    let election = tokio::spawn(election);

    let mut tasks = JoinSet::new();
    let early = Arc::new(Notify::new());
    let stores = Stores::start(&client, &scope(&settings), &early, &mut tasks);
    let metrics = Arc::new(Metrics::default());
    let readers = Readers::start(&settings, &config, &metrics, &stop, &mut tasks)?;
    let probes = Arc::new(probes(&settings, &stores));
    let (shown, signs) = (Arc::clone(&metrics), Arc::clone(&probes));
    let server = tokio::spawn(health::serve(settings.listen, signs, move || shown.text(), stop.clone()));
    let cycle = Cycle {
        client,
        stores,
        board: readers.board,
        verdicts: readers.verdicts,
        lease: LeaseView::new(holding),
        identity,
        settings: Settings { config, evidence_interval: settings.evidence_interval },
        stale_after: settings.stale_after,
        metrics,
        probes,
        asks: readers.asks,
        watched: readers.watched,
        recall: Recall::default(),
        told: Told::default(),
        term: 0,
    };
    let due = Due { interval: settings.interval.unsigned_abs(), early };
    let cycles = tokio::spawn(cycle::run(cycle, due, stop.clone()));
    until_told_to_stop(&stop, server, cycles, election, &work_ended).await
}

fn scope(settings: &Run) -> Scope {
    Scope {
        namespaces: settings.watch_namespaces.clone(),
        own: settings.lease_namespace.clone(),
        kill_switch: settings.kill_switch.clone(),
    }
}

/// Alive while cycles turn; ready once the stores are read and while the API server answers.
fn probes(settings: &Run, stores: &Stores) -> Probes {
    let cycle = settings.interval.unsigned_abs() * 6 + Duration::from_secs(30);
    let bounds = ProbeBounds { cycle, api: Duration::from_mins(1) };
    Probes::new(bounds, stores.troubles().map(|(name, _)| name))
}

/// What reads Prometheus, each at its own pace.
struct Readers {
    board: Board,
    verdicts: Verdicts,
    asks: watch::Sender<Arc<Asks>>,
    watched: watch::Sender<Arc<Vec<Watched>>>,
}

impl Readers {
    fn start(
        settings: &Run,
        config: &Config,
        metrics: &Metrics,
        stop: &CancellationToken,
        tasks: &mut JoinSet<()>,
    ) -> anyhow::Result<Self> {
        let (asks, wanted) = watch::channel(Arc::default());
        let (watched, judged) = watch::channel(Arc::default());
        let board = Board::default();
        let verdicts = Verdicts::default();
        let endpoints = endpoints(config)?;
        if let Some(lane) = lane(settings, config, &endpoints, judged, verdicts.clone()) {
            let lane = Lane { shown: metrics.evidence.clone(), ..lane };
            tasks.spawn(lane.run(stop.clone()));
        }
        let collector = Collector {
            endpoints: Arc::new(endpoints),
            asks: wanted,
            board: board.clone(),
            interval: settings.signal_interval.unsigned_abs(),
            deadline: settings.signal_timeout.unsigned_abs(),
        };
        tasks.spawn(collector.run(stop.clone()));
        Ok(Self { board, verdicts, asks, watched })
    }
}

/// The first part that ends, or a signal, ends all: cycles first, the Lease last.
async fn until_told_to_stop(
    stop: &CancellationToken,
    mut server: tokio::task::JoinHandle<Result<(), health::HealthError>>,
    mut cycles: tokio::task::JoinHandle<()>,
    mut election: tokio::task::JoinHandle<Result<(), lease::LeaseError>>,
    work_ended: &CancellationToken,
) -> anyhow::Result<()> {
    let outcome = tokio::select! {
        signal = told_to_stop() => signal,
        answered = &mut server => answered.context("the probes' server panicked")?.context("the probes' server ended"),
        ended = &mut election => ended.context("the election panicked")?.context("the election ended"),
        ended = &mut cycles => ended.context("the cycles panicked"),
    };
    stop.cancel();
    let wait = Duration::from_secs(20);
    if !cycles.is_finished() && tokio::time::timeout(wait, cycles).await.is_err() {
        tracing::warn!("a cycle did not end in time; the Lease runs out by itself");
        return outcome;
    }
    work_ended.cancel();
    if !election.is_finished() && tokio::time::timeout(wait, election).await.is_err() {
        tracing::warn!("the Lease could not be given back in time; it runs out by itself");
    }
    tracing::info!("stopped");
    outcome
}

async fn told_to_stop() -> anyhow::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    tracing::info!("told to stop");
    Ok(())
}

/// One client for everything, and one without retries for the Lease: a renewal must not wait behind others.
async fn clients() -> anyhow::Result<(Client, Client)> {
    let config = kube::Config::infer().await.context("no way to reach the API server was found")?;
    let mut single = config.clone();
    single.default_retry = false;
    Ok((Client::try_from(config)?, Client::try_from(single)?))
}

fn identity(settings: &Run) -> String {
    let pod = settings.identity.clone().unwrap_or_else(|| "wellfed".to_owned());
    // A restarted container keeps its pod's name, and must not take its predecessor's Lease for its own.
    format!("{pod}_{}_{}", std::process::id(), jiff::Timestamp::now().as_millisecond())
}

fn lease(settings: &Run, identity: &str) -> LeaseConfig {
    let duration = settings.lease_duration.unsigned_abs();
    LeaseConfig {
        namespace: settings.lease_namespace.clone(),
        name: settings.lease_name.clone(),
        identity: identity.to_owned(),
        duration,
        renew_deadline: duration * 2 / 3,
        retry_period: duration / 5,
    }
}

fn endpoints(config: &Config) -> anyhow::Result<Endpoints> {
    let endpoint = |one: &PrometheusConfig| {
        let endpoint = Endpoint::new(EndpointConfig::new(&one.name, &one.url))?;
        Ok((one.name.clone(), endpoint))
    };
    config.prometheus.iter().map(endpoint).collect()
}

fn lane(
    settings: &Run,
    config: &Config,
    endpoints: &Endpoints,
    watched: watch::Receiver<Arc<Vec<Watched>>>,
    verdicts: Verdicts,
) -> Option<Lane> {
    let name = &config.evidence.endpoint;
    let Some(endpoint) = endpoints.get(name) else {
        tracing::warn!("no Prometheus is configured, so the gate has no evidence: every verdict is Unknown");
        return None;
    };
    Some(Lane {
        endpoint: endpoint.clone(),
        matchers: config.named(name)?.extra_matchers.clone(),
        config: config.evidence.clone(),
        watched,
        verdicts,
        shown: Shown::default(),
        interval: settings.evidence_interval,
        deadline: settings.evidence_timeout.unsigned_abs(),
    })
}
