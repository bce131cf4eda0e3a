//! The lane's task: look, keep, judge, post; one question in flight, all at one instant.

use super::history::History;
use super::labels::Scheme;
use super::metric::{Metric, Subject};
use super::recorded;
use super::shown::{Shown, Told};
use super::slice::Slice;
use super::watched::Watched;
use crate::config::EvidenceConfig;
use crate::signals::client::{Endpoint, FetchError};
use crate::signals::promql::{self, Query, QueryError};
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
pub struct Verdicts(Arc<RwLock<Arc<Opinions>>>);

impl Verdicts {
    /// As they stand.
    pub fn snapshot(&self) -> Arc<Opinions> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn post(&self, opinions: Opinions) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(opinions);
    }
}

/// Looks at GPUs, their CPUs, model servers, trainers and nodes.
pub struct Lane {
    /// Whom to ask.
    pub endpoint: Endpoint,
    /// Matchers that every question gets.
    pub matchers: BTreeMap<String, String>,
    /// What to ask for.
    pub config: EvidenceConfig,
    /// The workloads that want to grow, as the last cycle saw them.
    pub watched: watch::Receiver<Arc<Vec<Watched>>>,
    /// Where opinions go.
    pub verdicts: Verdicts,
    /// Where it shows what it found.
    pub shown: Shown,
    /// Time between looks.
    pub interval: SignedDuration,
    /// The deadline of one question.
    pub deadline: Duration,
}

/// The longest window that a workload may ask for.
pub const LONGEST: SignedDuration = SignedDuration::from_hours(2);
/// What is kept while nobody asks for more, so that a new leader can judge at once: the longest of the default windows.
const KEPT: SignedDuration = SignedDuration::from_mins(30);
/// Questions of one look that may run into their deadline; then the rest is left for the next look.
const MOST_LATE: usize = 3;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
enum LookError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl LookError {
    const fn is_late(&self) -> bool {
        matches!(self, Self::Fetch(FetchError::Timeout { .. }))
    }
}

impl Lane {
    /// Looks until `stop`. A look that fails is left out; the next one counts it as missing.
    pub async fn run(self, stop: CancellationToken) {
        let recorded = if self.config.recorded { recorded::oldest(self.interval) } else { SignedDuration::ZERO };
        // What is taken over more than the time between two looks begins before the look does.
        let lag = recorded + self.config.range(self.interval) - self.interval;
        let mut history = History::every(self.interval).lagging(lag);
        let mut told = Told::default();
        let mut due = tokio::time::interval(self.interval.unsigned_abs());
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = due.tick() => {}
            }
            match self.look(Timestamp::now(), &mut told).await {
                Ok(slice) => {
                    told.look(&slice, &self.shown);
                    let gpus = Scheme::ALL.into_iter().any(|scheme| slice.carried(scheme) > 0);
                    let watched = Arc::clone(&self.watched.borrow());
                    history.watch(&watched, slice.at);
                    history.hear(&watched, slice.at);
                    history.push(slice, longest(&watched));
                    history.thin(&watched, KEPT);
                    told.attribution(gpus && shows_none(&watched, &history));
                    self.verdicts.post(judged(&watched, &history));
                }
                Err(error) => tracing::warn!(%error, "the evidence for the gate can't be read"),
            }
        }
    }

    /// Asks for everything. What has no answer spoils its own metric; the look fails where nothing has one.
    async fn look(&self, now: Timestamp, told: &mut Told) -> Result<Slice, LookError> {
        let mut slice = Slice::ending(now).with_nodes_by(self.config.node_label.clone());
        let (mut answered, mut late) = (0, 0);
        let mut failed = Vec::new();
        for metric in Metric::ALL {
            match self.ask(metric, &mut slice, now, told).await {
                Ok(asked) => answered += usize::from(asked),
                Err(error) => {
                    slice.forget(metric);
                    late += usize::from(error.is_late());
                    failed.push((metric, error));
                }
            }
            if late >= MOST_LATE {
                tracing::warn!(?metric, "too many questions are late: the rest of this look is left out");
                break;
            }
        }
        match failed.pop() {
            Some((_, error)) if answered == 0 => Err(error),
            last => {
                for (metric, error) in failed.into_iter().chain(last) {
                    tracing::warn!(?metric, %error, "one metric of the gate's evidence can't be read");
                }
                Ok(slice)
            }
        }
    }

    /// One metric: as it was recorded, or else by its expression. False where there is nothing to ask for.
    async fn ask(&self, metric: Metric, slice: &mut Slice, now: Timestamp, told: &mut Told) -> Result<bool, LookError> {
        let window = format!("{}ms", self.config.range(self.interval).as_millis());
        let Some(question) = metric.query(&window, &self.config) else { return Ok(false) };
        let is_recorded = self.config.recorded && metric.is_as_recorded(&self.config);
        let recorded = recorded::name(metric).filter(|_| is_recorded);
        if let Some(name) = &recorded
            && self.fetch(self.of_recorded(name)?, metric, slice, now).await? > 0
        {
            told.answered(metric, Some(name), false);
            return Ok(true);
        }
        let rows = self.fetch(self.of_exporters(&question, metric)?, metric, slice, now).await?;
        told.answered(metric, recorded.as_deref(), recorded.is_some() && rows > 0);
        Ok(true)
    }

    /// The question for what was recorded. What Prometheus was sent has an instance, so nobody can send what the rules say.
    fn of_recorded(&self, name: &str) -> Result<Query, QueryError> {
        let mut matchers = self.matchers.clone();
        matchers.insert("instance".to_owned(), String::new());
        promql::with_matchers(&promql::parse(&recorded::question(name, self.interval))?, &matchers)
    }

    /// The question for what exporters and servers send.
    fn of_exporters(&self, question: &str, metric: Metric) -> Result<Query, QueryError> {
        let query = promql::with_matchers(&promql::parse(question)?, &self.matchers)?;
        match metric.subject() {
            Subject::Gpu => promql::with_matchers(&query, &self.config.gpu_matchers),
            Subject::Node => promql::with_matchers(&query, &self.config.node_matchers),
            Subject::Container | Subject::Server => Ok(query),
        }
    }

    async fn fetch(&self, query: Query, metric: Metric, slice: &mut Slice, now: Timestamp) -> Result<usize, LookError> {
        let take = |labels: &_, value| slice.take_row(metric, labels, value);
        Ok(self.endpoint.rows(query.text(), Some(now), self.deadline, take).await?)
    }
}

/// How long looks are kept.
fn longest(watched: &[Watched]) -> SignedDuration {
    watched.iter().map(|one| one.gate.window).max().unwrap_or(KEPT).clamp(KEPT, LONGEST)
}

/// Whether there are pods that should show GPUs, and the last look has none of any.
fn shows_none(watched: &[Watched], history: &History) -> bool {
    let mut pods = watched.iter().flat_map(|one| one.pods.iter().map(|pod| (&one.namespace, &pod.name))).peekable();
    pods.peek().is_some() && !pods.any(|(namespace, pod)| history.shows_gpus_of(namespace, pod))
}

fn judged(watched: &[Watched], history: &History) -> Opinions {
    watched.iter().filter_map(|one| Some((one.uid.clone(), Arc::new(opinion(one, history)?)))).collect()
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
mod tests;
