//! What Prometheus says: answers to queries, and its own counters (how much it was asked).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Prometheus, PrometheusError};

/// One row of an instant query.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Its labels, `__name__` among them.
    pub labels: BTreeMap<String, String>,
    /// Its value.
    pub value: f64,
}

#[derive(Deserialize)]
struct Answer {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    metric: BTreeMap<String, String>,
    value: (f64, String),
}

impl Prometheus {
    /// An instant query that gives a vector.
    pub async fn query(&self, promql: &str) -> Result<Vec<Sample>, PrometheusError> {
        let url = format!("{}/api/v1/query", self.url());
        let body = self
            .send(
                &url,
                self.http
                    .post(&url)
                    .body(format!("query={}", percent_encoded(promql)))
                    .header("content-type", "application/x-www-form-urlencoded"),
            )
            .await?;
        let answer: Answer = parsed(&url, &body)?;
        let sample = |row: Row| {
            let value = row.value.1.parse().map_err(|_| broken(&url, format!("not a number: {}", row.value.1)))?;
            Ok(Sample { labels: row.metric, value })
        };
        answer.data.result.into_iter().map(sample).collect()
    }

    /// The sum of its own counter `name` over all series that have `labels`, such as
    /// `counter("prometheus_http_requests_total", &[("handler", "/api/v1/query")])`; 0 if there is none yet.
    pub async fn counter(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64, PrometheusError> {
        let url = format!("{}/metrics", self.url());
        let body = self.send(&url, self.http.get(&url)).await?;
        Ok(sum(&body, name, labels))
    }

    async fn send(&self, url: &str, request: reqwest::RequestBuilder) -> Result<String, PrometheusError> {
        let answer = request.send().await.map_err(|error| broken(url, error.to_string()))?;
        let status = answer.status();
        let body = answer.text().await.map_err(|error| broken(url, error.to_string()))?;
        if status.is_success() { Ok(body) } else { Err(broken(url, format!("{status} {body}"))) }
    }
}

fn broken(url: &str, problem: String) -> PrometheusError {
    PrometheusError::Answer { url: url.to_owned(), problem }
}

fn parsed<T: DeserializeOwned>(url: &str, body: &str) -> Result<T, PrometheusError> {
    serde_json::from_str(body).map_err(|error| broken(url, error.to_string()))
}

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Prometheus's own label values hold no quotes or commas that would need a real parser.
fn sum(exposition: &str, name: &str, labels: &[(&str, &str)]) -> f64 {
    let of_name =
        exposition.lines().filter_map(|line| line.strip_prefix(name)).filter(|rest| rest.starts_with(['{', ' ']));
    of_name
        .filter(|rest| labels.iter().all(|(key, value)| rest.contains(&format!("{key}=\"{value}\""))))
        .filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // whole numbers
mod tests {
    use super::*;

    const EXPOSITION: &str = "\
# TYPE prometheus_http_requests_total counter
prometheus_http_requests_total{code=\"200\",handler=\"/api/v1/query\"} 12
prometheus_http_requests_total{code=\"400\",handler=\"/api/v1/query\"} 3
prometheus_http_requests_total{code=\"200\",handler=\"/metrics\"} 7
prometheus_http_requests_total_more 100
prometheus_engine_queries 4
";

    #[test]
    fn a_counter_is_summed_over_the_series_that_have_the_labels() {
        assert_eq!(sum(EXPOSITION, "prometheus_http_requests_total", &[("handler", "/api/v1/query")]), 15.0);
        assert_eq!(sum(EXPOSITION, "prometheus_engine_queries", &[]), 4.0);
    }

    #[test]
    fn a_counter_that_is_not_there_is_zero() {
        assert_eq!(sum(EXPOSITION, "prometheus_http_requests_total", &[("handler", "/graph")]), 0.0);
    }
}
