use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use axum::{Router, extract::State, response::IntoResponse};
use serde_json::{Value, json};

use super::*;
use crate::lease::LeaseView;

/// An API server that knows one Lease and refuses a write over another version, as the real one does.
#[derive(Clone, Default)]
struct Server {
    lease: Arc<Mutex<Option<Value>>>,
    silent: Arc<AtomicBool>,
}

impl Server {
    fn client(&self) -> Client {
        Client::new(Router::new().fallback(answer).with_state(self.clone()), "ops")
    }

    fn spec(&self) -> Value {
        self.lease.lock().unwrap().as_ref().map(|lease| lease["spec"].clone()).unwrap_or_default()
    }

    fn overwrite(&self, holder: &str) {
        let mut stored = self.lease.lock().unwrap();
        let lease = stored.as_mut().unwrap();
        lease["spec"]["holderIdentity"] = json!(holder);
        lease["metadata"]["resourceVersion"] = json!(next_version(lease));
    }
}

fn next_version(lease: &Value) -> String {
    (lease["metadata"]["resourceVersion"].as_str().unwrap_or("0").parse::<u64>().unwrap() + 1).to_string()
}

fn refusal(code: StatusCode, reason: &str) -> axum::response::Response {
    let status =
        json!({"kind": "Status", "status": "Failure", "message": reason, "reason": reason, "code": code.as_u16()});
    (code, status.to_string()).into_response()
}

async fn answer(State(server): State<Server>, method: Method, body: Bytes) -> axum::response::Response {
    while server.silent.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut stored = server.lease.lock().unwrap();
    let mut sent: Value = serde_json::from_slice(&body).unwrap_or_default();
    let version = |lease: &Option<Value>| lease.as_ref().map(|l| l["metadata"]["resourceVersion"].clone());
    match method {
        Method::GET if stored.is_none() => return refusal(StatusCode::NOT_FOUND, "NotFound"),
        Method::GET => return stored.as_ref().unwrap().to_string().into_response(),
        Method::POST if stored.is_some() => return refusal(StatusCode::CONFLICT, "AlreadyExists"),
        Method::PUT if version(&stored) != Some(sent["metadata"]["resourceVersion"].clone()) => {
            return refusal(StatusCode::CONFLICT, "Conflict");
        }
        _ => {}
    }
    sent["metadata"]["resourceVersion"] = json!(next_version(&stored.clone().unwrap_or_default()));
    *stored = Some(sent.clone());
    sent.to_string().into_response()
}

fn config(identity: &str) -> LeaseConfig {
    LeaseConfig {
        namespace: "ops".into(),
        name: "wellfed".into(),
        identity: identity.into(),
        duration: Duration::from_secs(3),
        renew_deadline: Duration::from_millis(1500),
        retry_period: Duration::from_millis(100),
    }
}

struct Instance {
    stop: CancellationToken,
    work_ended: CancellationToken,
    view: LeaseView,
    task: tokio::task::JoinHandle<Result<(), LeaseError>>,
}

fn start(server: &Server, identity: &str) -> Instance {
    let (held, holding) = watch::channel(Holding::default());
    let (stop, work_ended) = (CancellationToken::new(), CancellationToken::new());
    let task = tokio::spawn(hold(server.client(), config(identity), stop.clone(), work_ended.clone(), held));
    Instance { stop, work_ended, view: LeaseView::new(holding), task }
}

async fn until(mut condition: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < patience, "waited 20 s in vain");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_absent_lease_is_made_held_and_renewed() {
    let server = Server::default();
    let a = start(&server, "a");
    until(|| a.view.may_write()).await;

    let first = server.spec();
    assert_eq!(first["holderIdentity"], "a");
    assert_eq!(first["leaseDurationSeconds"], 3);
    assert_eq!(first["leaseTransitions"], 0);
    until(|| server.spec()["renewTime"] != first["renewTime"]).await;
    assert_eq!(server.spec()["acquireTime"], first["acquireTime"]);
    assert_eq!(a.view.holding().term, 1);
}

#[tokio::test]
async fn the_lease_is_given_back_only_when_work_has_ended_and_then_taken_over_at_once() {
    let server = Server::default();
    let a = start(&server, "a");
    until(|| a.view.may_write()).await;
    let b = start(&server, "b");
    until(|| b.view.holding().holder.as_deref() == Some("a")).await;

    a.stop.cancel();
    let renewed = server.spec()["renewTime"].clone();
    until(|| server.spec()["renewTime"] != renewed).await;
    assert!(a.view.may_write() && !b.view.may_write());

    let ended = Instant::now();
    a.work_ended.cancel();
    a.task.await.unwrap().unwrap();
    assert!(!a.view.may_write());
    until(|| b.view.may_write()).await;

    assert!(ended.elapsed() < Duration::from_secs(2), "the silence of 3 s was waited for");
    assert_eq!(server.spec()["leaseTransitions"], 1);
}

#[tokio::test]
async fn a_follower_that_is_stopped_ends_without_writing() {
    let server = Server::default();
    let a = start(&server, "a");
    until(|| a.view.may_write()).await;
    let b = start(&server, "b");
    until(|| b.view.holding().holder.is_some()).await;

    b.stop.cancel();
    b.task.await.unwrap().unwrap();

    assert_eq!(server.spec()["holderIdentity"], "a");
}

#[tokio::test]
async fn a_silent_api_server_ends_the_holding_at_the_deadline_and_nobody_else_begins() {
    let server = Server::default();
    let a = start(&server, "a");
    until(|| a.view.may_write()).await;

    server.silent.store(true, Ordering::SeqCst);
    let silenced = Instant::now();
    until(|| !a.view.may_write()).await;
    assert!(silenced.elapsed() < Duration::from_millis(2500), "held on for {:?}", silenced.elapsed());
    until(|| a.view.holding().until.is_none()).await;

    server.silent.store(false, Ordering::SeqCst);
    until(|| a.view.may_write()).await;
    assert_eq!(a.view.holding().term, 2);
}

#[tokio::test]
async fn an_instance_whose_lease_was_taken_stops_at_the_next_renewal() {
    let server = Server::default();
    let a = start(&server, "a");
    until(|| a.view.may_write()).await;

    server.overwrite("someone");

    until(|| !a.view.may_write()).await;
    assert_eq!(a.view.holding().holder.as_deref(), Some("someone"));
}

#[tokio::test]
async fn a_dead_holder_is_replaced_after_its_silence() {
    let server = Server::default();
    let a = start(&server, "a");
    until(|| a.view.may_write()).await;
    a.task.abort();
    let b = start(&server, "b");
    let began = Instant::now();

    until(|| b.view.may_write()).await;

    assert!(began.elapsed() >= Duration::from_secs(3), "taken over after {:?}", began.elapsed());
    assert!(!a.view.may_write());
}

#[tokio::test]
async fn times_that_do_not_fit_are_refused() {
    let wrong = LeaseConfig { renew_deadline: Duration::from_secs(3), ..config("a") };
    let (held, _) = watch::channel(Holding::default());

    let error = hold(Server::default().client(), wrong, CancellationToken::new(), CancellationToken::new(), held)
        .await
        .unwrap_err();

    assert_eq!(
        error.to_string(),
        "the lease times do not fit: duration 3s must be longer than renew deadline 3s, and that longer than 1.2 × retry \
         period 100ms, which must not be zero"
    );
}
