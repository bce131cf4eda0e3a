//! How long requests take in model servers: one question for all servers of a kind, one number for a workload.

use super::server::Server;
use super::{Ask, Parts, Seen, SignalSource, promql};
use crate::evidence::SCRAPED_BY;
use jiff::Timestamp;
use wellfed_engine::reading::Reading;
use wellfed_engine::world::SignalValue;

/// Which time of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Until the first token of its answer.
    FirstToken,
    /// Until the end of its answer.
    Whole,
}

/// The names under which a kind of server tells how long requests take, over its versions.
pub enum Times {
    /// Histograms in seconds, without `_bucket` and `_count`.
    Histograms {
        /// Until the first token.
        first_token: &'static [&'static str],
        /// Until the end.
        whole: &'static [&'static str],
    },
    /// Counters, which tell a mean of the whole.
    Counters {
        /// Microseconds that requests took.
        microseconds: &'static str,
        /// Requests.
        requests: &'static str,
    },
}

/// The time over which requests are looked at: as long as an objective must be exceeded by default, and at least two samples
/// where one is taken a minute.
const OVER: &str = "2m";

impl Times {
    /// Two rows a pod, told apart by a label of our own: `seconds`, and the `requests` a second that they are of. What two jobs,
    /// or two Prometheus, scrape of one server counts once.
    fn query(&self, time: Time, quantile: f64) -> String {
        let (seconds, requests) = match (self, time) {
            (Self::Histograms { first_token: names, .. }, Time::FirstToken)
            | (Self::Histograms { whole: names, .. }, Time::Whole) => {
                let buckets = rates(", le", names.iter().map(|name| format!("{name}_bucket")));
                let counts = rates("", names.iter().map(|name| format!("{name}_count")));
                (format!("histogram_quantile({quantile}, {buckets})"), counts)
            }
            (Self::Counters { microseconds, requests }, Time::FirstToken | Time::Whole) => {
                let [time, count] = [microseconds, requests].map(|name| rates("", [(*name).to_owned()]));
                (format!("{time} / {count} / 1e6"), count)
            }
        };
        [(seconds, "seconds"), (requests, "requests")]
            .map(|(query, part)| format!(r#"label_replace({query}, "part", "{part}", "", "")"#))
            .join(" or ")
    }
}

fn rates(by: &str, names: impl IntoIterator<Item = String>) -> String {
    let each: Vec<_> = names.into_iter().map(|name| format!("rate({name}[{OVER}])")).collect();
    format!("sum by (namespace, pod{by}) (max without ({SCRAPED_BY}) ({}))", each.join(" or "))
}

/// One time of a workload's requests.
pub struct LatencySignal {
    ask: Ask,
}

impl LatencySignal {
    /// The preset on that Prometheus, with the administrator's matchers. Fails only if those can't be added.
    pub fn new(
        server: &Server,
        endpoint: &str,
        (time, quantile): (Time, f64),
        confine: impl Fn(&promql::Query) -> Result<promql::Query, promql::QueryError>,
    ) -> Result<Self, promql::QueryError> {
        let query = confine(&promql::parse(&server.times.query(time, quantile))?)?;
        Ok(Self { ask: Ask::new(endpoint, &query, vec!["namespace".into(), "pod".into()]) })
    }
}

/// What one pod's requests took.
struct Took {
    seconds: f64,
    requests: f64,
    at: Timestamp,
}

impl Took {
    /// None where a part is missing or stale. Without requests there is no time, and nobody waited.
    fn of(said: &Parts<'_>, seen: &Seen<'_>) -> Option<Self> {
        let part = |part: &str| {
            let row = said.only(part).ok()?;
            Some((Reading::of(row.value, row.at, seen.now, seen.stale_after).known()?, row.at))
        };
        let (requests, at) = part("requests")?;
        if requests <= 0.0 {
            return Some(Self { seconds: 0.0, requests: 0.0, at });
        }
        let (seconds, measured) = part("seconds")?;
        Some(Self { seconds, requests, at: at.min(measured) })
    }
}

/// The mean over all requests, as old as the oldest part. A Ready pod that says nothing counts as if its requests took no time,
/// so that a lost sample never makes demand; where most say nothing there is no number.
fn mean(took: &[Took], ready: usize, now: Timestamp) -> Reading<f64> {
    if took.is_empty() || took.len() * 2 < ready {
        return Reading::Missing;
    }
    let requests: f64 = took.iter().map(|one| one.requests).sum();
    let waited: f64 = took.iter().map(|one| one.seconds * one.requests).sum();
    let told = took.len() as f64 / took.len().max(ready) as f64;
    let value = if requests > 0.0 { waited / requests * told } else { 0.0 };
    Reading::Known { value, at: took.iter().map(|one| one.at).min().unwrap_or(now) }
}

impl SignalSource for LatencySignal {
    fn ask(&self) -> Option<&Ask> {
        Some(&self.ask)
    }

    fn read(&self, seen: &Seen<'_>) -> SignalValue {
        let latest = match seen.rows() {
            Ok(latest) => latest,
            Err(failure) => return SignalValue::External(Reading::Failed(failure)),
        };
        let took: Vec<_> = seen.pods.iter().filter_map(|pod| Took::of(&seen.parts(latest, pod), seen)).collect();
        SignalValue::External(mean(&took, seen.ready, seen.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::client::Row;
    use crate::signals::server::tests::{NOW, row};
    use crate::signals::{Latest, SGLANG, TRITON, VLLM};
    use jiff::SignedDuration;

    /// Rows of pods that say (seconds, requests a second).
    fn saying(pods: &[(&str, f64, f64)]) -> Vec<Row> {
        let rows = |(pod, seconds, requests): &(&str, f64, f64)| {
            [row(pod, "seconds", *seconds), row(pod, "requests", *requests)]
        };
        pods.iter().flat_map(rows).collect()
    }

    /// Of a workload with these Ready pods.
    fn read(rows: Vec<Row>, pods: &[&str]) -> Reading<f64> {
        let signal = LatencySignal::new(&VLLM, "default", (Time::Whole, 0.95), |query| Ok(query.clone())).unwrap();
        let latest = Latest::answered(&signal.ask, rows, None, NOW);
        let seen = Seen {
            latest: Some(&latest),
            namespace: "demo",
            pods,
            ready: pods.len(),
            replicas: 1,
            now: NOW,
            stale_after: SignedDuration::from_mins(2),
            signed: false,
        };
        match signal.read(&seen) {
            SignalValue::External(reading) => reading,
            SignalValue::Pods(_) | SignalValue::PodsUnread(_) => panic!("one number"),
        }
    }

    #[test]
    fn each_pods_quantile_counts_by_its_requests() {
        let rows = saying(&[("a", 0.2, 9.0), ("b", 1.2, 1.0), ("another's", 99.0, 99.0)]);

        let Reading::Known { value, at } = read(rows, &["a", "b"]) else { panic!("known") };

        assert!((value - 0.3).abs() < 1e-12, "{value}");
        assert_eq!(at, NOW);
    }

    /// A quantile of nothing is no number.
    #[test]
    fn a_pod_without_requests_keeps_nobody_waiting() {
        assert_eq!(read(saying(&[("a", f64::NAN, 0.0), ("b", 0.5, 2.0)]), &["a", "b"]).known(), Some(0.5));
        assert_eq!(read(saying(&[("a", f64::NAN, 0.0)]), &["a"]).known(), Some(0.0));
    }

    /// Kills: a mean over the pods that still say something.
    #[test]
    fn a_pod_that_is_lost_makes_no_latency_and_most_of_them_lost_leave_none() {
        let pods = ["a", "b", "c", "d"];
        let value = |rows| read(rows, &pods).known();

        assert_eq!(value(saying(&[("a", 0.1, 1.0), ("b", 0.9, 1.0), ("c", 0.9, 1.0), ("d", 0.9, 1.0)])), Some(0.7));
        assert_eq!(value(saying(&[("b", 0.8, 1.0), ("c", 0.8, 1.0), ("d", 0.8, 1.0)])), Some(0.600_000_000_000_000_1));
        assert_eq!(value(saying(&[("b", 0.8, 1.0)])), None);
        assert_eq!(value(vec![row("a", "requests", 3.0)]), None, "how long is missing");
        assert_eq!(read(saying(&[]), &[]), Reading::Missing);
    }

    #[test]
    fn vllm_and_sglang_are_asked_for_a_quantile_and_triton_for_a_mean() {
        let query = |server: &Server, time, quantile| server.times.query(time, quantile);
        let by_scraper = "job, service, endpoint, container, metrics_path, prometheus, prometheus_replica, replica";

        let first = query(&VLLM, Time::FirstToken, 0.99);
        assert!(first.starts_with(&format!(
            "label_replace(histogram_quantile(0.99, sum by (namespace, pod, le) (max without ({by_scraper}) \
             (rate(vllm:time_to_first_token_seconds_bucket[2m]) or rate(vllm_time_to_first_token_seconds_bucket[2m])))), \
             \"part\", \"seconds\", \"\", \"\") or "
        )), "{first}");
        let whole = query(&SGLANG, Time::Whole, 0.5);
        assert!(whole.contains("(rate(sglang:e2e_request_latency_seconds_count[2m]) or "), "{whole}");
        let mean = query(&TRITON, Time::Whole, 0.95);
        assert!(mean.contains("(rate(nv_inference_request_duration_us[2m]))) / sum by (namespace, pod) "), "{mean}");
        assert!(mean.contains(" / 1e6, \"part\", \"seconds\""), "{mean}");
        for text in [first, whole, mean] {
            promql::parse(&text).unwrap();
        }
    }
}
