//! vLLM's own metrics, by pod: only live pods of the workload count.

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt};
use serde_json::json;
use std::time::Duration;
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::fixture::GpuDeployment;
use wellfed_tests::operator_fixture::{SOON, Wish};
use wellfed_tests::{OperatorFixture, Plane, until};

fn load() -> Wish {
    Wish::of("chat").any_signal(json!({
        "name": "load",
        "source": {"vllm": {}},
        "target": {"type": "AverageValue", "averageValue": "10"},
    }))
}

/// What the server in `pod` exposes.
fn expose(stage: &OperatorFixture, pod: &str, running: u32, waiting: u32) {
    let labels = format!(r#"engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct",pod="{pod}""#);
    stage.source.set(&format!("vllm:num_requests_running{{{labels}}} {running}"));
    stage.source.set(&format!("vllm:num_requests_waiting{{{labels}}} {waiting}"));
    stage.source.set(&format!("vllm:kv_cache_usage_perc{{{labels}}} 0.4"));
}

async fn names(stage: &OperatorFixture, count: usize) -> anyhow::Result<Vec<String>> {
    Ok(stage.until_ready("chat", count, SOON).await?.iter().map(ResourceExt::name_any).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_for_live_pods_and_not_for_dead_ones() -> anyhow::Result<()> {
    let stage = OperatorFixture::start(&Plane::attach()?, "vllm").await?;
    stage.deploy(&GpuDeployment::new("chat").replicas(2)).await?;
    for pod in names(&stage, 2).await? {
        expose(&stage, &pod, 12, 8);
    }
    stage.apply(&load()).await?;
    stage.until_replicas("chat", 4).await?;

    let four = names(&stage, 4).await?;
    // A replica that is Ready for less than a minute is not missed yet.
    until("two silent replicas to be told", Duration::from_secs(100), async || {
        let silent = stage.until_reason("chat", "SignalsHealthy", "SamplesMissing").await?.message;
        let said = "signal load: no believable sample for 2 of 4 Ready replicas. Nothing shrinks until that ends.";
        ensure!(silent == said, "{silent}");
        Ok(())
    })
    .await?;
    for pod in &four {
        expose(&stage, pod, 8, 2);
    }
    stage.until_condition("chat", "SignalsHealthy", True).await?;

    let dead = four.first().context("four pods")?;
    expose(&stage, dead, 256, 900);
    Api::<Pod>::namespaced(stage.client(), &stage.namespace).delete(dead, &DeleteParams::default()).await?;
    let now = names(&stage, 4).await?;
    for pod in &now {
        expose(&stage, pod, 8, 2);
    }
    stage.until_condition("chat", "SignalsHealthy", True).await?;
    let before = stage.scalings("chat")?.len();
    stage.after_cycles(4).await?;
    ensure!(stage.scalings("chat")?.len() == before, "a dead pod's requests were counted");
    assert_eq!(stage.replicas("chat").await?, 4);
    let still = stage.prometheus.query(&format!("vllm:num_requests_waiting{{pod=\"{dead}\"}}")).await?;
    assert_eq!(still.len(), 1, "the dead pod's series is still there");
    Ok(())
}
