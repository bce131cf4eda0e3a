//! The target is not there, or not there any more.

use wellfed_crds::ConditionStatus::True;
use wellfed_tests::fixture::GpuDeployment;

use crate::{chat, stage};

#[tokio::test]
async fn a_missing_target_is_named_with_its_path_and_is_scaled_once_it_appears() -> anyhow::Result<()> {
    let stage = stage("missing").await?;
    stage.apply(&chat(3)).await?;

    let said = stage.until_reason("chat", "AbleToScale", "TargetNotFound").await?;
    stage.deploy(&GpuDeployment::new("chat")).await?;
    stage.until_replicas("chat", 3).await?;

    let namespace = &stage.namespace;
    let expected = format!(
        "spec.scaleTargetRef: Deployment \"chat\" does not exist in namespace \"{namespace}\": create it, or name another"
    );
    assert_eq!(said.message, expected);
    stage.until_condition("chat", "Ready", True).await?;
    Ok(())
}

#[tokio::test]
async fn a_target_that_is_deleted_while_it_is_scaled_is_named_and_its_successor_is_scaled() -> anyhow::Result<()> {
    let stage = stage("deleted").await?;
    stage.run(&chat(3), 1).await?;
    stage.until_replicas("chat", 3).await?;

    stage.kubectl(&["delete", "deployment", "chat"]).await?;
    stage.ask("chat", 5).await?;
    stage.until_reason("chat", "AbleToScale", "TargetNotFound").await?;
    stage.deploy(&GpuDeployment::new("chat").replicas(2)).await?;
    stage.until_replicas("chat", 5).await?;

    let refused = stage.writes()?.filter(|event| event.response_status.code >= 400);
    assert_eq!(refused.summary(), "", "nothing was written into the void");
    Ok(())
}
