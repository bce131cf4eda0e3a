//! Requests in a vLLM server: one question for all of them.

use super::{Ask, DatedRow, Seen, SignalSource, promql};
use wellfed_crds::VllmMetric;
use wellfed_engine::reading::{ReadFailure, Reading};
use wellfed_engine::units::PodName;
use wellfed_engine::world::SignalValue;

/// Both numbers in one question, told apart by a label of our own. Collectors that rewrite metric names turn the colon
/// into an underscore. Each name is a selector of its own, so that each has an age.
const QUERY: &str = r#"label_replace(sum by (namespace, pod) (vllm:num_requests_running or vllm_num_requests_running), "part", "running", "", "") or label_replace(sum by (namespace, pod) (vllm:num_requests_waiting or vllm_num_requests_waiting), "part", "waiting", "", "")"#;

/// Running, waiting or both.
pub struct VllmSignal {
    ask: Ask,
    metric: VllmMetric,
}

impl VllmSignal {
    /// The preset on that Prometheus, with the administrator's matchers. Fails only if those can't be added.
    pub fn new(
        endpoint: &str,
        metric: VllmMetric,
        confine: impl Fn(&promql::Query) -> Result<promql::Query, promql::QueryError>,
    ) -> Result<Self, promql::QueryError> {
        let query = confine(&promql::parse(QUERY)?)?;
        Ok(Self { ask: Ask::new(endpoint, &query, vec!["namespace".into(), "pod".into()]), metric })
    }

    const fn parts(&self) -> &'static [&'static str] {
        match self.metric {
            VllmMetric::RunningPlusWaiting => &["running", "waiting"],
            VllmMetric::Waiting => &["waiting"],
            VllmMetric::Running => &["running"],
        }
    }

    /// The sum of the parts, as old as the oldest; a part that is missing makes the sum missing, not smaller.
    fn of_pod(&self, rows: &[&DatedRow], seen: &Seen<'_>) -> Reading<f64> {
        let mut sum = 0.0;
        let mut oldest = seen.now;
        for part in self.parts() {
            let mut found = rows.iter().filter(|row| row.labels.get("part").is_some_and(|name| name == part));
            match (found.next(), found.next()) {
                (None, _) => return Reading::Missing,
                (Some(_), Some(_)) => return Reading::Failed(ReadFailure::TooManyRows),
                (Some(row), None) => {
                    let reading = Reading::of(row.value, row.at, seen.now, seen.stale_after);
                    let Some(value) = reading.known() else { return reading };
                    sum += value;
                    oldest = oldest.min(row.at);
                }
            }
        }
        Reading::Known { value: sum, at: oldest }
    }
}

impl SignalSource for VllmSignal {
    fn ask(&self) -> Option<&Ask> {
        Some(&self.ask)
    }

    fn read(&self, seen: &Seen<'_>) -> SignalValue {
        let latest = match seen.rows() {
            Ok(latest) => latest,
            Err(failure) => return SignalValue::PodsUnread(Reading::Failed(failure)),
        };
        let of = |pod: &&str| {
            let own = |row: &&DatedRow| row.labels.get("namespace").is_some_and(|name| name == seen.namespace);
            let rows: Vec<_> = latest.with("pod", pod).filter(own).collect();
            (PodName::from(*pod), self.of_pod(&rows, seen))
        };
        SignalValue::Pods(seen.pods.iter().map(of).collect())
    }
}
