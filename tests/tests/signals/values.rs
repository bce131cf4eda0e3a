//! Numbers that can't be a measurement.

use wellfed_crds::ConditionStatus::True;

use crate::stage::{SERIES, Stage, direct};

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_cannot_be_measured_holds_the_workload() -> anyhow::Result<()> {
    let stage = Stage::set("odd", &direct()).await?;

    for (value, said) in [
        ("NaN", "signal queue: the value is NaN"),
        ("+Inf", "signal queue: the value is infinite"),
        ("-1", "signal queue: the value is negative"),
        ("9223372036854775794", "signal queue: the value is a not-available marker"),
    ] {
        stage.source.set(&format!("{SERIES} {value}"));
        stage.held("SignalImplausible", said).await?;
        stage.depth(40).await?;
        stage.until_condition("chat", "SignalsHealthy", True).await?;
    }

    stage.recovers().await
}
