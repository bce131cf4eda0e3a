//! The page of a workload's queue exporter: one number for the whole workload.

use super::text::{Kind, Text};
use crate::sim::{Running, State};

/// The page; `None` for workloads that keep their queue inside their pods.
pub fn page(workload: &Running) -> Option<String> {
    let labels = [("queue", workload.spec.name.as_str())];
    let mut text = Text::default();
    match &workload.state {
        State::Llm(_) => return None,
        State::Training(run) => {
            text.one("training_backlog_samples", Kind::Gauge, "Samples that wait.", &labels, run.backlog.floor())
        }
        State::Service(pool) => {
            text.one("queue_depth", Kind::Gauge, "Requests that wait.", &labels, pool.waiting() as f64)
        }
    };
    Some(text.finish())
}
