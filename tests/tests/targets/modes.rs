//! When nothing may be written: Recommend, Paused, the kill switch; and what is left when the workload is deleted.

use wellfed_crds::ConditionStatus::True;

use crate::{chat, stage};

#[tokio::test]
async fn recommend_shows_what_it_would_do_and_writes_no_replicas() -> anyhow::Result<()> {
    let stage = stage("recommend").await?;
    stage.run(&chat(5).with("spec.mode", "Recommend"), 2).await?;

    stage.until_desired("chat", 5).await?;
    stage.after_cycles(2).await?;

    let status = stage.status("chat").await?;
    assert_eq!((status.replicas, status.desired_replicas, status.wanted_replicas), (Some(2), Some(5), Some(5)));
    let able = stage.until_condition("chat", "AbleToScale", True).await?;
    assert_eq!(able.message, "mode Recommend: decisions are shown, not written");
    assert_eq!(stage.replicas("chat").await?, 2);
    assert_eq!(stage.writes()?.filter(|event| event.object_ref.subresource == "scale").summary(), "");
    Ok(())
}

#[tokio::test]
async fn paused_decides_nothing_and_auto_goes_on_from_there() -> anyhow::Result<()> {
    let stage = stage("paused").await?;
    stage.run(&chat(5).with("spec.mode", "Paused"), 2).await?;

    let paused = stage.until_reason("chat", "ScalingActive", "Paused").await?;
    stage.after_cycles(2).await?;
    let status = stage.status("chat").await?;
    let written = stage.scalings("chat")?.len();
    stage.apply(&chat(5)).await?;
    stage.until_replicas("chat", 5).await?;

    assert_eq!(paused.message, "mode Paused: nothing is decided");
    assert_eq!((status.replicas, status.desired_replicas), (Some(2), Some(2)));
    assert_eq!(written, 0);
    Ok(())
}

#[tokio::test]
async fn the_kill_switch_stops_every_write_to_a_workload_and_its_end_resumes_them() -> anyhow::Result<()> {
    let stage = stage("stop").await?;
    let own = format!("{}-op", stage.namespace);
    let kubectl = stage.plane.kubectl()?;
    stage.run(&chat(2), 1).await?;
    stage.until_replicas("chat", 2).await?;

    kubectl.run(&["-n", &own, "create", "configmap", "wellfed-stop", "--from-literal=stop=incident 42"]).await?;
    let stopped = stage.until_reason("chat", "AbleToScale", "KillSwitch").await?;
    stage.ask("chat", 6).await?;
    stage.until_desired("chat", 6).await?;
    stage.after_cycles(2).await?;
    let meanwhile = stage.replicas("chat").await?;
    kubectl.run(&["-n", &own, "delete", "configmap", "wellfed-stop"]).await?;
    stage.until_replicas("chat", 6).await?;

    assert_eq!(stopped.message, "the kill switch is on (incident 42): nothing is written to any workload");
    assert_eq!(meanwhile, 2);
    stage.until_condition("chat", "AbleToScale", True).await?;
    Ok(())
}

#[tokio::test]
async fn a_deleted_workload_leaves_its_target_as_it_is() -> anyhow::Result<()> {
    let stage = stage("left").await?;
    stage.run(&chat(4), 1).await?;
    stage.until_replicas("chat", 4).await?;

    stage.kubectl(&["delete", "gpuw", "chat", "--wait", "--timeout=10s"]).await?;
    let written = stage.writes()?.len();
    stage.after_cycles(3).await?;

    assert_eq!(stage.replicas("chat").await?, 4);
    assert_eq!(stage.writes()?.len(), written, "{}", stage.writes()?.summary());
    Ok(())
}
