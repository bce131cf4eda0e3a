//! The operator ends, by force or in order, and goes on; two of them at once; the API server goes away. Replicas never
//! shrink for it, and only one writes.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot look has failed")]

mod killed;
mod standby;
mod unreachable;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;
use wellfed_tests::OperatorFixture;
use wellfed_tests::operator_fixture::{RELEASE, Wish};

/// Short enough to wait for the end of a dead instance's Lease.
const SHORT_LEASE: &str = "lease.duration=6s";

/// The workload `chat`, whose users ask for `replicas`.
fn chat(replicas: i32) -> Wish {
    Wish::of("chat").asking(replicas)
}

/// The operator's Lease.
async fn lease(stage: &OperatorFixture) -> anyhow::Result<LeaseSpec> {
    let leases: Api<Lease> = Api::namespaced(stage.client(), stage.operator.namespace());
    Ok(leases.get(RELEASE).await?.spec.unwrap_or_default())
}
