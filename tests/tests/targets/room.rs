//! More is wanted than can run: quotas, full nodes, pools with limits, GPUs that others hold, nodes that go away.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use wellfed_crds::Condition;
use wellfed_crds::ConditionStatus::{False, True};
use wellfed_tests::fixture::{Fixture, GpuDeployment, GpuNodes, OWNER};
use wellfed_tests::operator_fixture::Wish;
use wellfed_tests::{OperatorFixture, until};

use crate::{chat, stage, stateful_set};

/// The label by which the tests' pools select nodes.
const POOL: &str = "test.wellfed.dev/pool";

/// A pool `<namespace>-<name>` of the test's nodes with the label `name`; it goes away with the namespace.
async fn pool(stage: &OperatorFixture, name: &str, more: Value) -> anyhow::Result<String> {
    let uid = stage.kubectl(&["get", "namespace", &stage.namespace, "-o", "jsonpath={.metadata.uid}"]).await?;
    let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": stage.namespace, "uid": uid});
    let full = format!("{}-{name}", stage.namespace);
    let mut pool = json!({
        "apiVersion": "wellfed.dev/v1alpha1",
        "kind": "GpuPool",
        "metadata": {"name": full, "ownerReferences": [owner]},
        "spec": {"capacityType": "OnDemand", "nodeSelector": {OWNER: stage.namespace, POOL: name}},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        pool["spec"][key] = value.clone();
    }
    stage.create(&pool.to_string()).await?;
    Ok(full)
}

fn target(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name})
}

/// `wish` in one pool, with the Deployment of its name.
fn in_pool(wish: Wish, pool: &str) -> Wish {
    let name = wish.name().to_owned();
    wish.without("spec", "scaleTargetRef").with("spec.pools", json!([{"name": pool, "scaleTargetRef": target(&name)}]))
}

#[tokio::test]
async fn a_quota_that_is_exceeded_is_quoted_and_the_number_is_driven_no_further() -> anyhow::Result<()> {
    let stage = stage("quota").await?;
    stage.kubectl(&["create", "quota", "two-gpus", "--hard=requests.nvidia.com/gpu=2"]).await?;
    // Twice as much as it should be, whatever the replicas: as a latency that more replicas can't lower.
    stage.source.set("load 200");
    let doubling = json!({
        "name": "load",
        "source": {"prometheus": {"query": "load"}},
        "target": {"type": "Value", "value": "100"},
    });
    stage.run(&Wish::of("chat").any_signal(doubling), 1).await?;

    let stuck = stage.until_reason("chat", "Ready", "ReplicasNotCreated").await?;
    stage.until_replicas("chat", 4).await?;
    stage.after_cycles(5).await?;

    assert!(stuck.message.starts_with("pods can't be made: pods \"chat-"), "{}", stuck.message);
    assert!(
        stuck.message.contains("exceeded quota: two-gpus, requested: requests.nvidia.com/gpu=1"),
        "{}",
        stuck.message
    );
    assert_eq!(
        stage.replicas("chat").await?,
        4,
        "twice the two that are Ready, and not twice the four that are asked for"
    );
    Ok(())
}

#[tokio::test]
async fn a_stateful_set_that_a_quota_keeps_from_making_pods_is_told_too() -> anyhow::Result<()> {
    let stage = stage("quota-set").await?;
    stage.kubectl(&["create", "quota", "two-gpus", "--hard=requests.nvidia.com/gpu=2"]).await?;
    stage.create(&stateful_set(&stage, 1)).await?;
    stage.apply(&chat(4).with("spec.scaleTargetRef.kind", "StatefulSet")).await?;

    let stuck = until_not_ready(&stage, "ReplicasNotCreated").await?;

    let namespace = &stage.namespace;
    let expected = format!(
        "pods can't be made: 2 of 4 replicas of StatefulSet \"chat\" have none; `kubectl -n {namespace} describe statefulset \
         chat` tells why (a quota, most often)"
    );
    assert_eq!(stuck.message, expected);
    Ok(())
}

/// What is told only after half a minute.
async fn until_not_ready(stage: &OperatorFixture, reason: &str) -> anyhow::Result<Condition> {
    let found = until(&format!("Ready={reason}"), Duration::from_mins(1), async || {
        let conditions = stage.status("chat").await?.conditions;
        let ready = conditions.into_iter().find(|condition| condition.kind == "Ready");
        let ready = ready.filter(|condition| condition.reason == reason && condition.status == False);
        ready.ok_or_else(|| anyhow::anyhow!("nothing of the kind"))
    })
    .await?;
    Ok(found)
}

#[tokio::test]
async fn replicas_that_no_node_takes_are_told_in_the_schedulers_words() -> anyhow::Result<()> {
    let stage = stage("full").await?;
    stage.deploy(&GpuDeployment::new("chat").gpus(8)).await?;
    stage.apply(&chat(3)).await?;

    let said = until_not_ready(&stage, "ReplicasUnschedulable").await?;

    assert!(said.message.starts_with("1 pods find no node: 0/"), "{}", said.message);
    assert!(said.message.contains("2 Insufficient nvidia.com/gpu"), "{}", said.message);
    assert_eq!(stage.replicas("chat").await?, 3, "what is asked for stays asked for");
    Ok(())
}

#[tokio::test]
async fn growth_ends_where_the_pools_gpus_end_and_those_of_others_count() -> anyhow::Result<()> {
    let stage = stage("shared").await?;
    let others = Fixture::new(&stage.plane, "others").await?;
    stage.add_nodes(&GpuNodes::new(1).gpus(8).label(POOL, "small")).await?;
    let pool = pool(&stage, "small", json!({})).await?;
    stage.plane.kubectl()?.run_with_input(&["apply", "-f", "-"], &foreign(&others, &stage)).await?;
    others.until_ready("foreign", 1, Duration::from_secs(30)).await?;
    stage.deploy(&GpuDeployment::new("chat").on_nodes_with(POOL, "small")).await?;
    stage.apply(&in_pool(chat(8), &pool)).await?;

    stage.until_replicas("chat", 3).await?;
    let limited = stage.until_reason("chat", "ScalingLimited", "NoCapacity").await?;
    stage.after_cycles(3).await?;
    let full = stage.replicas("chat").await?;
    stage.plane.kubectl()?.run(&["delete", "pod", "foreign", "-n", &others.namespace, "--now"]).await?;
    stage.until_replicas("chat", 8).await?;

    assert_eq!((limited.status, full), (True, 3), "eight, less the five of another namespace");
    Ok(())
}

/// A pod of another namespace that holds five GPUs of the stage's pool.
fn foreign(others: &Fixture, stage: &OperatorFixture) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "foreign", "namespace": others.namespace, "labels": {"app": "foreign"}},
        "spec": {
            "nodeSelector": {OWNER: stage.namespace, POOL: "small"},
            "tolerations": [{"key": OWNER, "value": stage.namespace, "effect": "NoSchedule"}],
            "containers": [{"name": "main", "image": "fake", "resources": {"limits": {"nvidia.com/gpu": "5"}}}],
        },
    })
    .to_string()
}

#[tokio::test]
async fn a_pools_limit_holds_for_all_its_workloads_together() -> anyhow::Result<()> {
    let stage = stage("limit").await?;
    stage.add_nodes(&GpuNodes::new(2).gpus(8).label(POOL, "limited")).await?;
    let pool = pool(&stage, "limited", json!({"limits": {"gpus": 6}})).await?;
    for name in ["chat", "search"] {
        stage.deploy(&GpuDeployment::new(name).on_nodes_with(POOL, "limited")).await?;
        stage.apply(&in_pool(Wish::of(name).asking(5), &pool)).await?;
    }

    let sum = async || anyhow::Ok(stage.replicas("chat").await? + stage.replicas("search").await?);
    until("six replicas", Duration::from_secs(30), async || {
        let now = sum().await?;
        ensure!(now == 6, "{now}");
        Ok(())
    })
    .await?;
    stage.after_cycles(5).await?;

    assert_eq!(sum().await?, 6);
    let limited = stage.until_reason("search", "ScalingLimited", "NoCapacity").await?;
    assert_eq!(limited.status, True);
    Ok(())
}

#[tokio::test]
async fn replicas_of_a_spot_pool_that_goes_away_are_placed_on_demand_after_the_spill_time() -> anyhow::Result<()> {
    let stage = stage("spill").await?;
    let spot_node = stage.add_nodes(&GpuNodes::new(1).gpus(8).label(POOL, "spot")).await?.remove(0);
    stage.add_nodes(&GpuNodes::new(1).gpus(8).label(POOL, "od")).await?;
    let spot = pool(&stage, "spot", json!({"capacityType": "Spot"})).await?;
    let od = pool(&stage, "od", json!({})).await?;
    stage.deploy(&GpuDeployment::new("chat-spot").on_nodes_with(POOL, "spot")).await?;
    stage.deploy(&GpuDeployment::new("chat-od").replicas(0).on_nodes_with(POOL, "od")).await?;
    let pools = json!([
        {"name": spot, "spillAfter": "5s", "scaleTargetRef": target("chat-spot")},
        {"name": od, "scaleTargetRef": target("chat-od")},
    ]);
    stage.apply(&chat(4).without("spec", "scaleTargetRef").with("spec.pools", pools)).await?;
    stage.until_ready("chat-spot", 4, Duration::from_secs(30)).await?;

    // Reclaimed: no new pods, and the old ones go.
    stage.kubectl(&["cordon", &spot_node]).await?;
    stage.kubectl(&["delete", "pods", "-l", "app=chat-spot", "--now", "--wait=false"]).await?;
    stage.until_ready("chat-od", 4, Duration::from_mins(1)).await?;

    stage.after_cycles(3).await?;
    assert_eq!((stage.replicas("chat-spot").await?, stage.replicas("chat-od").await?), (0, 4));
    let status = stage.status("chat").await?;
    let shares: Vec<_> = status.pools.iter().map(|pool| (pool.replicas, pool.desired_replicas)).collect();
    assert_eq!(shares, [(0, 0), (4, 4)]);
    Ok(())
}
