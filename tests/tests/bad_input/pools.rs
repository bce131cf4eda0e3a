//! Pools that a workload names.

use anyhow::ensure;
use serde_json::json;
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::operator_fixture::Wish;

use crate::stage::{Stage, chat};

fn in_pool(name: &str) -> Wish {
    chat().with("spec.pools", json!([{"name": name}]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_does_not_exist_is_refused_with_the_one_that_is_meant() -> anyhow::Result<()> {
    let stage = Stage::set("pool").await?;
    let spot = stage.pool("h100-spot", json!({"capacityType": "Spot"})).await?;
    let slip = stage.pool_name("h100-spt");

    let said = stage.refused(&in_pool(&slip), "UnknownPool").await?;

    assert_eq!(
        said,
        format!(
            "spec.pools[0].name: no GpuPool \"{slip}\" (did you mean \"{spot}\"?). The workload keeps its replicas until \
             this is fixed."
        )
    );
    stage.search_goes_on_and_chat_is_left_alone(3).await?;
    stage.accepted_and_scaled(&in_pool(&spot)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_of_others_is_refused_until_its_selector_matches_the_namespace() -> anyhow::Result<()> {
    let stage = Stage::set("pool-others").await?;
    let reserved = stage.pool("reserved", json!({"namespaceSelector": {"matchLabels": {"team": "speech"}}})).await?;

    let said = stage.refused(&in_pool(&reserved), "PoolNotAllowed").await?;

    assert_eq!(
        said,
        format!(
            "spec.pools[0].name: GpuPool \"{reserved}\" does not serve namespace \"{}\": its namespaceSelector does not \
             match the namespace's labels. Use another pool, or ask its administrator. The workload keeps its replicas \
             until this is fixed.",
            stage.namespace
        )
    );
    stage.search_goes_on_and_chat_is_left_alone(3).await?;
    stage.plane.kubectl()?.run(&["label", "namespace", &stage.namespace, "team=speech"]).await?;
    stage.until_condition("chat", "Accepted", True).await?;
    stage.until_replicas("chat", 4).await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pools_with_one_target_are_refused() -> anyhow::Result<()> {
    let stage = Stage::set("one-target").await?;
    let (first, second) =
        (stage.pool("od", json!({})).await?, stage.pool("spot", json!({"capacityType": "Spot"})).await?);
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"});
    let pool = |name: &str| json!({"name": name, "scaleTargetRef": target});
    let wrong = chat().without("spec", "scaleTargetRef").with("spec.pools", json!([pool(&first), pool(&second)]));

    let said = stage.refused(&wrong, "DuplicateTarget").await?;

    assert_eq!(
        said,
        "spec.pools[1].scaleTargetRef: Deployment chat is the target of another pool too: give each pool its own. The \
         workload keeps its replicas until this is fixed."
    );
    stage.search_goes_on_and_chat_is_left_alone(3).await?;
    stage.accepted_and_scaled(&wrong.with("spec.pools", json!([pool(&first)]))).await
}

/// No mistake that refuses: pools say what their GPUs have, and the workload goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_may_not_fit_its_pool_is_a_warning_and_the_workload_grows_all_the_same() -> anyhow::Result<()> {
    let stage = Stage::set("misfit").await?;
    let small = stage.pool("t4", json!({"gpus": {"memory": 15_360}, "pricePerGpuHour": "0.01"})).await?;
    // Cheaper than any pool of another test.
    let large = stage.pool("a100", json!({"gpus": {"memory": 81_920}, "pricePerGpuHour": "0.02"})).await?;
    let model = json!({"params": "7B", "dtype": "FP16"});

    stage.apply(&in_pool(&small).with("spec.model", model.clone())).await?;

    let warned = stage.until_reason("chat", "Accepted", "ModelMayNotFit").await?;
    ensure!(warned.status == True, "{warned:?}");
    assert_eq!(
        warned.message,
        format!(
            "the model needs about 21–28 GB (14 GB of weights, and KV cache and activations); its GPUs have 16 GB in pool \
             \"{small}\"; pool \"{large}\" is the cheapest that holds it"
        )
    );
    let shown = stage.status("chat").await?.policy.and_then(|policy| policy.model);
    assert_eq!(
        shown,
        Some(format!(
            "14 GB of weights, 21–28 GB with KV cache and activations; cheapest pool that fits: {large} (86 GB, 0.02 an hour)"
        ))
    );
    stage.until_replicas("chat", 4).await?;
    stage.apply(&in_pool(&large).with("spec.model", model)).await?;
    stage.until_reason("chat", "Accepted", "Accepted").await.map(drop)
}
