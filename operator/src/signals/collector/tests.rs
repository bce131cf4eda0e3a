use super::super::client::EndpointConfig;
use super::super::{PrometheusSignal, Seen, SignalSource, promql};
use super::*;
use axum::extract::{Form, State};
use axum::http::header::DATE;
use axum::response::IntoResponse;
use axum::{Router, routing::post};
use jiff::SignedDuration;
use jiff::fmt::rfc2822::DateTimePrinter;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Mutex;
use tokio::net::TcpListener;
use wellfed_crds::SignalType;
use wellfed_engine::reading::Reading;
use wellfed_engine::world::SignalValue;

/// A Prometheus whose queue is empty, by a sample taken `age` seconds before the time that it is asked for; its clock is
/// `ahead` of ours.
#[derive(Clone)]
struct Prometheus {
    age: f64,
    ahead: SignedDuration,
    /// The times that it was asked for, in seconds.
    asked: Arc<Mutex<Vec<f64>>>,
}

impl Prometheus {
    fn of(age: f64, ahead: i64) -> Self {
        Self { age, ahead: SignedDuration::from_secs(ahead), asked: Arc::default() }
    }

    /// What the signal `sum(depth)` is by its answers.
    async fn read(&self) -> Reading<f64> {
        // The operator's main does this once; here each test may be the first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/api/v1/query", post(answer)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let endpoint = Endpoint::new(EndpointConfig::new("default", url)).unwrap();
        let ask = Ask::new("default", &promql::parse("sum(depth)").unwrap(), Vec::new());
        let collector = Collector {
            endpoints: Arc::new(Endpoints::from([("default".to_owned(), endpoint)])),
            asks: watch::channel(Arc::default()).1,
            board: Board::default(),
            interval: Duration::from_secs(15),
            deadline: Duration::from_secs(20),
        };
        collector.read(ask.clone()).await;
        let latest = collector.board.latest(&ask).unwrap();
        let seen = Seen {
            latest: Some(&latest),
            namespace: "demo",
            pods: &[],
            ready: 0,
            replicas: 1,
            now: Timestamp::now(),
            stale_after: SignedDuration::from_mins(2),
            signed: false,
        };
        let signal = PrometheusSignal { ask, kind: SignalType::External, rows: BTreeMap::new() };
        let SignalValue::External(reading) = signal.read(&seen) else { panic!("one number") };
        reading
    }
}

async fn answer(State(says): State<Prometheus>, Form(form): Form<BTreeMap<String, String>>) -> impl IntoResponse {
    let time: f64 = form["time"].parse().unwrap();
    says.asked.lock().unwrap().push(time);
    let (labels, value) = if form["query"].contains("timestamp(") {
        (json!({ super::super::ask::SELECTOR: "0" }), time - says.age)
    } else {
        (json!({}), 0.0)
    };
    let row = json!({ "metric": labels, "value": [time, value.to_string()] });
    let body = json!({ "status": "success", "data": { "resultType": "vector", "result": [row] } });
    let now = Timestamp::now() + says.ahead;
    ([(DATE, DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap())], body.to_string())
}

/// M15: what was measured ten minutes before the present, or two minutes after it, is not the present.
#[tokio::test]
async fn questions_are_asked_at_our_now_and_ages_are_judged_by_it() {
    let prometheus = Prometheus::of(600.0, 0);
    let before = Timestamp::now().as_millisecond() as f64 / 1000.0;
    let old = prometheus.read().await;
    let after = Timestamp::now().as_millisecond() as f64 / 1000.0;

    assert!(matches!(old, Reading::Stale { .. }), "{old:?}");
    let asked = prometheus.asked.lock().unwrap().clone();
    assert!(asked.len() == 2 && asked.iter().all(|time| (before..=after).contains(time)), "{asked:?}");
    assert!(matches!(Prometheus::of(-150.0, 0).read().await, Reading::Stale { .. }));
    assert!(matches!(Prometheus::of(1.0, 0).read().await, Reading::Known { .. }));
}

/// M15: whose clock is ten minutes behind asks for what was ten minutes ago, and finds it a second old.
#[tokio::test]
async fn a_clock_that_is_behind_that_of_prometheus_makes_no_old_sample_young() {
    assert!(matches!(Prometheus::of(1.0, 600).read().await, Reading::Stale { .. }));
    assert!(matches!(Prometheus::of(1.0, 60).read().await, Reading::Known { .. }));
    assert!(matches!(Prometheus::of(1.0, -600).read().await, Reading::Known { .. }));
}
