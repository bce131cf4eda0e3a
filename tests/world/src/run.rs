//! A running world: it watches, ticks and serves until it is stopped.

use crate::{
    cluster, nodes,
    scenario::{Scenario, ScenarioError, SetError, Workload},
    server,
    view::ClusterView,
    world::{World, WorldTruth},
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    net::TcpListener,
    sync::watch,
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

/// Most ticks played in one go after this process was held up; what is beyond is lost time.
const MOST_AT_ONCE: u64 = 100;
/// How long open connections may take to end when the world stops.
const GRACE: Duration = Duration::from_secs(2);

/// Why a world did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The scenario or a trace cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A node could not be made.
    #[error(transparent)]
    Node(#[from] nodes::NodeError),
    /// The address is not free.
    #[error("{listen}: cannot listen ({source}); choose a free port, or port 0 for any")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// What the HTTP handlers share.
#[derive(Clone, Debug)]
pub struct Shared {
    world: Arc<Mutex<World>>,
    /// Host and port on which the world listens.
    pub address: String,
}

impl Shared {
    /// The state. A panic in another holder leaves numbers of one tick half-written at worst.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running world. Dropping it stops it without waiting; [`WorldHandle::stop`] waits.
#[derive(Debug)]
pub struct WorldHandle {
    /// Where it listens, as `http://127.0.0.1:PORT`.
    pub url: String,
    shared: Shared,
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl World {
    /// Creates the scenario's nodes, then watches, ticks and serves.
    pub async fn start(
        scenario: Scenario,
        client: kube::Client,
        listen: SocketAddr,
    ) -> Result<WorldHandle, StartError> {
        for group in &scenario.nodes {
            nodes::create(&client, group).await?;
        }
        let stop = CancellationToken::new();
        let views = cluster::watch(&client, scenario.node_selector.clone(), stop.clone());
        Self::start_with(scenario, views, listen, stop).await
    }

    /// As [`World::start`], with the cluster told by `views` instead of an API server.
    pub async fn start_with(
        scenario: Scenario,
        views: watch::Receiver<ClusterView>,
        listen: SocketAddr,
        stop: CancellationToken,
    ) -> Result<WorldHandle, StartError> {
        let refused = |source| StartError::Listen { listen, source };
        let tick = scenario.tick.duration();
        let world = Arc::new(Mutex::new(Self::new(scenario)?));
        let listener = TcpListener::bind(listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?.to_string();
        let shared = Shared { world, address };
        let routes = server::routes(shared.clone());
        let stopped = stop.clone().cancelled_owned();
        let serve = async move {
            if let Err(error) = axum::serve(listener, routes).with_graceful_shutdown(stopped).await {
                tracing::error!(%error, "the HTTP server ended");
            }
        };
        let tasks = vec![tokio::spawn(play(shared.clone(), tick, views, stop.clone())), tokio::spawn(serve)];
        Ok(WorldHandle { url: format!("http://{}", shared.address), shared, stop, tasks })
    }
}

/// Ticks in step with real time. The models' step is fixed, so the history depends on pods and seed only.
async fn play(shared: Shared, tick: Duration, mut views: watch::Receiver<ClusterView>, stop: CancellationToken) {
    let mut timer = interval(tick);
    timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let started = Instant::now();
    let mut played = 0;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = timer.tick() => {}
        }
        let due = (started.elapsed().as_secs_f64() / tick.as_secs_f64()) as u64;
        let mut world = shared.world();
        if views.has_changed().unwrap_or(false) {
            world.observe(views.borrow_and_update().clone());
        }
        (0..(due - played).min(MOST_AT_ONCE)).for_each(|_| world.tick());
        played = due;
    }
}

impl WorldHandle {
    /// Where everything truly stands.
    pub fn truth(&self) -> WorldTruth {
        self.shared.world().truth()
    }

    /// Changes one cause of `workload`, for example `model.training.loader.workers` to 32.
    pub fn set(&self, workload: &str, path: &str, value: impl Into<serde_json::Value>) -> Result<(), SetError> {
        self.shared.world().set(workload, path, &value.into())
    }

    /// Adds a workload.
    pub fn add(&self, workload: &Workload) -> Result<(), ScenarioError> {
        self.shared.world().add(workload)
    }

    /// Forgets a workload; whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.shared.world().remove(name)
    }

    /// Stops and waits until the port is free. The nodes stay.
    pub async fn stop(mut self) {
        self.stop.cancel();
        for task in self.tasks.drain(..) {
            let abort = task.abort_handle();
            if timeout(GRACE, task).await.is_err() {
                abort.abort();
            }
        }
    }
}

impl Drop for WorldHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
