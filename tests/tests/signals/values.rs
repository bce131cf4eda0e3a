//! Numbers that can't be a measurement.

use wellfed_crds::ConditionStatus::True;

use crate::stage::{SERIES, Stage, direct};

async fn held_by(stage: &Stage, cases: &[(&str, &str)]) -> anyhow::Result<()> {
    for (value, said) in cases {
        stage.source.set(&format!("{SERIES} {value}"));
        stage.held("SignalImplausible", said).await?;
        stage.depth(40).await?;
        stage.until_condition("chat", "SignalsHealthy", True).await?;
    }
    stage.recovers().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_number_or_no_finite_one_holds_the_workload() -> anyhow::Result<()> {
    let stage = Stage::set("nan", &direct()).await?;

    held_by(&stage, &[("NaN", "signal queue: the value is NaN"), ("+Inf", "signal queue: the value is infinite")]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_negative_number_and_a_vendors_marker_hold_the_workload() -> anyhow::Result<()> {
    let stage = Stage::set("negative", &direct()).await?;
    let marker = "signal queue: the value is a not-available marker";

    held_by(&stage, &[("-1", "signal queue: the value is negative"), ("9223372036854775794", marker)]).await
}
