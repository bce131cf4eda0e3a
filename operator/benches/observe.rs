//! How long one look takes: stores and answers → World, at 1,000 workloads and 8,000 pods.
//!
//! Exits 1 when the limit is broken, so that it can stand in a pipeline.

use criterion::Criterion;
use jiff::{SignedDuration, Timestamp};
use kube::core::DeserializeGuard;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wellfed::catalog::Catalog;
use wellfed::config::Config;
use wellfed::intent::Settings;
use wellfed::observe::{Answers, Lookout, Observed, observe};
use wellfed::recall::Recall;
use wellfed::signals::Latest;
use wellfed::signals::client::Row;
use wellfed::watch::{Many, Stores};
use wellfed_engine::opinion::Opinions;

const WORKLOADS: usize = 1_000;
const PODS_EACH: usize = 8;
/// One look, best of five.
const LIMIT: Duration = Duration::from_millis(20);
const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

/// As in the operator's binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut cluster = Cluster::of(if std::env::args().any(|argument| argument == "--bench") { WORKLOADS } else { 10 });
    let first = cluster.look();
    let whole = first.world.workloads.len() == cluster.size && first.asks.len() == 1;
    let known = first.world.workloads.iter().all(|workload| workload.pods().count() == PODS_EACH);
    if !(whole && known) {
        eprintln!("the look is not whole: {} workloads", first.world.workloads.len());
        return ExitCode::FAILURE;
    }
    if cluster.size < WORKLOADS {
        return ExitCode::SUCCESS;
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    criterion.bench_function("observe 1,000 workloads and 8,000 pods", |bencher| {
        bencher.iter_with_large_drop(|| cluster.look());
    });
    let best = (0..5).map(|_| cluster.timed()).min().unwrap_or(Duration::MAX);
    println!("observe: {best:.3?} of at most {LIMIT:?}");
    if best <= LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Cluster {
    size: usize,
    stores: Stores,
    settings: Settings,
    answers: Answers,
    recall: Recall,
}

impl Cluster {
    fn of(size: usize) -> Self {
        let config = json!({ "prometheus": [{ "name": "default", "url": "http://localhost:9090" }] });
        let settings = Settings { config: read::<Config>(config), evidence_interval: SignedDuration::from_mins(1) };
        let each = |make: fn(usize) -> Value| (0..size).map(make).collect::<Vec<_>>();
        let pods = (0..size).flat_map(|of| (0..PODS_EACH).map(move |number| pod(of, number)));
        let stores = Stores {
            workloads: many::<DeserializeGuard<_>>(each(workload)),
            pools: many(vec![]),
            deployments: many(each(deployment)),
            stateful_sets: many(vec![]),
            hpas: many(vec![]),
            pods: many(pods.collect()),
            nodes: many(each(node)),
            namespaces: many(vec![]),
            switch: many(vec![]),
        };
        let mut cluster = Self { size, stores, settings, answers: HashMap::new(), recall: Recall::default() };
        let asks = cluster.look().asks;
        for ask in asks {
            let rows: Vec<_> = (0..size).map(row).collect();
            let ages: Vec<_> = rows.iter().map(|row| Row { value: 1_800_000_000.0, ..row.clone() }).collect();
            let latest = Latest::answered(&ask, rows, Some(&ages), NOW);
            cluster.answers.insert(ask, Arc::new(latest));
        }
        cluster
    }

    fn look(&mut self) -> Observed {
        let catalog = Catalog::of(&self.stores);
        let look = Lookout {
            workloads: self.stores.workloads.all(),
            catalog: &catalog,
            answers: &self.answers,
            opinions: &Opinions::new(),
            settings: &self.settings,
            stale_after: SignedDuration::from_mins(2),
            now: NOW,
        };
        observe(&look, &mut self.recall)
    }

    fn timed(&mut self) -> Duration {
        let begin = Instant::now();
        let seen = black_box(self.look());
        let spent = begin.elapsed();
        drop(seen);
        spent
    }
}

fn many<K>(objects: Vec<Value>) -> Many<K>
where
    K: kube::runtime::reflector::Lookup<DynamicType = ()> + Clone + DeserializeOwned + 'static,
{
    Many::holding(objects.into_iter().map(read).collect())
}

#[allow(clippy::expect_used)] // a bench that can't build its input is broken
fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object of the bench")
}

fn meta(name: &str, namespaced: bool) -> Value {
    let mut meta = json!({ "name": name, "uid": format!("uid-{name}"), "resourceVersion": "1", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z" });
    if namespaced {
        meta["namespace"] = json!("bench");
    }
    meta
}

fn workload(number: usize) -> Value {
    json!({
        "apiVersion": "wellfed.dev/v1alpha1", "kind": "GpuWorkload", "metadata": meta(&format!("w{number}"), true),
        "spec": {
            "maxReplicas": 20, "mode": "Auto",
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": format!("w{number}") },
            "signals": [{ "name": "queue", "target": { "type": "AverageValue", "averageValue": "10" }, "source": {
                "prometheus": { "query": "sum by (queue) (queue_depth)", "match": { "queue": format!("w{number}") } } } }],
        },
    })
}

fn containers() -> Value {
    json!([{ "name": "main", "resources": { "limits": { "nvidia.com/gpu": "1", "cpu": "8" } } }])
}

fn deployment(number: usize) -> Value {
    json!({ "metadata": meta(&format!("w{number}"), true),
        "spec": { "replicas": PODS_EACH, "selector": { "matchLabels": { "app": format!("w{number}") } },
            "template": { "spec": { "containers": containers() } } } })
}

fn pod(of: usize, number: usize) -> Value {
    let mut meta = meta(&format!("w{of}-abc-{number}"), true);
    meta["labels"] = json!({ "app": format!("w{of}"), "pod-template-hash": "abc" });
    meta["ownerReferences"] = json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("w{of}-abc"),
        "uid": "r", "controller": true }]);
    json!({ "metadata": meta, "spec": { "nodeName": format!("n{of}"), "containers": containers() },
        "status": { "phase": "Running", "conditions": [
            { "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:01:00Z" }] } })
}

fn node(number: usize) -> Value {
    json!({ "metadata": meta(&format!("n{number}"), false), "status": { "allocatable": { "nvidia.com/gpu": "8" },
        "conditions": [{ "type": "Ready", "status": "True" }] } })
}

fn row(number: usize) -> Row {
    Row { labels: [("queue".to_owned(), format!("w{number}"))].into(), value: 80.0, at: NOW }
}
