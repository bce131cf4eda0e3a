//! A person's word against the gate.

use crate::exposition::Labels;
use crate::meters::FETCHING;
use crate::stage::{Case, Stage, wish};
use anyhow::ensure;
use jiff::{SignedDuration, Timestamp};
use wellfed_crds::ConditionStatus::{False, True};

const CASE: Case = Case { name: "reader", class: "Training", replicas: &[FETCHING; 2], labels: Labels::Exported };

#[tokio::test(flavor = "multi_thread")]
async fn a_person_may_let_growth_pass_with_a_reason_and_until_a_time() -> anyhow::Result<()> {
    let stage = Stage::set("words", &[CASE]).await?;
    let told = async {
        stage.apply(&wish(&CASE)).await?;
        stage.until_condition("reader", "Starved", True).await?;
        without_an_end_it_is_refused(&stage).await?;
        in_force_it_lets_growth_pass(&stage).await?;
        after_its_end_it_does_not(&stage).await
    };
    stage.during(told).await
}

async fn without_an_end_it_is_refused(stage: &Stage) -> anyhow::Result<()> {
    say(stage, "launch day").await?;
    let refused = stage.until_reason("reader", "GateOverridden", "OverrideRefused").await?;
    let helpful = "annotation wellfed.dev/gate-override has no effect: it has no end. \
                   Write \"<reason>; until=<time>\" with a time of the next 7 days";
    ensure!(refused.status == False && refused.message.starts_with(helpful), "{refused:?}");
    stage.until_told("reader", "OverrideRefused", "it has no end").await?;
    stage.after_cycles(3).await?;
    let scalings = stage.scalings("reader")?;
    ensure!(scalings.is_empty(), "{}", scalings.summary());
    Ok(())
}

async fn in_force_it_lets_growth_pass(stage: &Stage) -> anyhow::Result<()> {
    let until = Timestamp::now() + SignedDuration::from_secs(15);
    say(stage, &format!("launch day; until={until:.0}")).await?;
    stage.until_replicas("reader", 4).await?;
    stage.until_told("reader", "GateOverridden", "launch day").await?;
    stage.until_told("reader", "Scaled", "2 to 4 replicas").await?;
    ensure!(stage.finding("reader", "StorageStall").await?.state == "Open", "the finding stays");
    Ok(())
}

async fn after_its_end_it_does_not(stage: &Stage) -> anyhow::Result<()> {
    let ended = stage.until_reason("reader", "GateOverridden", "Expired").await?;
    ensure!(ended.status == False && ended.message.contains("remove annotation"), "{ended:?}");
    stage.demands("reader", 8);
    stage.until_condition("reader", "Starved", True).await?;
    stage.after_cycles(5).await?;
    let scalings = stage.scalings("reader")?;
    ensure!(scalings.len() == 1, "it grew after the end:\n{}", scalings.summary());
    Ok(())
}

async fn say(stage: &Stage, words: &str) -> anyhow::Result<()> {
    let annotation = format!("wellfed.dev/gate-override={words}");
    stage.kubectl(&["annotate", "--overwrite", "gpuw", "reader", &annotation]).await.map(drop)
}
