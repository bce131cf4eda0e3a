//! Prometheus is gone.

use anyhow::{Context, ensure};

use crate::stage::{Stage, direct};

/// The age of the signal `queue` of `chat`, in seconds, as `/metrics` shows it.
async fn age(stage: &Stage) -> anyhow::Result<f64> {
    let labels = format!(r#"{{namespace="{}",workload="chat",signal="queue"}} "#, stage.namespace);
    let page = stage.operator.metrics().await?;
    let line = page.lines().find_map(|line| line.strip_prefix("wellfed_signal_age_seconds")?.strip_prefix(&labels));
    Ok(line.with_context(|| format!("no age of {labels} in\n{page}"))?.parse()?)
}

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

/// M7 (k/k #119788): what was read last is not shown as the present.
#[tokio::test(flavor = "multi_thread")]
async fn the_age_of_a_signal_grows_while_it_cannot_be_read() -> anyhow::Result<()> {
    let stage = Stage::set("ages", &direct()).await?;

    stage.prometheus.kill()?;
    stage.until_reason("chat", "SignalsHealthy", "SignalUnreachable").await?;
    let first = age(&stage).await?;
    stage.after_cycles(5).await?;
    let later = age(&stage).await?;

    ensure!(later >= first + 4.0, "{first} s, and five cycles later {later} s");
    Ok(())
}
