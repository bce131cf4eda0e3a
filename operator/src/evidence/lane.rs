//! The lane's task: look, keep, judge, post; one question in flight, all at one instant.

use super::assemble::Watched;
use super::history::{History, Slice};
use super::metric::Metric;
use crate::signals::client::{Endpoint, FetchError};
use crate::signals::promql;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use wellfed_engine::judge;
use wellfed_engine::opinion::{Opinion, Opinions};

/// The latest opinions: written by the lane, read by cycles.
#[derive(Clone, Default)]
pub struct Verdicts(Arc<RwLock<Opinions>>);

impl Verdicts {
    /// As they stand.
    pub fn snapshot(&self) -> Opinions {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn post(&self, opinions: Opinions) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = opinions;
    }
}

/// Looks at GPUs, their CPUs and model servers.
pub struct Lane {
    /// Whom to ask.
    pub endpoint: Endpoint,
    /// Matchers that every question gets.
    pub matchers: BTreeMap<String, String>,
    /// The workloads that want to grow, as the last cycle saw them.
    pub watched: watch::Receiver<Arc<Vec<Watched>>>,
    /// Where opinions go.
    pub verdicts: Verdicts,
    /// Time between looks.
    pub interval: SignedDuration,
    /// The deadline of one question.
    pub deadline: Duration,
}

/// The longest window that a workload may ask for.
pub const LONGEST: SignedDuration = SignedDuration::from_hours(2);

/// Why a look failed.
#[derive(Debug, thiserror::Error)]
enum LookError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Query(#[from] promql::QueryError),
}

impl Lane {
    /// Looks until `stop`. A look that fails is left out; the next one counts it as missing.
    pub async fn run(self, stop: CancellationToken) {
        let mut history = History::every(self.interval);
        let mut due = tokio::time::interval(self.interval.unsigned_abs());
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = due.tick() => {}
            }
            match self.look(Timestamp::now()).await {
                Ok(slice) => {
                    history.push(slice, LONGEST);
                    self.verdicts.post(self.judged(&history));
                }
                Err(error) => tracing::warn!(%error, "the evidence for the gate can't be read"),
            }
        }
    }

    async fn look(&self, now: Timestamp) -> Result<Slice, LookError> {
        let window = format!("{}ms", self.interval.as_millis());
        let mut slice = Slice::ending(now);
        for metric in Metric::ALL {
            let query = promql::with_matchers(&promql::parse(&metric.query(&window))?, &self.matchers)?;
            match self.endpoint.instant(query.text(), Some(now), self.deadline).await {
                Ok(answer) => slice.take(metric, answer.rows),
                // One exporter's odd series spoil one question: its samples are missing, as any may be.
                Err(error @ FetchError::BadQuery { .. }) => {
                    tracing::warn!(?metric, %error, "one metric of the gate's evidence can't be read");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(slice)
    }

    fn judged(&self, history: &History) -> Opinions {
        let watched = Arc::clone(&self.watched.borrow());
        watched.iter().filter_map(|one| Some((one.uid.clone(), opinion(one, history)?))).collect()
    }
}

/// None without evidence. A panic over one workload is a bug of ours that must not end the lane for all others.
fn opinion(workload: &Watched, history: &History) -> Option<Opinion> {
    let judged = catch_unwind(AssertUnwindSafe(|| history.evidence(workload).as_ref().map(judge)));
    judged.unwrap_or_else(|_| {
        tracing::error!(
            namespace = workload.namespace,
            uid = workload.uid,
            "judging a workload failed; please report this"
        );
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::client::EndpointConfig;
    use axum::Router;
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use axum::routing::post;
    use tokio::net::TcpListener;

    const ONE: &str = r#"{"status":"success","data":{"resultType":"vector","result":[
        {"metric":{"namespace":"demo","pod":"a","UUID":"g"},"value":[1764460800,"0.5"]}]}}"#;
    const REFUSED: &str = r#"{"status":"error","errorType":"execution","error":"too many samples"}"#;

    /// Prometheus answers everything but questions about vLLM, to which it gives `trouble`.
    async fn looking(trouble: (StatusCode, &'static str)) -> Result<Slice, LookError> {
        // The operator's main does this once; here each test may be the first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = async move |asked: String| {
            if asked.contains("vllm") { trouble.into_response() } else { ONE.into_response() }
        };
        let router = Router::new().route("/api/v1/query", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let lane = Lane {
            endpoint: Endpoint::new(EndpointConfig::new("main", url)).unwrap(),
            matchers: BTreeMap::new(),
            watched: watch::channel(Arc::default()).1,
            verdicts: Verdicts::default(),
            interval: SignedDuration::from_mins(1),
            deadline: Duration::from_secs(5),
        };
        lane.look(Timestamp::now()).await
    }

    #[tokio::test]
    async fn a_question_that_is_refused_leaves_the_others_their_answers() {
        let slice = looking((StatusCode::UNPROCESSABLE_ENTITY, REFUSED)).await.unwrap();

        let gpu = &slice.gpus[&("demo".to_owned(), "a".to_owned())]["g"];
        assert!(gpu.contains_key(&Metric::Engine) && gpu.contains_key(&Metric::Power));
        let server = &slice.servers[&("demo".to_owned(), "a".to_owned())];
        assert_eq!(server.keys().collect::<Vec<_>>(), [&Metric::Batch], "vLLM stands in all the other questions");
    }

    #[tokio::test]
    async fn a_prometheus_that_fails_ends_the_look() {
        let looked = looking((StatusCode::SERVICE_UNAVAILABLE, "")).await;

        assert!(matches!(looked, Err(LookError::Fetch(FetchError::Http { status: 503, .. }))), "{looked:?}");
    }
}
