//! `/scale` itself: that of the target in all its forms, and that of the workload.

use kube::Api;
use wellfed_crds::ConditionStatus::False;
use wellfed_crds::GpuWorkload;
use wellfed_tests::fixture::GpuDeployment;
use wellfed_tests::{OperatorFixture, Plane, until};

use crate::{chat, stage, stateful_set};

#[tokio::test]
async fn kubectl_scale_of_the_workload_drives_its_target_and_its_scale_tells_how_it_stands() -> anyhow::Result<()> {
    let stage = stage("asked").await?;
    stage.run(&chat(2), 1).await?;
    stage.until_replicas("chat", 2).await?;

    stage.ask("chat", 5).await?;
    stage.until_replicas("chat", 5).await?;
    let up = stage.until_status("chat", |status| status.replicas == Some(5)).await?;
    let workloads: Api<GpuWorkload> = Api::namespaced(stage.client(), &stage.namespace);
    let scale = workloads.get_scale("chat").await?;
    stage.ask("chat", 1).await?;
    stage.until_replicas("chat", 1).await?;

    assert_eq!(up.desired_replicas, Some(5));
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(5));
    let status = scale.status.unwrap_or_default();
    assert_eq!((status.replicas, status.selector.as_deref()), (5, Some("app=chat")));
    Ok(())
}

#[tokio::test]
async fn a_target_at_zero_is_raised_to_the_minimum_although_its_scale_has_no_number_on_the_wire() -> anyhow::Result<()>
{
    let stage = stage("zero").await?;
    stage.run(&chat(0).with("spec.minReplicas", 2), 0).await?;

    stage.until_replicas("chat", 2).await?;

    let written = stage.scalings("chat")?;
    assert_eq!(written.len(), 1, "{}", written.summary());
    assert_eq!(written.events()[0].request_object[0], serde_json::json!({"op": "test", "path": "/spec", "value": {}}));
    Ok(())
}

#[tokio::test]
async fn a_stateful_set_is_scaled_as_a_deployment_is() -> anyhow::Result<()> {
    let stage = stage("stateful").await?;
    stage.create(&stateful_set(&stage, 1)).await?;
    stage.apply(&chat(3).with("spec.scaleTargetRef.kind", "StatefulSet")).await?;

    let replicas = async || stage.kubectl(&["get", "statefulset", "chat", "-o", "jsonpath={.spec.replicas}"]).await;
    let until_it_has = async |wanted: &str| {
        until(&format!("{wanted} replicas"), wellfed_tests::operator_fixture::SOON, async || {
            let now = replicas().await?;
            anyhow::ensure!(now == wanted, "{now}");
            Ok(())
        })
        .await
    };
    until_it_has("3").await?;
    stage.until_ready("chat", 3, wellfed_tests::operator_fixture::SOON).await?;
    stage.ask("chat", 1).await?;
    until_it_has("1").await?;

    let written = stage.writes()?.on("statefulsets", "scale");
    let expected = format!("patch statefulsets/scale {}/chat 200", stage.namespace);
    assert_eq!(written.summary(), format!("{expected}\n{expected}"));
    Ok(())
}

#[tokio::test]
async fn without_the_right_to_scale_it_says_so_and_what_to_do() -> anyhow::Result<()> {
    let stage = OperatorFixture::start_with(&Plane::attach()?, "forbidden", &["targets=null"]).await?;
    stage.deploy(&GpuDeployment::new("chat")).await?;
    stage.apply(&chat(4)).await?;

    let able = stage.until_condition("chat", "AbleToScale", False).await?;
    stage.after_cycles(5).await?;

    assert_eq!(able.reason, "ScaleForbidden");
    assert!(able.message.contains("cannot patch resource \"deployments/scale\""), "{}", able.message);
    assert!(able.message.ends_with("the chart's `targets` and `watchNamespaces` grant it"), "{}", able.message);
    assert_eq!(stage.replicas("chat").await?, 1);
    assert_eq!(stage.scalings("chat")?.len(), 1, "it is not tried again in every cycle");
    let told = stage.events("chat").await?;
    let told = told.iter().filter(|event| event.reason.as_deref() == Some("ScaleForbidden")).count();
    assert_eq!(told, 1, "one event, however often it is tried");
    Ok(())
}
