//! What a signal of a manifest reads in a simulation: a model server by itself, a query by what the scenario says of it.

use super::check::Problem;
use super::file::{Entry, Measured};
use crate::signals::{Reads, Requests, Time};
use wellfed_crds::{ServerMetric, Signal, SignalRole, SignalType};
use wellfed_sim::scenario::Model;

/// Where one signal gets its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reader {
    /// Requests in each model server.
    Server(Requests),
    /// One number for the workload.
    Whole(Measured),
    /// The same, shared evenly among the Ready pods.
    PerPod(Measured),
    /// The manifest's `replicas`.
    Scale(u32),
}

impl Reader {
    /// The reader of the signal number `at` of `entry`, whose manifest asks for `replicas`.
    pub fn of(entry: &Entry, at: usize, signal: &Signal, replicas: i32) -> Result<Self, Problem> {
        let path = format!("manifest.spec.signals[{at}].source");
        let source = &signal.source;
        if source.scale.is_some() {
            return Ok(Self::Scale(u32::try_from(replicas).unwrap_or(0)));
        }
        if source.triton.is_some() {
            return match entry.model {
                Model::Service(_) if signal.role == Some(SignalRole::Latency) => Ok(Self::Whole(Measured::Latency)),
                Model::Service(_) => Ok(Self::PerPod(Measured::Queue)),
                Model::Llm(_) | Model::Training(_) => {
                    Err((path, "reads a Triton server, and the model is not service; use a prometheus query".into()))
                }
            };
        }
        if let Some(server) = source.vllm.as_ref().or(source.sglang.as_ref()) {
            let reads = server.metric.unwrap_or(ServerMetric::RunningPlusWaiting).into();
            return match (&entry.model, reads) {
                (Model::Llm(_), Reads::Requests(requests)) => Ok(Self::Server(requests)),
                (Model::Llm(_), Reads::Time(Time::FirstToken)) => Ok(Self::Whole(Measured::Latency)),
                (Model::Llm(_), Reads::Time(Time::Whole)) => {
                    Err((path, "the model tells the time to the first token only; use metric TimeToFirstToken".into()))
                }
                (Model::Training(_) | Model::Service(_), _) => {
                    Err((path, "reads a model server, and the model is not llm; use a prometheus query".into()))
                }
            };
        }
        let Some(measured) = entry.signals.get(&signal.name) else {
            let problem = format!(
                "a query cannot be run here: say what it measures, as in signals: {{{}: Queue}} (or InSystem, ArrivalRate, \
                 Latency, GpuUtilisation)",
                signal.name
            );
            return Err((format!("signals.{}", signal.name), problem));
        };
        if matches!((measured, &entry.model), (Measured::Latency | Measured::InSystem, Model::Training(_))) {
            return Err((format!("signals.{}", signal.name), "training has samples, no requests: use Queue".into()));
        }
        Ok(match signal.kind.unwrap_or(SignalType::External) {
            SignalType::External => Self::Whole(*measured),
            SignalType::Pods => Self::PerPod(*measured),
        })
    }
}
