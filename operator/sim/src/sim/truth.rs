//! What truly happens, for people and pictures. No checker reads it.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Counters at one moment.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub at: f64,
    pub arrived: f64,
    pub done: f64,
    pub useful: f64,
    pub gpu_busy: BTreeMap<String, f64>,
}

/// Where a workload truly stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truth {
    /// Requests or samples since the scenario began.
    pub arrivals: f64,
    /// Requests or samples that wait.
    pub queue: f64,
    /// Requests on GPUs; Ready replicas for training.
    pub running: f64,
    /// Ready replicas.
    pub replicas_ready: usize,
    /// Requests or samples finished a second, over the last five seconds.
    pub throughput: f64,
    /// Those of them that brought something, a second: samples that made the model better; below zero where what was
    /// learned is lost.
    #[serde(default)]
    pub useful: f64,
    /// Share of time with a kernel on the GPUs, mean over the replicas and the last five seconds, 0–1.
    pub gpu_activity: f64,
    /// The last cause that was changed.
    pub cause: String,
}

impl Truth {
    pub(super) fn over(marks: &VecDeque<Mark>, cause: &str) -> Self {
        let mut truth = Self { cause: cause.into(), ..Self::default() };
        let (Some(first), Some(last)) = (marks.front(), marks.back()) else { return truth };
        truth.arrivals = last.arrived;
        let seconds = last.at - first.at;
        if seconds <= 0.0 {
            return truth;
        }
        truth.useful = (last.useful - first.useful) / seconds;
        truth.throughput = ((last.done - first.done) / seconds).max(0.0);
        let busy: Vec<f64> =
            last.gpu_busy.iter().filter_map(|(uid, busy)| Some((busy - first.gpu_busy.get(uid)?) / seconds)).collect();
        truth.gpu_activity = (busy.iter().sum::<f64>() / busy.len().max(1) as f64).min(1.0);
        truth
    }

    pub(super) fn with(self, queue: f64, running: f64, replicas_ready: usize) -> Self {
        Self { queue, running, replicas_ready, ..self }
    }
}
