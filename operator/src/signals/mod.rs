//! Where numbers come from: one source a file.
//!
//! A source says what it asks a Prometheus and how it reads the answer; the collector asks each distinct question once,
//! however many workloads share it. To add one: write `<name>.rs` with a type that implements [`SignalSource`], give it a
//! variant in the API's `SignalSource`, and build it in `intent.rs`.

mod ask;
mod board;
pub mod client;
mod collector;
mod latency;
mod prometheus;
pub mod promql;
mod scale;
mod server;

pub use ask::{Ask, Asks};
pub use board::{Board, DatedRow, Latest};
pub use collector::{Collector, Endpoints};
pub use latency::{LatencySignal, Time};
pub use prometheus::PrometheusSignal;
pub use scale::ScaleSignal;
pub use server::{Reads, Requests, SGLANG, Server, ServerSignal, TRITON, VLLM};

use jiff::{SignedDuration, Timestamp};
use wellfed_engine::reading::{ReadFailure, Reading};
use wellfed_engine::world::SignalValue;

/// One way to get a signal.
pub trait SignalSource: Send + Sync {
    /// The question for a Prometheus, if it needs one.
    fn ask(&self) -> Option<&Ask>;

    /// The signal's value, from the latest answer to that question.
    fn read(&self, seen: &Seen<'_>) -> SignalValue;
}

/// What a source may look at.
pub struct Seen<'a> {
    /// The latest answer; none before the first.
    pub latest: Option<&'a Latest>,
    /// The workload's namespace.
    pub namespace: &'a str,
    /// The names of its live pods.
    pub pods: &'a [&'a str],
    /// How many of them are Ready.
    pub ready: usize,
    /// Its own `spec.replicas`.
    pub replicas: i32,
    /// Now.
    pub now: Timestamp,
    /// A sample older than this is stale.
    pub stale_after: SignedDuration,
    /// Whether values below zero can be measurements, as of a reward.
    pub signed: bool,
}

/// Rows of one pod, told apart by a label of our own.
struct Parts<'a>(Vec<&'a DatedRow>);

impl<'a> Parts<'a> {
    /// The row of this part, or what there is in its place.
    fn only(&self, part: &str) -> Result<&'a DatedRow, Reading<f64>> {
        let mut found = self.0.iter().filter(|row| row.labels.get("part").is_some_and(|name| name == part));
        match (found.next(), found.next()) {
            (None, _) => Err(Reading::Missing),
            (Some(_), Some(_)) => Err(Reading::Failed(ReadFailure::TooManyRows)),
            (Some(row), None) => Ok(row),
        }
    }
}

impl Seen<'_> {
    /// The rows of the answer, or why there are none.
    fn rows(&self) -> Result<&Latest, ReadFailure> {
        let latest = self.latest.ok_or(ReadFailure::NotYet)?;
        latest.failure().map_or(Ok(latest), Err)
    }

    /// What a model server's pod says in the workload's namespace, a row for each part.
    fn parts<'r>(&self, latest: &'r Latest, pod: &str) -> Parts<'r> {
        let own = |row: &&DatedRow| row.labels.get("namespace").is_some_and(|name| name == self.namespace);
        Parts(latest.with("pod", pod).filter(own).collect())
    }

    /// A row's value, judged.
    fn reading(&self, row: &DatedRow) -> Reading<f64> {
        let read = if self.signed { Reading::of_level } else { Reading::of };
        read(row.value, row.at, self.now, self.stale_after)
    }
}
