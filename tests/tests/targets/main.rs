//! The objects that are scaled, on a real control plane: missing, taken away, driven by others, without room. Never a wrong
//! write, and always said.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot look has failed")]

mod existence;
mod modes;
mod room;
mod subresource;
mod writers;

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
