//! The metrics of an application that a test plays: a page that a real Prometheus scrapes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::prometheus::{ScrapeJob, Targets};

/// How often it is scraped.
const EVERY: std::time::Duration = std::time::Duration::from_secs(1);

/// A page of metrics, served until it is dropped. Its series get the label `namespace` unless they bring their own.
#[derive(Debug)]
pub struct MetricSource {
    page: Arc<Mutex<Page>>,
    address: String,
    server: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Page {
    /// What stands behind each series: a value, and maybe a timestamp.
    series: BTreeMap<String, String>,
    down: bool,
}

impl MetricSource {
    /// An empty page of an application in `namespace`.
    pub async fn start(namespace: &str) -> std::io::Result<Self> {
        let page = Arc::new(Mutex::new(Page::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let targets = json!([{"targets": [address], "labels": {"namespace": namespace}}]).to_string();
        let targets = ([("content-type", "application/json")], targets);
        let shown = Arc::clone(&page);
        let router = Router::new()
            .route("/sd", get(async move || targets))
            .route("/metrics", get(async move || exposition(&shown.lock().unwrap_or_else(PoisonError::into_inner))));
        let server = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Self { page, address, server })
    }

    /// The job that scrapes it, once a second. A `pod` or `namespace` in a series wins over those of the target.
    pub fn job(&self) -> ScrapeJob {
        let targets = Targets::HttpSd(format!("http://{}/sd", self.address));
        ScrapeJob::new("application", targets, EVERY).honoring_labels(true)
    }

    /// Sets one series, as in an exposition: `queue_depth{queue="chat"} 640`, or with milliseconds since 1970 behind it.
    pub fn set(&self, line: &str) {
        let end = line.rfind('}').map_or_else(|| line.find(' ').unwrap_or(line.len()), |brace| brace + 1);
        let (series, value) = line.split_at(end);
        self.page().series.insert(series.to_owned(), value.trim().to_owned());
    }

    /// Takes one series off the page: `queue_depth{queue="chat"}`.
    pub fn remove(&self, series: &str) {
        self.page().series.remove(series);
    }

    /// From now on every scrape is answered with status 500 and the page, or with success again.
    pub fn down(&self, down: bool) {
        self.page().down = down;
    }

    fn page(&self) -> std::sync::MutexGuard<'_, Page> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MetricSource {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn exposition(page: &Page) -> Response {
    let status = if page.down { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
    let lines = page.series.iter().map(|(series, value)| format!("{series} {value}\n"));
    (status, [("content-type", "text/plain; version=0.0.4")], lines.collect::<String>()).into_response()
}
