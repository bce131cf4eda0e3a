//! A user may say what to do when a signal stays away.

use anyhow::ensure;
use serde_json::json;
use wellfed_tests::operator_fixture::SOON;
use wellfed_tests::proxy::Fault;
use wellfed_tests::until;

use crate::stage::{SERIES, Stage, direct, proxied};

async fn falls_back(stage: &Stage) -> anyhow::Result<()> {
    stage.until_replicas("chat", 6).await?;
    let found = until("the fallback to be told", SOON, async || {
        let why = stage.status("chat").await?.decision.map(|decision| decision.why).unwrap_or_default();
        ensure!(why == "Fallback", "{why}");
        Ok(())
    });
    Ok(found.await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_keeps_failing_falls_back_to_the_users_number() -> anyhow::Result<()> {
    let fallback = json!({"failureThreshold": 6, "replicas": 6});
    let stage = Stage::set("fallback", &proxied().with("spec.fallback", fallback)).await?;

    stage.proxy.set(Fault::Page(503, "<html></html>"));
    stage.until_reason("chat", "SignalsHealthy", "SignalHttpError").await?;
    assert_eq!(stage.replicas("chat").await?, 4, "six failures in a row are not more than six");
    falls_back(&stage).await?;

    stage.proxy.set(Fault::None);
    stage.until_replicas("chat", 4).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_stays_empty_falls_back_too() -> anyhow::Result<()> {
    let fallback = json!({"failureThreshold": 6, "replicas": 6});
    let stage = Stage::set("fallback-empty", &direct().with("spec.fallback", fallback)).await?;

    stage.source.remove(SERIES);
    stage.until_reason("chat", "SignalsHealthy", "SignalEmpty").await?;
    assert_eq!(stage.replicas("chat").await?, 4, "a gap is not yet a loss");
    falls_back(&stage).await?;

    stage.depth(40).await?;
    stage.until_replicas("chat", 4).await
}
