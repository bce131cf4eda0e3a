//! Probes and metrics over HTTP.
//!
//! Neither probe asks Prometheus or the Lease: an operator without readings still holds replicas and says why, and one that
//! stands by is as ready as the one that acts. Restarting either would help nobody.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio_util::sync::CancellationToken;

/// What the probes know. Each part of the operator reports its own sign of life here.
#[derive(Debug)]
pub struct Probes {
    bounds: ProbeBounds,
    signs: Mutex<Signs>,
}

/// How old a sign of life may be.
#[derive(Clone, Copy, Debug)]
pub struct ProbeBounds {
    /// The age of the last cycle at which the process counts as stuck. Several intervals and a deadline of writes.
    pub cycle: Duration,
    /// The age of the API server's last answer at which it counts as unreachable.
    pub api: Duration,
}

#[derive(Debug)]
struct Signs {
    cycle: Instant,
    api: Option<Instant>,
    /// Why each store can't be decided on, by its name; none for those that can.
    stores: BTreeMap<String, Option<String>>,
}

/// Why the probes can't be served.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// The address can't be listened on.
    #[error("probes and metrics can't be served on {listen} ({source}): free the port or choose another address")]
    Bind {
        /// The address.
        listen: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The server ended by itself.
    #[error("probes and metrics stopped being served ({0}): restart the operator")]
    Serve(std::io::Error),
}

impl Probes {
    /// Probes of an operator that starts now: alive, and not ready until every one of `stores` has synced and the API
    /// server has answered.
    pub fn new<S: Into<String>>(bounds: ProbeBounds, stores: impl IntoIterator<Item = S>) -> Self {
        let stores = stores.into_iter().map(|name| (name.into(), Some("not synced yet".to_owned()))).collect();
        Self { bounds, signs: Mutex::new(Signs { cycle: Instant::now(), api: None, stores }) }
    }

    /// The cycle went round once, whether or not it had anything to do or leave to do it.
    pub fn cycle_turned(&self) {
        self.signs().cycle = Instant::now();
    }

    /// The API server answered.
    pub fn api_answered(&self) {
        self.signs().api = Some(Instant::now());
    }

    /// Why a store can't be decided on; none when it can.
    pub fn store(&self, name: &str, trouble: Option<String>) {
        self.signs().stores.insert(name.to_owned(), trouble);
    }

    /// Why the process should be restarted; nothing if it is alive.
    pub fn stuck(&self) -> Option<String> {
        let age = self.signs().cycle.elapsed();
        let bound = self.bounds.cycle;
        (age >= bound).then(|| {
            format!("the last cycle was {:.1} s ago (at most {:.1} s)", age.as_secs_f64(), bound.as_secs_f64())
        })
    }

    /// What is missing before the operator can act; empty if it is ready.
    pub fn missing(&self) -> Vec<String> {
        let signs = self.signs();
        let troubled = |(name, trouble): (&String, &Option<String>)| Some(format!("{name}: {}", trouble.as_ref()?));
        let unsynced = signs.stores.iter().filter_map(troubled);
        let age = signs.api.map(|at| at.elapsed());
        let api = match age {
            None => Some("API server: no answer yet".to_owned()),
            Some(age) if age >= self.bounds.api => {
                Some(format!("API server: no answer for {:.1} s", age.as_secs_f64()))
            }
            Some(_) => None,
        };
        unsynced.chain(api).collect()
    }

    /// A panic elsewhere must not make the probes lie: the signs are whole after any of these writes.
    fn signs(&self) -> MutexGuard<'_, Signs> {
        self.signs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `/livez`, `/readyz` and `/metrics`, in plain text.
pub fn router<M>(probes: Arc<Probes>, metrics: M) -> Router
where
    M: Fn() -> String + Clone + Send + Sync + 'static,
{
    let ready = Arc::clone(&probes);
    Router::new()
        .route("/livez", get(move || async move { verdict(probes.stuck().into_iter().collect()) }))
        .route("/readyz", get(move || async move { verdict(ready.missing()) }))
        .route("/metrics", get(move || async move { exposition(metrics()) }))
}

/// Serves the router on `listen` until `stop`. Fails if the address is taken.
pub async fn serve<M>(
    listen: SocketAddr,
    probes: Arc<Probes>,
    metrics: M,
    stop: CancellationToken,
) -> Result<(), HealthError>
where
    M: Fn() -> String + Clone + Send + Sync + 'static,
{
    let bound = tokio::net::TcpListener::bind(listen).await;
    let listener = bound.map_err(|source| HealthError::Bind { listen, source })?;
    let serving = axum::serve(listener, router(probes, metrics)).with_graceful_shutdown(stop.cancelled_owned());
    serving.await.map_err(HealthError::Serve)
}

fn verdict(problems: Vec<String>) -> Response {
    if problems.is_empty() {
        return (StatusCode::OK, "ok\n").into_response();
    }
    let text: String = problems.into_iter().map(|problem| problem + "\n").collect();
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}

/// `OpenMetrics` ends with a mark of its own; without it the text is Prometheus's older format.
fn exposition(text: String) -> Response {
    let kind = if text.trim_end().ends_with("# EOF") {
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    } else {
        "text/plain; version=0.0.4; charset=utf-8"
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
