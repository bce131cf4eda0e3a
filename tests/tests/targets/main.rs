//! The objects that are scaled, on a real control plane: missing, taken away, driven by others, without room. Never a wrong
//! write, and always said.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot look has failed")]

mod existence;
mod modes;
mod room;
mod subresource;
mod writers;

use serde_json::json;
use wellfed_tests::fixture::OWNER;
use wellfed_tests::operator_fixture::Wish;
use wellfed_tests::{OperatorFixture, Plane};

/// A test's own operator.
async fn stage(name: &str) -> anyhow::Result<OperatorFixture> {
    OperatorFixture::start(&Plane::attach()?, name).await
}

/// The workload `chat`, whose users ask for `replicas`.
fn chat(replicas: i32) -> Wish {
    Wish::of("chat").asking(replicas)
}

/// A `StatefulSet` `chat` with one GPU a replica, on the test's nodes.
fn stateful_set(stage: &OperatorFixture, replicas: i32) -> String {
    let owner = &stage.namespace;
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "chat"},
        "spec": {
            "serviceName": "chat",
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "chat"}},
            "template": {
                "metadata": {"labels": {"app": "chat"}},
                "spec": {
                    "nodeSelector": {OWNER: owner},
                    "tolerations": [{"key": OWNER, "value": owner, "effect": "NoSchedule"}],
                    "containers": [{"name": "main", "image": "fake", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
                },
            },
        },
    })
    .to_string()
}
