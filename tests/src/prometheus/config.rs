//! prometheus.yml from what a test wants to say.

use std::time::Duration;

use serde_json::{Value, json};

/// What Prometheus scrapes.
#[derive(Debug, Clone, Default)]
pub struct PrometheusConfig {
    /// The jobs, each with its own cadence.
    pub jobs: Vec<ScrapeJob>,
}

/// One scrape job.
#[derive(Debug, Clone)]
pub struct ScrapeJob {
    /// The value of the label `job`.
    pub name: String,
    /// What is scraped.
    pub targets: Targets,
    /// How often; also the timeout.
    pub interval: Duration,
    /// Whether labels in the exposition win over those of the target (`pod` against `exported_pod`).
    pub honor_labels: bool,
    /// Whether timestamps in the exposition win over the time of the scrape.
    pub honor_timestamps: bool,
    /// The path, unless a target brings its own `__metrics_path__`.
    pub path: String,
}

/// Where the targets of a job come from.
#[derive(Debug, Clone)]
pub enum Targets {
    /// A URL that answers with target groups, asked once a second.
    HttpSd(String),
    /// Fixed `host:port`s.
    Static(Vec<String>),
}

/// How the GPU world is scraped.
#[derive(Debug, Clone)]
pub struct WorldJobs {
    /// The world's address, such as `http://127.0.0.1:4000`.
    pub url: String,
    /// The cadence of all jobs.
    pub interval: Duration,
    /// `honor_labels` of the dcgm-exporter job; both settings are common in the field, and they give different labels.
    pub dcgm_honor_labels: bool,
}

impl ScrapeJob {
    /// A job with Prometheus's own defaults.
    pub fn new(name: &str, targets: Targets, interval: Duration) -> Self {
        let path = "/metrics".to_owned();
        Self { name: name.to_owned(), targets, interval, honor_labels: false, honor_timestamps: true, path }
    }

    /// As `honor_labels: true`.
    #[must_use]
    pub fn honoring_labels(mut self, honor: bool) -> Self {
        self.honor_labels = honor;
        self
    }

    fn to_json(&self) -> Value {
        let interval = format!("{}ms", self.interval.as_millis());
        let mut job = json!({
            "job_name": self.name,
            "scrape_interval": interval,
            "scrape_timeout": interval,
            "honor_labels": self.honor_labels,
            "honor_timestamps": self.honor_timestamps,
            "metrics_path": self.path,
        });
        match &self.targets {
            Targets::HttpSd(url) => job["http_sd_configs"] = json!([{"url": url, "refresh_interval": "1s"}]),
            Targets::Static(addresses) => job["static_configs"] = json!([{"targets": addresses}]),
        }
        job
    }
}

impl WorldJobs {
    /// dcgm-exporter by node, cAdvisor by node, the pods' own metrics, `node_exporter` by node.
    pub fn jobs(&self) -> Vec<ScrapeJob> {
        let job = |name: &str, path: &str| {
            ScrapeJob::new(name, Targets::HttpSd(format!("{}/sd/{path}", self.url)), self.interval)
        };
        vec![
            job("dcgm-exporter", "dcgm").honoring_labels(self.dcgm_honor_labels),
            job("kubelet-cadvisor", "cadvisor").honoring_labels(true),
            job("pods", "pods"),
            job("node-exporter", "node"),
        ]
    }
}

impl PrometheusConfig {
    /// The file's text.
    pub(super) fn to_yaml(&self) -> Result<String, String> {
        let jobs: Vec<Value> = self.jobs.iter().map(ScrapeJob::to_json).collect();
        serde_saphyr::to_string(&json!({"scrape_configs": jobs})).map_err(|error| error.to_string())
    }
}
