//! Asks a Prometheus, and trusts its answer only as far as it goes.
//!
//! An answer is whole or it is a failure: a sum over the half of the targets that could be reached looks like half the
//! load. Numbers are handed on as they are, NaN and infinities included; the caller judges what they may mean.

mod answer;
mod clock;
mod error;
mod frames;
mod labels;
mod row;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use prometheus_http_query::{Client, InstantQueryBuilder};
use reqwest::redirect::Policy;

pub use answer::{Answer, Row, Shape};
pub use error::FetchError;
pub use labels::{Labelled, Labels};

const MIB: usize = 1024 * 1024;

/// A Prometheus that the administrator named.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The name by which a `GpuWorkload` chooses it.
    pub name: String,
    /// Its address without `/api/v1`, such as `http://prometheus.monitoring:9090`.
    pub url: String,
    /// The largest answer that is read, in bytes.
    pub max_bytes: usize,
    /// The most rows that one answer may have.
    pub max_rows: usize,
    /// The largest answer that is read row by row without being kept, in bytes.
    pub max_streamed_bytes: usize,
    /// The most rows of such an answer.
    pub max_streamed_rows: usize,
}

impl EndpointConfig {
    /// An endpoint with the usual bounds: 16 MiB and 50,000 rows, which is a whole large cluster by pod; and 512 MiB and
    /// a million rows, which is ten of the largest clusters by GPU.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            url: url.into(),
            max_bytes: 16 * MIB,
            max_rows: 50_000,
            max_streamed_bytes: 512 * MIB,
            max_streamed_rows: 1_000_000,
        }
    }
}

/// A client for one Prometheus. Connections are kept and shared by its clones.
#[derive(Clone)]
pub struct Endpoint {
    config: EndpointConfig,
    client: Client,
    /// By how much its clock is ahead of ours, as its last answer told, where that is more than a few seconds; none before it.
    astray: Arc<RwLock<Option<SignedDuration>>>,
}

impl Endpoint {
    /// A client for the endpoint. Connects to nothing yet; fails only on a wrong address.
    pub fn new(config: EndpointConfig) -> Result<Self, FetchError> {
        let address = |reason: String| FetchError::Address { endpoint: config.name.clone(), reason };
        // A redirected POST arrives as a GET without its query, at a login page most often.
        let http = reqwest::Client::builder().redirect(Policy::none()).build().map_err(|e| address(cause(&e)))?;
        let client = Client::from(http, &config.url).map_err(|e| address(format!("`{}`: {e}", config.url)))?;
        if !client.base_url().scheme().starts_with("http") {
            return Err(address(format!("`{}` is not an http or https address", config.url)));
        }
        Ok(Self { config, client, astray: Arc::default() })
    }

    /// The name by which it is chosen.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Evaluates `query` at one instant (the server's now without `at`), within `deadline` for everything, connecting and
    /// reading included. The server is told the deadline too, so that it does not work on for nobody.
    pub async fn instant(&self, query: &str, at: Option<Timestamp>, deadline: Duration) -> Result<Answer, FetchError> {
        let whole = async {
            let response =
                self.request(query, at, deadline).post_raw().await.map_err(|error| self.unreachable(&error))?;
            let (status, apart) = (response.status().as_u16(), self.note_clock(&response));
            let body = self.read(response).await?;
            let behind = apart.max(SignedDuration::ZERO);
            answer::parse(&self.config, status, &body).map(|answer| Answer { behind, ..answer })
        };
        self.in_time(deadline, whole).await
    }

    /// By how much its clock is ahead of ours, as its last answer told; zero where that is no more than a few seconds. Where it
    /// never answered it is asked for nothing else.
    pub async fn astray(&self, deadline: Duration) -> Result<SignedDuration, FetchError> {
        let told = || *self.astray.read().unwrap_or_else(PoisonError::into_inner);
        if told().is_none() {
            self.instant("vector(1)", None, deadline).await?;
        }
        Ok(told().unwrap_or_default())
    }

    /// By how much its clock is ahead of ours. That they differ is told once.
    fn note_clock(&self, response: &reqwest::Response) -> SignedDuration {
        let apart = clock::apart(response.headers(), Timestamp::now());
        let astray = clock::astray(apart);
        let before = self.astray.write().unwrap_or_else(PoisonError::into_inner).replace(astray);
        if !astray.is_zero() && before.is_none_or(|before| before.is_zero()) {
            tracing::warn!(
                endpoint = self.config.name,
                seconds = astray.as_secs(),
                "the clock of a Prometheus is ahead of this machine's by so much (behind it, if negative): samples of signals \
                 count as older, or are not there yet, so synchronise the clocks"
            );
        }
        apart
    }

    fn request(&self, query: &str, at: Option<Timestamp>, deadline: Duration) -> InstantQueryBuilder {
        let request = self.client.query(query).timeout(i64::try_from(deadline.as_millis()).unwrap_or(i64::MAX));
        match at {
            Some(at) => request.query("time", format!("{}.{:03}", at.as_second(), at.subsec_millisecond())),
            None => request,
        }
    }

    /// What `whole` gives, or that it was late; the server's own word for that is the same to us.
    async fn in_time<T>(
        &self,
        deadline: Duration,
        whole: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let late = || FetchError::Timeout { endpoint: self.config.name.clone(), deadline };
        tokio::time::timeout(deadline, whole).await.map_err(|_| late())?.map_err(|error| match error {
            FetchError::Timeout { .. } => late(),
            other => other,
        })
    }

    /// The body, chunk by chunk, so that an endless one ends at the bound.
    async fn read(&self, mut response: reqwest::Response) -> Result<Vec<u8>, FetchError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if body.len() + chunk.len() > self.config.max_bytes {
                return Err(self.too_much(format!("{} bytes", self.config.max_bytes)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn too_much(&self, limit: String) -> FetchError {
        FetchError::TooMuch { endpoint: self.config.name.clone(), limit }
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> FetchError {
        FetchError::Unreachable { endpoint: self.config.name.clone(), reason: cause(error) }
    }
}

/// The innermost cause of an error: the outer ones only say that something failed.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(deeper) = innermost.source() {
        innermost = deeper;
    }
    innermost.to_string()
}
