//! A real Prometheus: what it scrapes, and what it says about itself.

#![allow(clippy::float_cmp)] // counters and the values here are whole numbers

use std::time::Duration;

use anyhow::{Result, ensure};
use axum::Router;
use axum::routing::get;
use wellfed_tests::binaries::Binaries;
use wellfed_tests::prometheus::{PrometheusConfig, ScrapeJob, Targets, WorldJobs};
use wellfed_tests::{Prometheus, until};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn prometheus_scrapes_counts_its_queries_and_keeps_its_data_over_a_kill() -> Result<()> {
    let nothing = ScrapeJob::new("gone", Targets::Static(vec!["127.0.0.1:1".to_owned()]), SECOND);
    let prometheus = Prometheus::start(&Binaries::resolve().await?, &PrometheusConfig { jobs: vec![nothing] }).await?;
    let queries = async || prometheus.counter("prometheus_http_requests_total", &[("handler", "/api/v1/query")]).await;

    assert_eq!(until_scraped(&prometheus).await?, 0.0, "nobody listens on port 1");
    let before = queries().await?;
    prometheus.query("vector(1)").await?;
    prometheus.query("vector(1)").await?;
    assert_eq!(queries().await? - before, 2.0);

    let url = prometheus.url();
    prometheus.kill()?;
    assert!(prometheus.query("up").await.is_err(), "nobody answers after a kill");
    prometheus.start_again().await?;
    assert_eq!(prometheus.url(), url);
    assert_eq!(until_scraped(&prometheus).await?, 0.0);
    prometheus.stop().await?;
    Ok(())
}

#[tokio::test]
async fn targets_bring_their_own_path_and_honor_labels_decides_whose_pod_label_stays() -> Result<()> {
    let url = serve_world().await?;
    let honoring = WorldJobs { url: url.clone(), interval: SECOND, dcgm_honor_labels: true }.jobs().remove(0);
    let mut renaming = WorldJobs { url, interval: SECOND, dcgm_honor_labels: false }.jobs().remove(0);
    renaming.name = "renaming".to_owned();
    let config = PrometheusConfig { jobs: vec![honoring, renaming] };
    let prometheus = Prometheus::start(&Binaries::resolve().await?, &config).await?;

    let rows = until("two series of GPU activity", 30 * SECOND, async || {
        let rows = prometheus.query("DCGM_FI_DEV_GPU_UTIL").await?;
        ensure!(rows.len() == 2, "{rows:?}");
        Ok(rows)
    })
    .await?;

    let of = |job: &str, label: &str| {
        let row = rows.iter().find(|row| row.labels["job"] == job)?;
        row.labels.get(label).cloned()
    };
    assert_eq!(of("dcgm-exporter", "pod").as_deref(), Some("vision-train-0"));
    assert_eq!(of("dcgm-exporter", "exported_pod"), None);
    assert_eq!(of("renaming", "pod").as_deref(), Some("dcgm-exporter-abc"));
    assert_eq!(of("renaming", "exported_pod").as_deref(), Some("vision-train-0"));
    Ok(())
}

/// One node's dcgm-exporter, found by HTTP service discovery, on a path of its own.
async fn serve_world() -> Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let group = serde_json::json!([{
        "targets": [address],
        "labels": {"__metrics_path__": "/dcgm/node-1", "pod": "dcgm-exporter-abc"},
    }]);
    let sd = ([("content-type", "application/json")], group.to_string());
    let router = Router::new()
        .route("/sd/dcgm", get(async move || sd))
        .route("/dcgm/node-1", get(async || "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",pod=\"vision-train-0\"} 22\n"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}"))
}

async fn until_scraped(prometheus: &Prometheus) -> Result<f64> {
    let found = until("a sample of up{job=\"gone\"}", 30 * SECOND, async || {
        let samples = prometheus.query("up{job=\"gone\"}").await?;
        ensure!(samples.len() == 1, "{samples:?}");
        Ok(samples[0].value)
    });
    Ok(found.await?)
}
