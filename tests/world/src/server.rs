//! The HTTP side: discovery, pages, the truth, and the levers.

use crate::{
    run::Shared,
    scenario::Workload,
    world::{NoPage, WorldTruth},
};
use axum::{
    Json, Router,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use serde::Deserialize;

/// All routes.
pub fn routes(shared: Shared) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/sd/{job}", get(discover))
        .route("/nodes/{node}/dcgm", get(dcgm))
        .route("/nodes/{node}/cadvisor", get(cadvisor))
        .route("/nodes/{node}/node", get(node))
        .route("/pods/{namespace}/{pod}/metrics", get(pod))
        .route("/queues/{namespace}/{name}/metrics", get(queue))
        .route("/truth", get(truth))
        .route("/control/set", post(set))
        .route("/control/workloads", post(add))
        .route("/control/workloads/{name}", delete(remove))
        .with_state(shared)
}

/// A lever: which workload, which dotted path, which value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    workload: String,
    path: String,
    value: serde_json::Value,
}

async fn discover(State(shared): State<Shared>, Path(job): Path<String>) -> Response {
    match shared.world().targets(&job, &shared.address) {
        Some(targets) => Json(targets).into_response(),
        None => (StatusCode::NOT_FOUND, "there are /sd/dcgm, /sd/cadvisor, /sd/node and /sd/pods\n").into_response(),
    }
}

async fn dcgm(State(shared): State<Shared>, Path(node): Path<String>) -> Response {
    page(shared.world().dcgm_page(&node))
}

async fn node(State(shared): State<Shared>, Path(node): Path<String>) -> Response {
    page(shared.world().node_page(&node))
}

async fn cadvisor(State(shared): State<Shared>, Path(node): Path<String>) -> Response {
    page(shared.world().cadvisor_page(&node))
}

async fn pod(State(shared): State<Shared>, Path((namespace, pod)): Path<(String, String)>) -> Response {
    page(shared.world().pod_page(&namespace, &pod))
}

async fn queue(State(shared): State<Shared>, Path((namespace, name)): Path<(String, String)>) -> Response {
    page(shared.world().queue_page(&namespace, &name))
}

async fn truth(State(shared): State<Shared>) -> Json<WorldTruth> {
    Json(shared.world().truth())
}

async fn set(State(shared): State<Shared>, Json(set): Json<Set>) -> Response {
    let done = shared.world().set(&set.workload, &set.path, &set.value);
    answer(done.map_err(|error| error.to_string()))
}

async fn add(State(shared): State<Shared>, Json(workload): Json<Workload>) -> Response {
    answer(shared.world().add(&workload).map_err(|error| error.to_string()))
}

async fn remove(State(shared): State<Shared>, Path(name): Path<String>) -> Response {
    let removed = shared.world().remove(&name);
    answer(removed.then_some(()).ok_or_else(|| format!("there is no workload \"{name}\"")))
}

fn page(body: Result<String, NoPage>) -> Response {
    match body {
        Ok(body) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], body).into_response(),
        Err(NoPage::Unknown) => (StatusCode::NOT_FOUND, "no such target\n").into_response(),
        Err(NoPage::Silent) => (StatusCode::SERVICE_UNAVAILABLE, "the target does not answer\n").into_response(),
    }
}

fn answer(done: Result<(), String>) -> Response {
    match done {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(problem) => (StatusCode::UNPROCESSABLE_ENTITY, problem + "\n").into_response(),
    }
}
