//! Signals of a spec: parsed, confined to the tenant, and bound to a source.

use super::{MINUTE, Reader, WEEK, replicas};
use crate::config::PrometheusConfig;
use crate::refusal::{RefusalReason, did_you_mean};
use crate::signals::promql::{self, Query, QueryError};
use crate::signals::{
    Ask, LatencySignal, PrometheusSignal, Reads, Requests, SGLANG, ScaleSignal, Server, ServerSignal, SignalSource,
    TRITON, Time, VLLM,
};
use std::sync::Arc;
use wellfed_crds::{
    Better, PrometheusSource, ServerMetric, ServerSource, Signal, SignalRole, SignalSlo, SignalTarget, SignalType,
    TargetType,
};
use wellfed_engine::policy::{SignalPolicy, Slo, Target};
use wellfed_engine::units::SignalName;

/// The quantile of a time where none is set.
const QUANTILE: f64 = 0.95;

/// What a signal that asks for nothing says of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Work done a second.
    Throughput,
    /// How far a run is from done; less is better.
    Progress,
    /// How good the results are.
    Quality(Better),
}

/// What a signal measures by its role; none where it makes demand.
pub(super) fn measure(signal: &Signal) -> Option<Measure> {
    match signal.role {
        None | Some(SignalRole::Demand | SignalRole::Latency) => None,
        Some(SignalRole::Throughput) => Some(Measure::Throughput),
        Some(SignalRole::Progress) => Some(Measure::Progress),
        Some(SignalRole::Quality) => Some(Measure::Quality(signal.better.unwrap_or_default())),
    }
}

impl<'a> Reader<'a> {
    /// The source of a signal that asks for nothing.
    pub(super) fn measure(&mut self, at: usize, signal: &Signal) -> Option<Arc<dyn SignalSource>> {
        self.source(&format!("spec.signals[{at}]"), signal)
    }

    pub(super) fn signal(&mut self, at: usize, signal: &Signal) -> Option<(SignalPolicy, Arc<dyn SignalSource>)> {
        let path = format!("spec.signals[{at}]");
        let target = match (&signal.slo, &signal.target) {
            (Some(slo), _) => self.slo(&path, slo)?,
            (None, Some(target)) => self.target(&path, target)?,
            (None, None) => Target::Replicas,
        };
        let source = self.source(&path, signal)?;
        Some((SignalPolicy { name: SignalName::from(signal.name.as_str()), target }, source))
    }

    fn target(&mut self, path: &str, target: &SignalTarget) -> Option<Target> {
        let (name, quantity, make): (_, _, fn(f64) -> Target) = match target.kind {
            TargetType::AverageValue => ("averageValue", target.average_value.as_ref(), Target::AverageValue),
            TargetType::Value => ("value", target.value.as_ref(), Target::Value),
        };
        let path = format!("{path}.target.{name}");
        let known = self.refusals.len();
        let number = self.quantity(&path, quantity, 0.0);
        if number > 0.0 {
            return Some(make(number));
        }
        if self.refusals.len() == known {
            self.refuse(path, RefusalReason::BadValue, "must be above zero: what one replica should bear".to_owned());
        }
        None
    }

    fn slo(&mut self, path: &str, slo: &SignalSlo) -> Option<Target> {
        let path = format!("{path}.slo");
        let value = self.quantity(&format!("{path}.value"), Some(&slo.value), 0.0);
        let breach_for = self.duration(&format!("{path}.breachFor"), slo.breach_for.as_ref(), MINUTE * 2, WEEK);
        if value > 0.0 {
            return Some(Target::Slo(Slo { value, breach_for, step: replicas(slo.step) }));
        }
        self.refuse(format!("{path}.value"), RefusalReason::BadValue, "must be above zero".to_owned());
        None
    }

    fn source(&mut self, path: &str, signal: &Signal) -> Option<Arc<dyn SignalSource>> {
        let source = &signal.source;
        if let Some(prometheus) = &source.prometheus {
            return self.prometheus(path, signal.kind.unwrap_or(SignalType::External), prometheus);
        }
        let timed = signal.role == Some(SignalRole::Latency);
        let servers = [("vllm", &VLLM, &source.vllm), ("sglang", &SGLANG, &source.sglang)];
        for (name, server, source) in servers {
            if let Some(source) = source {
                return self.generating(&format!("{path}.source.{name}"), server, source, timed);
            }
        }
        if let Some(triton) = &source.triton {
            let reads = if timed { Reads::Time(Time::Whole) } else { Reads::Requests(Requests::Waiting) };
            return self.server(
                &format!("{path}.source.triton"),
                &TRITON,
                (reads, QUANTILE),
                triton.endpoint.as_deref(),
            );
        }
        if source.scale.is_some() {
            return Some(Arc::new(ScaleSignal));
        }
        let message = "set exactly one source: prometheus, vllm, sglang, triton or scale".to_owned();
        self.refuse(format!("{path}.source"), RefusalReason::Malformed, message);
        None
    }

    fn prometheus(&mut self, path: &str, kind: SignalType, source: &PrometheusSource) -> Option<Arc<dyn SignalSource>> {
        let path = format!("{path}.source.prometheus");
        let endpoint = self.endpoint(&path, source.endpoint.as_deref())?;
        let namespace = (!endpoint.allow_cluster_queries).then_some(self.namespace);
        match promql::parse(&source.query).and_then(|query| confine(&query, endpoint, namespace)) {
            Ok(query) => {
                let keys = PrometheusSignal::keys(kind, &source.rows);
                let ask = Ask::new(&endpoint.name, &query, keys);
                Some(Arc::new(PrometheusSignal { ask, kind, rows: source.rows.clone() }))
            }
            Err(error) => {
                let reason = match error {
                    QueryError::OtherNamespace { .. } => RefusalReason::OtherNamespace,
                    _ => RefusalReason::BadQuery,
                };
                self.refuse(format!("{path}.query"), reason, error.to_string());
                None
            }
        }
    }

    /// A server of language models.
    fn generating(
        &mut self,
        path: &str,
        server: &Server,
        source: &ServerSource,
        timed: bool,
    ) -> Option<Arc<dyn SignalSource>> {
        let reads = Reads::from(source.metric.unwrap_or(ServerMetric::RunningPlusWaiting));
        if matches!(reads, Reads::Time(_)) != timed {
            let message =
                "role Latency needs metric TimeToFirstToken or EndToEndLatency, and no other role takes these";
            self.refuse(format!("{path}.metric"), RefusalReason::Malformed, message.to_owned());
            return None;
        }
        let quantile = self.quantity(&format!("{path}.quantile"), source.quantile.as_ref(), QUANTILE);
        if quantile <= 0.0 || quantile >= 1.0 {
            let message = "must be above 0 and below 1".to_owned();
            self.refuse(format!("{path}.quantile"), RefusalReason::BadValue, message);
            return None;
        }
        self.server(path, server, (reads, quantile), source.endpoint.as_deref())
    }

    fn server(
        &mut self,
        path: &str,
        server: &Server,
        (reads, quantile): (Reads, f64),
        endpoint: Option<&str>,
    ) -> Option<Arc<dyn SignalSource>> {
        let endpoint = self.endpoint(path, endpoint)?;
        let confine = |query: &Query| confine(query, endpoint, None);
        let signal: Result<Arc<dyn SignalSource>, _> = match reads {
            Reads::Requests(requests) => {
                ServerSignal::new(server, &endpoint.name, requests, confine).map(|signal| Arc::new(signal) as _)
            }
            Reads::Time(time) => LatencySignal::new(server, &endpoint.name, (time, quantile), confine)
                .map(|signal| Arc::new(signal) as _),
        };
        signal.map_err(|error| self.refuse(path.to_owned(), RefusalReason::BadQuery, error.to_string())).ok()
    }

    fn endpoint(&mut self, path: &str, name: Option<&str>) -> Option<&'a PrometheusConfig> {
        let name = name.unwrap_or("default");
        let found = self.settings.config.named(name);
        if found.is_none() {
            let known = self.settings.config.prometheus.iter().map(|one| one.name.as_str());
            let hint = did_you_mean(name, known).map(|near| format!(" (did you mean {near:?}?)")).unwrap_or_default();
            let message =
                format!("no Prometheus {name:?} is configured{hint}; the operator's configuration names them");
            self.refuse(format!("{path}.endpoint"), RefusalReason::UnknownEndpoint, message);
        }
        found
    }
}

/// The query with the administrator's matchers, kept to `namespace` unless that is none.
fn confine(query: &Query, endpoint: &PrometheusConfig, namespace: Option<&str>) -> Result<Query, QueryError> {
    let kept = match namespace {
        Some(namespace) => promql::enforce(query, &endpoint.namespace_label, namespace)?,
        None => query.clone(),
    };
    promql::with_matchers(&kept, &endpoint.extra_matchers)
}
