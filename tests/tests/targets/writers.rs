//! Others write the same number: by hand, an HPA, a controller, or just between our look and our write.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{bail, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::task::JoinHandle;
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::fixture::GpuDeployment;
use wellfed_tests::operator_fixture::SOON;
use wellfed_tests::{OperatorFixture, until};

use crate::{chat, stage};

#[tokio::test]
async fn a_scaling_by_hand_is_reported_and_reconciled_and_three_of_them_end_all_writes() -> anyhow::Result<()> {
    let stage = stage("by-hand").await?;
    stage.run(&chat(4), 4).await?;
    stage.until_condition("chat", "Ready", True).await?;

    stage.scale("chat", 2).await?;
    let note = stage.until_event("chat", "ScaledByOthers").await?;
    stage.until_replicas("chat", 4).await?;
    stage.scale("chat", 1).await?;
    stage.until_replicas("chat", 4).await?;
    stage.scale("chat", 3).await?;
    let contested = stage.until_condition("chat", "Contested", True).await?;
    let written = stage.scalings("chat")?.len();
    stage.after_cycles(3).await?;

    assert_eq!(note, "somebody else changed chat from 4 to 2 replicas");
    assert!(contested.message.starts_with("three changes by others in ten minutes"), "{}", contested.message);
    let able = stage.until_reason("chat", "AbleToScale", "Contested").await?;
    assert!(able.message.ends_with("nothing is written until ten quiet minutes have passed"), "{}", able.message);
    assert_eq!(stage.replicas("chat").await?, 3, "the third change stands");
    assert_eq!((written, stage.scalings("chat")?.len()), (2, 2));
    Ok(())
}

/// Keeps the target at three replicas at least; there is no metrics server, so it wishes no more.
const HPA: &str = r#"{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "their-hpa"},
"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"}, "minReplicas": 3, "maxReplicas": 6,
"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]}}"#;

#[tokio::test]
async fn what_an_hpa_drives_is_left_to_it_and_its_wish_is_shown() -> anyhow::Result<()> {
    let stage = stage("hpa").await?;
    stage.deploy(&GpuDeployment::new("chat")).await?;
    stage.create(HPA).await?;
    stage.until_replicas("chat", 3).await?;
    stage.apply(&chat(5)).await?;

    let driven = stage.until_reason("chat", "AbleToScale", "DrivenByHpa").await?;
    stage.apply(&chat(5).with("spec.mode", "Recommend")).await?;
    let recommended = stage.until_reason("chat", "AbleToScale", "DrivenByHpa").await?;
    let desired = stage.status("chat").await?.desired_replicas;

    let by = "Deployment \"chat\" is driven by HorizontalPodAutoscaler \"their-hpa\", which wishes 3 replicas";
    assert_eq!(driven.message, format!("{by}: delete one of the two; nothing is written until that ends"));
    assert!(recommended.message.starts_with(by), "{}", recommended.message);
    assert_eq!(desired, Some(5), "what wellfed would do is shown beside it");
    assert_eq!(stage.scalings("chat")?.summary(), "");
    stage.kubectl(&["delete", "hpa", "their-hpa"]).await?;
    stage.apply(&chat(5)).await?;
    stage.until_replicas("chat", 5).await
}

#[tokio::test]
async fn a_target_that_a_controller_owns_is_left_to_it() -> anyhow::Result<()> {
    let stage = stage("owned").await?;
    stage.run(&chat(3), 3).await?;
    stage.until_condition("chat", "Ready", True).await?;

    stage.kubectl(&["create", "configmap", "inference-graph"]).await?;
    let uid = stage.kubectl(&["get", "configmap", "inference-graph", "-o", "jsonpath={.metadata.uid}"]).await?;
    let owner = format!(
        r#"{{"metadata": {{"ownerReferences": [{{"apiVersion": "v1", "kind": "ConfigMap", "name": "inference-graph",
            "uid": "{uid}", "controller": true}}]}}}}"#
    );
    stage.kubectl(&["patch", "deployment", "chat", "-p", &owner]).await?;
    let driven = stage.until_reason("chat", "AbleToScale", "DrivenByOwner").await?;
    stage.ask("chat", 5).await?;
    stage.until_desired("chat", 5).await?;
    stage.after_cycles(2).await?;

    let expected = "Deployment \"chat\" is driven by its controller ConfigMap \"inference-graph\": target that instead, if it \
                    has /scale; nothing is written until that ends";
    assert_eq!(driven.message, expected);
    assert_eq!(stage.scalings("chat")?.summary(), "");
    Ok(())
}

#[tokio::test]
async fn two_workloads_of_one_target_are_one_too_many_and_the_older_goes_on() -> anyhow::Result<()> {
    let stage = stage("two-owners").await?;
    stage.run(&chat(2), 1).await?;
    stage.until_replicas("chat", 2).await?;
    tokio::time::sleep(Duration::from_millis(1100)).await; // creation times are whole seconds
    let other = wellfed_tests::operator_fixture::Wish::of("other").asking(7).with("spec.scaleTargetRef.name", "chat");
    stage.apply(&other).await?;

    let refused = stage.until_reason("other", "Accepted", "DuplicateTarget").await?;
    stage.ask("chat", 4).await?;
    stage.until_replicas("chat", 4).await?;

    let expected = "spec.scaleTargetRef: Deployment \"chat\" is the target of GpuWorkload \"chat\" already, which is older: \
                    delete one of the two";
    assert!(refused.message.starts_with(expected), "{}", refused.message);
    Ok(())
}

/// Somebody sets another number every few milliseconds, so that a look is old before the write that follows from it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_that_somebody_set_since_we_looked_is_never_overwritten() -> anyhow::Result<()> {
    let stage = Arc::new(stage("conflict").await?);
    stage.deploy(&GpuDeployment::new("chat")).await?;
    let numbers = Numbers::of(&stage).await?;
    // Without a limit of change each of our numbers is 8, which nobody else sets.
    let at_once = json!({"policies": [{"type": "Pods", "value": 100, "periodSeconds": 1}]});
    stage.apply(&chat(8).with("spec.behavior.scaleUp", at_once)).await?;
    let busy = Arc::clone(&stage);
    let somebody = tokio::spawn(async move {
        for replicas in (2..=20).filter(|replicas| *replicas != 8).cycle() {
            busy.scale("chat", replicas).await?;
        }
        anyhow::Ok(())
    });

    let too_late = until("a write that came too late", SOON, async || {
        let scalings = stage.scalings("chat")?;
        let late = scalings.clone().filter(|event| event.response_status.code == 422).len();
        ensure!(late > 0, "{}", scalings.summary());
        Ok(late)
    });
    let too_late = too_late.await?;
    somebody.abort();
    stage.after_cycles(2).await?;

    assert!(too_late > 0);
    // Both accounts only grow, and must come to agree: what stood before each of our numbers, by the watch, and what we
    // had read, by the audit log.
    until("each of our numbers to have replaced the one that we had read", SOON, async || {
        let written = stage.scalings("chat")?.filter(|event| event.response_status.code == 200);
        let read: Vec<_> = written.events().iter().map(|event| event.request_object[0]["value"].as_i64()).collect();
        let replaced = numbers.before_each(8)?;
        ensure!(read.iter().flatten().eq(&replaced), "replaced {replaced:?}, read {read:?}");
        Ok(())
    })
    .await?;
    let told = stage.until_event("chat", "Conflict").await?;
    assert!(
        told.ends_with("the target was changed by somebody else, so nothing was written; the next cycle looks again")
    );
    Ok(())
}

/// Every number that the target had, in the order of its versions.
struct Numbers {
    seen: Arc<Mutex<Vec<i64>>>,
    watch: JoinHandle<anyhow::Result<()>>,
}

impl Numbers {
    async fn of(stage: &OperatorFixture) -> anyhow::Result<Self> {
        let api: Api<Deployment> = Api::namespaced(stage.client(), &stage.namespace);
        let first = api.get("chat").await?;
        let seen = Arc::new(Mutex::new(vec![replicas(&first)]));
        let watch = tokio::spawn(note(api, first.resource_version().unwrap_or_default(), Arc::clone(&seen)));
        Ok(Self { seen, watch })
    }

    /// What stood each time before it became `number`, as far as it has been seen.
    fn before_each(&self, number: i64) -> anyhow::Result<Vec<i64>> {
        ensure!(!self.watch.is_finished(), "the watch ended");
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Changes of the status have versions too.
        all.dedup();
        Ok(all.windows(2).filter(|pair| pair[1] == number).map(|pair| pair[0]).collect())
    }
}

/// Notes each number after the version `from`. The API server drops a watch that it finds slow; the next goes on from there.
async fn note(api: Api<Deployment>, mut from: String, seen: Arc<Mutex<Vec<i64>>>) -> anyhow::Result<()> {
    loop {
        let mut events = api.watch(&WatchParams::default(), &from).await?.boxed();
        while let Ok(Some(event)) = events.try_next().await {
            match event {
                WatchEvent::Modified(deployment) => {
                    from = deployment.resource_version().unwrap_or_default();
                    seen.lock().unwrap_or_else(PoisonError::into_inner).push(replicas(&deployment));
                }
                WatchEvent::Error(status) => bail!("{status:?}"),
                WatchEvent::Added(_) | WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
            }
        }
    }
}

fn replicas(deployment: &Deployment) -> i64 {
    deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default().into()
}
