//! Prometheus is gone.

use crate::stage::{Stage, direct};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_prometheus_holds_the_workload_until_it_is_back() -> anyhow::Result<()> {
    let stage = Stage::set("killed", &direct()).await?;

    stage.prometheus.kill()?;

    stage.held("SignalUnreachable", "signal queue: the endpoint can't be reached").await?;
    stage.prometheus.start_again().await?;
    stage.recovers().await
}
