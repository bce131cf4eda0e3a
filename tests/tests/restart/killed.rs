//! SIGKILL, at rest, in the middle of a window and in the middle of growth.

use std::time::Duration;

use anyhow::ensure;
use jiff::Timestamp;
use serde_json::json;
use wellfed_tests::operator_fixture::SOON;
use wellfed_tests::{OperatorFixture, Plane, until};

use crate::{SHORT_LEASE, chat};

/// A window long enough that a restart lies within it.
const WINDOW: i64 = 20;

#[tokio::test]
async fn what_held_the_number_before_a_kill_holds_it_after_and_no_longer_than_without() -> anyhow::Result<()> {
    let mut stage = OperatorFixture::start_with(&Plane::attach()?, "recalled", &[SHORT_LEASE]).await?;
    let wish = |replicas| chat(replicas).with("spec.behavior.scaleDown.stabilizationWindowSeconds", WINDOW);
    stage.run(&wish(2), 2).await?;
    until_adopted(&stage).await?;
    stage.ask("chat", 6).await?;
    stage.until_replicas("chat", 6).await?;

    stage.ask("chat", 2).await?;
    stage
        .until_status("chat", |status| status.wanted_replicas == Some(6) && why(status) == "StabilizationWindow")
        .await?;
    let fell = Timestamp::now();
    stage.operator.kill();
    stage.operator.start(&stage.group).await?;
    let written = stage.scalings("chat")?.len();
    until_cycles_turn(&stage).await?;
    let held = stage.replicas("chat").await?;
    until("two replicas", Duration::from_secs(45), async || {
        let now = stage.replicas("chat").await?;
        ensure!(now == 2, "{now}");
        Ok(())
    })
    .await?;

    assert_eq!((written, held), (1, 6));
    let scalings = stage.scalings("chat")?;
    assert_eq!(scalings.len(), 2, "{}", scalings.summary());
    let waited = scalings.events()[1].at.duration_since(fell).as_secs();
    assert!((WINDOW - 3..=WINDOW + 6).contains(&waited), "shrunk {waited} s after the peak, in a window of {WINDOW} s");
    Ok(())
}

fn why(status: &wellfed_crds::GpuWorkloadStatus) -> &str {
    status.decision.as_ref().map_or("", |decision| decision.why.as_str())
}

/// A new workload does not shrink before one whole window.
async fn until_adopted(stage: &OperatorFixture) -> anyhow::Result<()> {
    let within = Duration::from_secs(90);
    until("the end of the adoption", within, async || {
        let memory = stage.status("chat").await?.memory.unwrap_or_default();
        ensure!(memory.contains("\"Done\""), "{memory}");
        Ok(())
    })
    .await?;
    Ok(())
}

/// The first cycle of a new instance, which waits for the Lease of the dead one.
async fn until_cycles_turn(stage: &OperatorFixture) -> anyhow::Result<()> {
    until("a first cycle", SOON, async || {
        ensure!(stage.cycles().await? > 0, "none");
        Ok(())
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_kill_at_rest_changes_no_replicas_and_no_word_of_the_status() -> anyhow::Result<()> {
    let mut stage = OperatorFixture::start_with(&Plane::attach()?, "rested", &[SHORT_LEASE]).await?;
    stage.run(&chat(3), 1).await?;
    stage.until_replicas("chat", 3).await?;
    stage.until_ready("chat", 3, SOON).await?;
    until_adopted(&stage).await?;
    stage.after_cycles(3).await?;
    let before = stage.status("chat").await?;

    stage.operator.kill();
    let killed = Timestamp::now();
    stage.operator.start(&stage.group).await?;
    until_cycles_turn(&stage).await?;
    stage.after_cycles(3).await?;

    let after = stage.status("chat").await?;
    assert_eq!(after.conditions, before.conditions);
    assert_eq!(after.decision, before.decision);
    let scaled_or_told = stage.writes()?.since(killed).filter(|event| event.object_ref.subresource != "status");
    assert_eq!(scaled_or_told.summary(), "");
    Ok(())
}

/// Each kill lands at another moment between two writes of the memory and of the scale.
#[tokio::test]
async fn kills_during_growth_lose_no_replica_and_exceed_no_limit() -> anyhow::Result<()> {
    let mut stage = OperatorFixture::start_with(&Plane::attach()?, "growing", &[SHORT_LEASE]).await?;
    let one_a_second = json!({"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1}]});
    let wish = chat(24).with("spec.maxReplicas", 20).with("spec.behavior.scaleUp", one_a_second);
    stage.run(&wish, 1).await?;

    for kill in 0..4 {
        let from = stage.replicas("chat").await?;
        until("growth", SOON, async || {
            let now = stage.replicas("chat").await?;
            ensure!(now > from, "{now} after kill {kill}");
            Ok(())
        })
        .await?;
        tokio::time::sleep(Duration::from_millis(rand::random_range(0..1500))).await;
        stage.operator.kill();
        stage.operator.start(&stage.group).await?;
    }
    stage.until_replicas("chat", 20).await?;
    stage.after_cycles(3).await?;

    let mut at = 1;
    for event in stage.scalings("chat")?.events().iter().filter(|event| event.response_status.code == 200) {
        let body = &event.request_object;
        assert_eq!(
            (&body[0]["value"], &body[1]["value"]),
            (&json!(at), &json!(at + 1)),
            "one replica at a time: {body}"
        );
        at += 1;
    }
    assert_eq!((at, stage.replicas("chat").await?), (20, 20));
    Ok(())
}
