//! Requests in a model server: one question for all servers of a kind, rows joined with live pods.
//!
//! To add a server: one more [`Server`], and a field in the API's `SignalSource`.

use super::latency::{Time, Times};
use super::{Ask, Parts, Seen, SignalSource, promql};
use crate::evidence::{SCRAPED_BY, TRITON_REQUESTS, TRITON_WHOLE};
use wellfed_crds::ServerMetric;
use wellfed_engine::reading::Reading;
use wellfed_engine::units::PodName;
use wellfed_engine::world::SignalValue;

/// The names under which a kind of server exposes its requests, over its versions. Collectors that rewrite metric names
/// turn a colon into an underscore.
pub struct Server {
    /// Requests in service; none where the server does not say.
    running: &'static [&'static str],
    /// Requests queued.
    waiting: &'static [&'static str],
    /// How long they take.
    pub(super) times: Times,
}

/// What is counted of requests in service and queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// Both.
    RunningPlusWaiting,
    /// Queued.
    Waiting,
    /// In service.
    Running,
}

/// What is read of a model server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// How many requests it has.
    Requests(Requests),
    /// How long they take.
    Time(Time),
}

impl From<ServerMetric> for Reads {
    fn from(metric: ServerMetric) -> Self {
        match metric {
            ServerMetric::RunningPlusWaiting => Self::Requests(Requests::RunningPlusWaiting),
            ServerMetric::Waiting => Self::Requests(Requests::Waiting),
            ServerMetric::Running => Self::Requests(Requests::Running),
            ServerMetric::TimeToFirstToken => Self::Time(Time::FirstToken),
            ServerMetric::EndToEndLatency => Self::Time(Time::Whole),
        }
    }
}

/// vLLM.
pub const VLLM: Server = Server {
    running: &["vllm:num_requests_running", "vllm_num_requests_running"],
    waiting: &["vllm:num_requests_waiting", "vllm_num_requests_waiting"],
    times: Times::Histograms {
        first_token: &["vllm:time_to_first_token_seconds", "vllm_time_to_first_token_seconds"],
        whole: &["vllm:e2e_request_latency_seconds", "vllm_e2e_request_latency_seconds"],
    },
};

/// `SGLang`, started with `--enable-metrics`.
pub const SGLANG: Server = Server {
    running: &["sglang:num_running_reqs", "sglang_num_running_reqs"],
    waiting: &["sglang:num_queue_reqs", "sglang_num_queue_reqs"],
    times: Times::Histograms {
        first_token: &["sglang:time_to_first_token_seconds", "sglang_time_to_first_token_seconds"],
        whole: &["sglang:e2e_request_latency_seconds", "sglang_e2e_request_latency_seconds"],
    },
};

/// Triton, which counts what waits and not what runs.
pub const TRITON: Server = Server {
    running: &[],
    waiting: &["nv_inference_pending_request_count"],
    times: Times::Counters { microseconds: TRITON_WHOLE, requests: TRITON_REQUESTS },
};

impl Server {
    /// All numbers in one question, told apart by a label of our own. Each name is a selector of its own, so that each has
    /// an age. What two jobs, or two Prometheus, scrape of one server counts once.
    fn query(&self) -> String {
        let part = |names: &[&str], part: &str| {
            let sum = format!("sum by (namespace, pod) (max without ({SCRAPED_BY}) ({}))", names.join(" or "));
            format!(r#"label_replace({sum}, "part", "{part}", "", "")"#)
        };
        let parts = [(self.running, "running"), (self.waiting, "waiting")];
        let all: Vec<_> =
            parts.iter().filter(|(names, _)| !names.is_empty()).map(|(names, name)| part(names, name)).collect();
        all.join(" or ")
    }
}

/// Running, waiting or both.
pub struct ServerSignal {
    ask: Ask,
    requests: Requests,
}

impl ServerSignal {
    /// The preset on that Prometheus, with the administrator's matchers. Fails only if those can't be added.
    pub fn new(
        server: &Server,
        endpoint: &str,
        requests: Requests,
        confine: impl Fn(&promql::Query) -> Result<promql::Query, promql::QueryError>,
    ) -> Result<Self, promql::QueryError> {
        let query = confine(&promql::parse(&server.query())?)?;
        Ok(Self { ask: Ask::new(endpoint, &query, vec!["namespace".into(), "pod".into()]), requests })
    }

    const fn parts(&self) -> &'static [&'static str] {
        match self.requests {
            Requests::RunningPlusWaiting => &["running", "waiting"],
            Requests::Waiting => &["waiting"],
            Requests::Running => &["running"],
        }
    }

    /// The sum of the parts, as old as the oldest; a part that is missing makes the sum missing, not smaller.
    fn of_pod(&self, said: &Parts<'_>, seen: &Seen<'_>) -> Reading<f64> {
        let mut sum = 0.0;
        let mut oldest = seen.now;
        for part in self.parts() {
            let row = match said.only(part) {
                Ok(row) => row,
                Err(reading) => return reading,
            };
            let reading = Reading::of(row.value, row.at, seen.now, seen.stale_after);
            let Some(value) = reading.known() else { return reading };
            sum += value;
            oldest = oldest.min(row.at);
        }
        Reading::Known { value: sum, at: oldest }
    }
}

impl SignalSource for ServerSignal {
    fn ask(&self) -> Option<&Ask> {
        Some(&self.ask)
    }

    fn read(&self, seen: &Seen<'_>) -> SignalValue {
        let latest = match seen.rows() {
            Ok(latest) => latest,
            Err(failure) => return SignalValue::PodsUnread(Reading::Failed(failure)),
        };
        let of = |pod: &&str| (PodName::from(*pod), self.of_pod(&seen.parts(latest, pod), seen));
        SignalValue::Pods(seen.pods.iter().map(of).collect())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::signals::Latest;
    use crate::signals::client::Row;
    use jiff::{SignedDuration, Timestamp};

    pub const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    pub fn row(pod: &str, part: &str, value: f64) -> Row {
        let labels = [("namespace", "demo"), ("pod", pod), ("part", part)];
        Row {
            labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            value,
            at: NOW,
        }
    }

    fn read(server: &Server, metric: Requests, rows: Vec<Row>) -> Vec<Option<f64>> {
        let signal = ServerSignal::new(server, "default", metric, |query| Ok(query.clone())).unwrap();
        let latest = Latest::answered(&signal.ask, rows, None, NOW);
        let seen = Seen {
            latest: Some(&latest),
            namespace: "demo",
            pods: &["a", "b"],
            ready: 2,
            replicas: 1,
            now: NOW,
            stale_after: SignedDuration::from_mins(2),
            signed: false,
        };
        match signal.read(&seen) {
            SignalValue::Pods(pods) => pods.values().map(Reading::known).collect(),
            SignalValue::External(_) | SignalValue::PodsUnread(_) => Vec::new(),
        }
    }

    #[test]
    fn running_and_waiting_are_added_up_by_live_pod() {
        let rows = || {
            vec![
                row("a", "running", 8.0),
                row("a", "waiting", 5.0),
                row("b", "running", 2.0),
                row("dead", "running", 99.0),
            ]
        };

        for server in [VLLM, SGLANG] {
            assert_eq!(read(&server, Requests::RunningPlusWaiting, rows()), [Some(13.0), None]);
            assert_eq!(read(&server, Requests::Running, rows()), [Some(8.0), Some(2.0)]);
        }
    }

    #[test]
    fn triton_is_asked_for_what_waits_only() {
        assert_eq!(
            TRITON.query(),
            "label_replace(sum by (namespace, pod) (max without (job, service, endpoint, container, metrics_path, prometheus, \
             prometheus_replica, replica) (nv_inference_pending_request_count)), \"part\", \"waiting\", \"\", \"\")"
        );
        assert_eq!(read(&TRITON, Requests::Waiting, vec![row("a", "waiting", 5.0)]), [Some(5.0), None]);
    }
}
