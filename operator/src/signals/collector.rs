//! Asks every distinct question once an interval, each with its own deadline; new questions at once.

use super::ask::{Ask, Asks};
use super::board::{Board, Latest};
use super::client::{Answer, Endpoint, FetchError, Row, Shape};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The Prometheus servers by name.
pub type Endpoints = HashMap<String, Endpoint>;

/// Questions asked at the same time.
const AT_ONCE: usize = 8;

/// Reads signals.
pub struct Collector {
    /// Whom to ask.
    pub endpoints: Arc<Endpoints>,
    /// What to ask, as the last cycle left it.
    pub asks: watch::Receiver<Arc<Asks>>,
    /// Where answers go.
    pub board: Board,
    /// Time between reads.
    pub interval: Duration,
    /// The deadline of one question.
    pub deadline: Duration,
}

impl Collector {
    /// Reads until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut due = tokio::time::interval(self.interval);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let asks = tokio::select! {
                () = stop.cancelled() => return,
                _ = due.tick() => self.everything(),
                changed = self.asks.changed() => match changed {
                    Ok(()) => self.new_ones(),
                    Err(_) => return,
                },
            };
            stream::iter(asks).for_each_concurrent(AT_ONCE, |ask| self.read(ask)).await;
        }
    }

    fn everything(&mut self) -> Vec<Ask> {
        let asks = Arc::clone(&self.asks.borrow_and_update());
        self.board.keep_only(&asks);
        asks.iter().cloned().collect()
    }

    fn new_ones(&mut self) -> Vec<Ask> {
        let asks = Arc::clone(&self.asks.borrow_and_update());
        asks.iter().filter(|ask| self.board.latest(ask).is_none()).cloned().collect()
    }

    async fn read(&self, ask: Ask) {
        let before = self.board.latest(&ask);
        let latest = self.answer(&ask).await.unwrap_or_else(|error| {
            if before.as_ref().is_none_or(|before| before.failure().is_none()) {
                tracing::warn!(query = ask.query, %error, "a signal can't be read");
            }
            Latest::failed(error.failure())
        });
        self.board.post(ask, latest.after(before.as_deref()));
    }

    async fn answer(&self, ask: &Ask) -> Result<Latest, FetchError> {
        let unknown = || {
            let reason = "the operator's configuration does not name it".to_owned();
            FetchError::Address { endpoint: ask.endpoint.clone(), reason }
        };
        let endpoint = self.endpoints.get(&ask.endpoint).ok_or_else(unknown)?;
        let now = Timestamp::now();
        let Answer { rows, behind, .. } = self.ask(endpoint, &ask.query, now).await?;
        let ages = match &ask.ages {
            Some(query) => self.ages(endpoint, query, now).await?,
            None => None,
        };
        Ok(Latest::answered(ask, rows, ages.as_deref(), now).older(behind))
    }

    /// None for a selector over several metric names: Prometheus can't give its age.
    async fn ages(&self, endpoint: &Endpoint, query: &str, at: Timestamp) -> Result<Option<Vec<Row>>, FetchError> {
        match self.ask(endpoint, query, at).await {
            Err(FetchError::BadQuery { .. }) => Ok(None),
            other => other.map(|answer| Some(answer.rows)),
        }
    }

    async fn ask(&self, endpoint: &Endpoint, query: &str, at: Timestamp) -> Result<Answer, FetchError> {
        let answer = endpoint.instant(query, Some(at), self.deadline).await?;
        match answer.shape {
            Shape::Vector | Shape::Scalar => Ok(answer),
        }
    }
}

#[cfg(test)]
mod tests;
