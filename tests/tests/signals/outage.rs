//! Prometheus is gone.

use crate::stage::{Stage, direct};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_prometheus_holds_the_workload_until_it_is_back_whoever_restarts_meanwhile() -> anyhow::Result<()> {
    let mut stage = Stage::set("killed", &direct()).await?;

    stage.prometheus.kill()?;

    stage.held("SignalUnreachable", "signal queue: the endpoint can't be reached").await?;
    stage.restart_operator().await?;
    stage.held("SignalUnreachable", "signal queue: the endpoint can't be reached").await?;
    stage.prometheus.start_again().await?;
    stage.recovers().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minimum_is_kept_also_while_prometheus_is_gone() -> anyhow::Result<()> {
    let stage = Stage::set("minimum", &direct()).await?;

    stage.prometheus.kill()?;
    stage.until_reason("chat", "SignalsHealthy", "SignalUnreachable").await?;
    stage.apply(&direct().with("spec.minReplicas", 6)).await?;

    stage.until_replicas("chat", 6).await
}
