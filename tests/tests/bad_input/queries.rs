//! Queries and the endpoints that they are for.

use anyhow::{Context, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use wellfed_crds::ConditionStatus::False;
use wellfed_tests::operator_fixture::{SOON, Wish};
use wellfed_tests::until;

use crate::stage::{Stage, chat};

const QUERY: &str = "spec.signals.0.source.prometheus.query";

fn asking(query: &str) -> Wish {
    chat().with(QUERY, query)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_is_no_promql_is_refused_with_its_place() -> anyhow::Result<()> {
    let stage = Stage::set("bad-query").await?;

    let said = stage.refused(&asking("sum(queue_depth) by queue"), "BadQuery").await?;

    assert_eq!(
        said,
        "spec.signals[0].source.prometheus.query: not PromQL at character 21 (near `queue`): this can't stand here; check \
         operators, brackets and quotes just before it. The workload keeps its replicas until this is fixed."
    );
    assert_eq!(warning(&stage, "BadQuery").await?, said);
    let ready = stage.until_condition("chat", "Ready", False).await?;
    assert_eq!((ready.reason.as_str(), ready.message), ("BadQuery", said));
    stage.search_goes_on_and_chat_is_left_alone(3).await?;
    stage.accepted_and_scaled(&chat()).await
}

/// The note of the event that warns for `reason`.
async fn warning(stage: &Stage, reason: &str) -> anyhow::Result<String> {
    let events: Api<Event> = Api::namespaced(stage.client(), &stage.namespace);
    let note = until("the warning", SOON, async || {
        let events = events.list(&ListParams::default()).await?.items;
        let is_it =
            |event: &&Event| event.reason.as_deref() == Some(reason) && event.type_.as_deref() == Some("Warning");
        events.iter().find(is_it).and_then(|event| event.note.clone()).context("no such event")
    });
    Ok(note.await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_for_another_namespace_is_refused_with_the_matcher_to_remove() -> anyhow::Result<()> {
    let stage = Stage::set("other-namespace").await?;

    let said = stage.refused(&asking(r#"sum(queue_depth{namespace="kube-system"})"#), "OtherNamespace").await?;

    assert_eq!(
        said,
        format!(
            "spec.signals[0].source.prometheus.query: the query selects namespace=\"kube-system\", but a GpuWorkload in \
             namespace `{0}` reads only its own namespace: remove that matcher (`{0}` is added to every selector), or ask \
             the administrator to allow cluster queries. The workload keeps its replicas until this is fixed.",
            stage.namespace
        )
    );
    stage.search_goes_on_and_chat_is_left_alone(3).await?;
    stage
        .accepted_and_scaled(&asking(&format!(r#"sum(queue_depth{{queue="chat", namespace="{}"}})"#, stage.namespace)))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_nobody_configured_is_refused_with_the_one_that_is_meant() -> anyhow::Result<()> {
    let stage = Stage::set("endpoint").await?;

    let said =
        stage.refused(&chat().with("spec.signals.0.source.prometheus.endpoint", "defualt"), "UnknownEndpoint").await?;

    assert_eq!(
        said,
        "spec.signals[0].source.prometheus.endpoint: no Prometheus \"defualt\" is configured (did you mean \"default\"?); \
         the operator's configuration names them. The workload keeps its replicas until this is fixed."
    );
    stage.search_goes_on_and_chat_is_left_alone(3).await?;
    stage.accepted_and_scaled(&chat().with("spec.signals.0.source.prometheus.endpoint", "default")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_in_a_running_workload_keeps_its_status_and_its_replicas() -> anyhow::Result<()> {
    let stage = Stage::set("kept").await?;
    stage.accepted_and_scaled(&chat()).await?;
    until("a status that shows four replicas", SOON, async || {
        let status = stage.status("chat").await?;
        ensure!((status.replicas, status.desired_replicas) == (Some(4), Some(4)), "{status:?}");
        Ok(())
    })
    .await?;

    stage.refused(&asking("sum("), "BadQuery").await?;
    stage.source.set(r#"queue_depth{queue="chat"} 70"#);
    stage.search_goes_on_and_chat_is_left_alone(2).await?;

    let status = stage.status("chat").await?;
    assert_eq!((status.replicas, status.desired_replicas, stage.replicas("chat").await?), (Some(4), Some(4), 4));
    assert!(status.decision.is_some() && status.memory.is_some(), "the last decision and the memory are lost");
    stage.apply(&chat()).await?;
    stage.until_replicas("chat", 7).await
}
