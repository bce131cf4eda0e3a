//! What reaches an API server that answers late, refuses or forgets.

use super::*;
use crate::catalog::{Catalog, Target, TargetKey};
use crate::config::Config;
use crate::intent::Settings;
use crate::observe::{Answers, Lookout, observe};
use crate::recall::Recall;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::{Arc, Mutex};
use wellfed_engine::facts::Facts;
use wellfed_engine::opinion::{Confidence, Finding, Lean, Opinion, Opinions, Weight};
use wellfed_engine::policy::Behavior;
use wellfed_engine::rules::RuleName;
use wellfed_engine::{decide, remember};

/// Answers that are lost after the write took place, by what is written.
#[derive(Default)]
struct Server {
    object: Value,
    patches: Vec<Vec<Value>>,
    events: Vec<Value>,
    statuses_lost: usize,
    statuses_refused: usize,
    events_lost: usize,
}

type Shared = Arc<Mutex<Server>>;

async fn serve(State(server): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Value = serde_json::from_slice(&axum::body::to_bytes(body, 1 << 20).await.unwrap()).unwrap();
    let mut server = server.lock().unwrap();
    let (status, answer) = if parts.uri.path().ends_with("/events") { server.event(body) } else { server.patch(&body) };
    (status, axum::Json(answer)).into_response()
}

/// Nothing that the client itself tries again.
const GONE: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;

fn failure(status: StatusCode) -> (StatusCode, Value) {
    (status, json!({ "kind": "Status", "status": "Failure", "message": "as told", "code": status.as_u16() }))
}

impl Server {
    fn patch(&mut self, body: &Value) -> (StatusCode, Value) {
        if self.statuses_refused > 0 {
            self.statuses_refused -= 1;
            return failure(GONE);
        }
        let operations = body.as_array().unwrap().clone();
        for operation in &operations {
            let path = operation["path"].as_str().unwrap();
            let (parent, key) = path.rsplit_once('/').unwrap();
            let Some(parent) = self.object.pointer_mut(parent) else {
                return failure(StatusCode::UNPROCESSABLE_ENTITY);
            };
            parent[key] = operation["value"].clone();
        }
        self.patches.push(operations);
        if self.statuses_lost > 0 {
            self.statuses_lost -= 1;
            return failure(GONE);
        }
        (StatusCode::OK, self.object.clone())
    }

    fn event(&mut self, body: Value) -> (StatusCode, Value) {
        if self.events.iter().any(|event| event["metadata"]["name"] == body["metadata"]["name"]) {
            return failure(StatusCode::CONFLICT);
        }
        self.events.push(body.clone());
        if self.events_lost > 0 {
            self.events_lost -= 1;
            return failure(GONE);
        }
        (StatusCode::CREATED, body)
    }
}

/// One workload of two replicas that wants four.
struct Stage {
    server: Shared,
    client: Client,
    recall: Recall,
    told: Told,
    minutes: i64,
}

fn minute(minutes: i64) -> Timestamp {
    Timestamp::constant(1_800_000_000, 0) + SignedDuration::from_mins(minutes)
}

async fn stage() -> Stage {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let object = json!({
        "apiVersion": "wellfed.dev/v1alpha1", "kind": "GpuWorkload",
        "metadata": { "name": "train", "namespace": "demo", "uid": "u", "generation": 1 },
        "spec": {
            "maxReplicas": 8, "replicas": 4, "class": "Training",
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "train" },
            "signals": [{ "name": "replicas", "source": { "scale": {} } }],
        },
    });
    let server: Shared = Arc::new(Mutex::new(Server { object, ..Server::default() }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(serve).with_state(Arc::clone(&server));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let client = Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
    Stage { server, client, recall: Recall::default(), told: Told::default(), minutes: 0 }
}

fn catalog() -> Catalog {
    let key: TargetKey = ("demo".into(), "Deployment".into(), "train".into());
    let mut catalog = Catalog::default();
    let target = Target { replicas: 2, gpus: 1, container: "main".into(), template: 7, ..Target::default() };
    catalog.targets.insert(key.clone(), target);
    let ready = json!([{ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    let pod = |name: &str| {
        json!({ "metadata": { "name": name, "uid": name }, "spec": { "nodeName": "n" },
            "status": { "phase": "Running", "conditions": ready } })
    };
    let pods = ["a", "b"].map(|name| Arc::new(serde_json::from_value(pod(name)).unwrap()));
    catalog.pods.insert(key, pods.to_vec());
    catalog
}

impl Stage {
    /// One cycle a minute after the last, with these findings of an evaluation that ends then.
    async fn cycle(&mut self, rules: Option<&[RuleName]>) {
        self.minutes += 1;
        let now = minute(self.minutes);
        let finding = |rule: &RuleName| Finding {
            rule: *rule,
            weight: Weight::Veto,
            confidence: Confidence::High,
            measured: Vec::new(),
            window: SignedDuration::from_mins(10),
        };
        let opinion = |rules: &[RuleName]| Opinion {
            at: now,
            lean: rules.first().map_or(Lean::Allow, |rule| Lean::Refuse(*rule)),
            findings: rules.iter().map(finding).collect(),
            facts: Facts::default(),
        };
        let opinions: Opinions = rules.map(|rules| ("u".to_owned(), Arc::new(opinion(rules)))).into_iter().collect();
        let catalog = catalog();
        let object = self.server.lock().unwrap().object.clone();
        let look = Lookout {
            workloads: vec![Arc::new(serde_json::from_value(object).unwrap())],
            catalog: &catalog,
            answers: &Answers::new(),
            opinions: &opinions,
            settings: &Settings { config: Config::default(), spacing: SignedDuration::from_secs(30) },
            stale_after: SignedDuration::from_secs(60),
            now,
        };
        let seen = observe(&look, &mut self.recall);
        let decided: Vec<Decided> = decide(&seen.world)
            .into_iter()
            .map(|one| self.kept(one, &seen.world.workloads[0].policy.behavior, now))
            .collect();
        let reporter = Reporter {
            client: &self.client,
            lease: &LeaseView::alone(),
            identity: "test",
            stopped: None,
            catalog: &catalog,
            now,
        };
        reporter.report(&seen.subjects, &decided, &[], &mut self.told).await;
    }

    fn kept(&mut self, decided: Decided, behavior: &Behavior, now: Timestamp) -> Decided {
        let decision = decided?;
        let memory = remember(&decision, false, behavior, now);
        self.recall.remember("u", memory.clone());
        Ok(Decision { memory, ..decision })
    }

    async fn cycles(&mut self, count: usize, rules: Option<&[RuleName]>) {
        for _ in 0..count {
            self.cycle(rules).await;
        }
    }

    /// The reasons of all events.
    fn told(&self) -> Vec<String> {
        let server = self.server.lock().unwrap();
        let reason = |event: &Value| event["reason"].as_str().unwrap().to_owned();
        server.events.iter().map(reason).collect()
    }

    fn server(&self) -> std::sync::MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    fn patches(&self) -> Vec<Vec<Value>> {
        self.server().patches.clone()
    }

    fn status(&self, path: &str) -> Value {
        self.server().object.pointer(&format!("/status/{path}")).cloned().unwrap_or_default()
    }
}

const STARVED: Option<&[RuleName]> = Some(&[RuleName::DataLoader]);
const FED: Option<&[RuleName]> = Some(&[]);

#[tokio::test]
async fn a_veto_is_told_once_and_its_end_too() {
    let mut stage = stage().await;
    stage.cycles(3, STARVED).await;
    assert_eq!(stage.told(), ["FindingOpened"]);

    stage.cycles(120, STARVED).await;
    assert_eq!(stage.told(), ["FindingOpened"]);

    stage.cycles(3, FED).await;
    assert_eq!(stage.told(), ["FindingOpened", "FindingClosed"]);
}

/// Kills: `vetoExpires` or `lastSeen` as worth a status of its own.
#[tokio::test]
async fn a_veto_under_steady_evidence_writes_its_memory_and_two_times_and_nothing_else() {
    let mut stage = stage().await;
    stage.cycles(3, STARVED).await;
    let (opened, first) = (stage.patches().len(), stage.status("findings/0/firstSeen"));

    stage.cycles(60, STARVED).await;

    let moved: Vec<Vec<String>> = stage.patches()[opened..]
        .iter()
        .map(|patch| patch.iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect())
        .collect();
    let paths = ["/status/memory", "/status/decision/vetoExpires", "/status/findings/0/lastSeen"];
    assert_eq!(moved, vec![paths.map(str::to_owned).to_vec(); 60]);
    assert_eq!(stage.status("findings/0/firstSeen"), first);
    assert_eq!(stage.status("findings/0/lastSeen"), json!(minute(63)));
    assert_eq!(stage.status("decision/vetoExpires"), json!(minute(63 + 30)));
}

#[tokio::test]
async fn while_nobody_looks_nothing_is_written() {
    let mut stage = stage().await;
    stage.cycles(3, STARVED).await;
    // Once it is known that it may shrink, and that what was seen says nothing about now any more.
    stage.cycles(12, None).await;
    let written = stage.patches().len();

    stage.cycles(10, None).await;

    assert_eq!(stage.patches().len(), written);
}

/// Kills: a `Last` that is rebuilt from the object, which shows the new status already.
#[tokio::test]
async fn a_transition_is_told_although_the_answer_to_its_status_was_lost() {
    let mut stage = stage().await;
    stage.cycles(2, STARVED).await;
    stage.server().statuses_lost = 1;
    stage.cycle(STARVED).await;
    assert_eq!((stage.status("findings/0/rule"), stage.told()), (json!("DataLoader"), vec![]));

    stage.cycles(3, STARVED).await;

    assert_eq!(stage.told(), ["FindingOpened"]);
}

/// Kills: a happening that is told twice, from the old status and from what was kept.
#[tokio::test]
async fn a_transition_whose_status_was_refused_is_told_once_the_status_stands() {
    let mut stage = stage().await;
    stage.cycles(2, STARVED).await;
    stage.server().statuses_refused = 2;
    stage.cycles(2, STARVED).await;
    assert_eq!((stage.status("findings/0/rule"), stage.told()), (Value::Null, vec![]));

    stage.cycles(3, STARVED).await;

    assert_eq!(
        (stage.status("findings/0/rule"), stage.told()),
        (json!("DataLoader"), vec!["FindingOpened".to_owned()])
    );
}

#[tokio::test]
async fn what_turned_twice_while_nothing_could_be_written_is_told_twice() {
    let mut stage = stage().await;
    stage.cycles(2, STARVED).await;
    stage.server().statuses_refused = 4;
    stage.cycle(STARVED).await;
    stage.cycles(3, FED).await;
    stage.cycle(FED).await;

    assert_eq!(stage.told(), ["FindingOpened", "FindingClosed"]);
    assert_eq!(stage.status("findings"), Value::Null);
}

/// Kills: a name by the time of the attempt.
#[tokio::test]
async fn an_event_whose_answer_was_lost_is_not_written_twice() {
    let mut stage = stage().await;
    stage.cycles(2, STARVED).await;
    stage.server().events_lost = 1;
    stage.cycles(4, STARVED).await;

    assert_eq!(stage.told(), ["FindingOpened"]);
}
