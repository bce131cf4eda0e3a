//! One look at 80,000 GPUs, read from a server as the lane reads it: one question at a time.

use crate::counting::{live, peak};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::post;
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use wellfed::evidence::{History, Metric, Slice};
use wellfed::signals::client::{Endpoint, EndpointConfig, FetchError};

const GPUS: usize = 80_000;
const GPUS_A_POD: usize = 8;
/// Bytes allocated at once while a look is read, the server's own included.
const LIMIT: usize = 200_000_000;
const MINUTES_KEPT: i64 = 30;
const ROWS_A_CHUNK: usize = 200;
const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

/// Whether the limit holds. Not `whole`: only that it runs.
pub fn run(whole: bool) -> bool {
    let gpus = if whole { GPUS } else { 80 };
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() else {
        eprintln!("no runtime could be started");
        return false;
    };
    let outcome = runtime.block_on(async {
        let endpoint = serve(gpus).await?;
        let began = Instant::now();
        let (slice, most) = peak(look(&endpoint, NOW)).await;
        Ok::<_, anyhow::Error>((slice?, most, began.elapsed()))
    });
    match outcome {
        Ok((slice, most, took)) => shown(&slice, most, took, gpus),
        Err(error) => {
            eprintln!("the look can't be read: {error:#}");
            false
        }
    }
}

fn shown(slice: &Slice, most: usize, took: Duration, gpus: usize) -> bool {
    let whole = Metric::ALL.iter().all(|metric| slice.series(*metric) == gpus);
    let each = took / u32::try_from(Metric::ALL.len()).unwrap_or(1);
    let megabytes = |bytes: usize| bytes as f64 / 1.0e6;
    println!(
        "read {} metrics of {gpus} series: {took:.3?}, {each:.3?} each; at most {:.1} of {:.0} MB at once",
        Metric::ALL.len(),
        megabytes(most),
        megabytes(LIMIT)
    );
    let before = live();
    let mut history = History::every(SignedDuration::from_mins(1));
    for minute in 0..MINUTES_KEPT {
        let mut next = slice.clone();
        next.at = NOW + SignedDuration::from_mins(minute);
        history.push(next, SignedDuration::from_mins(MINUTES_KEPT));
    }
    println!("keep {MINUTES_KEPT} looks of them: {:.1} MB", megabytes(live() - before));
    whole && most <= LIMIT
}

/// Every metric, as the lane asks for it.
async fn look(endpoint: &Endpoint, at: Timestamp) -> Result<Slice, FetchError> {
    let mut slice = Slice::ending(at);
    for metric in Metric::ALL {
        let take = |labels: &_, value| slice.take_row(metric, labels, value);
        endpoint.rows(&metric.name(), Some(at), Duration::from_mins(1), take).await?;
    }
    Ok(slice)
}

/// A server that answers every question with all GPUs, made while it is sent.
async fn serve(gpus: usize) -> anyhow::Result<Endpoint> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let answer = async move || {
        let rows = (0..gpus).step_by(ROWS_A_CHUNK).map(move |from| chunk(from, gpus));
        let begin = r#"{"status":"success","data":{"resultType":"vector","result":["#.to_owned();
        let parts = std::iter::once(begin).chain(rows).chain(std::iter::once("]}}".to_owned()));
        Body::from_stream(futures::stream::iter(parts).map(|part| Ok::<_, Infallible>(Bytes::from(part))))
    };
    let router = Router::new().route("/api/v1/query", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(Endpoint::new(EndpointConfig::new("bench", url))?)
}

fn chunk(from: usize, gpus: usize) -> String {
    let mut text = String::with_capacity(ROWS_A_CHUNK * 400);
    for gpu in from..gpus.min(from + ROWS_A_CHUNK) {
        let (comma, pod) = (if gpu == 0 { "" } else { "," }, gpu / GPUS_A_POD);
        // Writing to a String never fails.
        let _ = write!(
            text,
            r#"{comma}{{"metric":{{"UUID":"GPU-{gpu:08x}-1111-2222-3333-444455556666","container":"main-{gpu}","exported_namespace":"team-{}","exported_pod":"train-{pod}-7c9f8d6b5-x{pod}-{gpu}","modelName":"NVIDIA H100 80GB HBM3","namespace":"gpu-operator","pod":"nvidia-dcgm-exporter-{}"}},"value":[1800000000.25,"0.{:04}"]}}"#,
            pod % 50,
            gpu / 8,
            5_000 + gpu % 4_000,
        );
    }
    text
}
