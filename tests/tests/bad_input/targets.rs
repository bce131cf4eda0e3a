//! What a workload is to scale.

use serde_json::json;
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::fixture::GpuDeployment;
use wellfed_tests::operator_fixture::Wish;

use crate::stage::{DEPTH, Stage, chat};

#[tokio::test(flavor = "multi_thread")]
async fn pods_without_gpus_are_refused_until_they_ask_for_one() -> anyhow::Result<()> {
    let stage = Stage::set("no-gpus").await?;
    stage.deploy(&GpuDeployment::new("web").replicas(2).gpus(0)).await?;

    let said = stage.refused(&Wish::of("web").signal("queue", DEPTH, "10"), "NoGpus").await?;

    assert_eq!(
        said,
        "spec.scaleTargetRef: the pods of Deployment \"web\" ask for no GPU: set resources.limits[\"nvidia.com/gpu\"] (or \
         nvidia.com/gpu.shared, nvidia.com/mig-…) on a container, or scale it with an HPA; GPUs that come by a ResourceClaim are \
         not read yet. The workload keeps its replicas until this is fixed."
    );
    stage.search_goes_on_and_chat_is_left_alone(3).await?;
    assert!(stage.scalings("web")?.is_empty());
    let patch = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}},
    ]}}}});
    stage
        .plane
        .kubectl()?
        .run(&["patch", "deployment", "web", "-n", &stage.namespace, "-p", &patch.to_string()])
        .await?;
    stage.until_condition("web", "Accepted", True).await?;
    stage.until_replicas("web", 4).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_is_not_scaled_is_refused_with_those_that_are() -> anyhow::Result<()> {
    let stage = Stage::set("kind").await?;
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "chat"});

    let said = stage.refused(&chat().with("spec.scaleTargetRef", job), "UnsupportedKind").await?;

    assert_eq!(
        said,
        "spec.scaleTargetRef: wellfed does not scale batch/v1 Job; it scales apps/v1 Deployment and apps/v1 StatefulSet. \
         The workload keeps its replicas until this is fixed."
    );
    stage.search_goes_on_and_chat_is_left_alone(3).await?;
    stage.accepted_and_scaled(&chat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_workloads_with_one_target_the_older_keeps_it_until_it_is_deleted() -> anyhow::Result<()> {
    let stage = Stage::set("same-target").await?;
    let older = chat().with("metadata.name", "z-older");
    stage.accepted_and_scaled(&older).await?;
    let newer = chat().with("metadata.name", "a-newer").with("spec.signals.0.target.averageValue", "20");

    let said = stage.refused(&newer, "DuplicateTarget").await?;

    assert_eq!(
        said,
        "spec.scaleTargetRef: Deployment \"chat\" is the target of GpuWorkload \"z-older\" already, which is older: delete \
         one of the two. The workload keeps its replicas until this is fixed."
    );
    stage.search_goes_on_and_chat_is_left_alone(3).await?;
    stage.source.set(r#"queue_depth{queue="chat"} 60"#);
    stage.until_replicas("chat", 6).await?;
    stage.plane.kubectl()?.run(&["delete", "gpuworkload", "z-older", "-n", &stage.namespace]).await?;
    stage.until_condition("a-newer", "Accepted", True).await?;
    stage.until_replicas("chat", 3).await
}
