//! Latency objectives, from exposition text to replicas.

use anyhow::ensure;
use kube::ResourceExt;
use serde_json::json;
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::fixture::GpuDeployment;
use wellfed_tests::operator_fixture::{SOON, Wish};
use wellfed_tests::{OperatorFixture, Plane};

fn objective() -> Wish {
    Wish::of("chat").any_signal(json!({
        "name": "p95",
        "role": "Latency",
        "source": {"prometheus": {"query": "max(latency_seconds)"}},
        "slo": {"value": "200m", "breachFor": "4s"},
    }))
}

/// What a vLLM server says of `requests` that all began to be answered between half a second and one.
fn answered(test: &OperatorFixture, pod: &str, requests: u32) {
    for (le, count) in [("0.5", 0), ("1.0", requests), ("+Inf", requests)] {
        let series = format!(r#"vllm:time_to_first_token_seconds_bucket{{pod="{pod}",le="{le}"}}"#);
        test.source.set(&format!("{series} {count}"));
    }
    test.source.set(&format!(r#"vllm:time_to_first_token_seconds_count{{pod="{pod}"}} {requests}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_to_the_first_token_of_a_vllm_server_asks_for_more() -> anyhow::Result<()> {
    let test = OperatorFixture::start(&Plane::attach()?, "ttft").await?;
    test.deploy(&GpuDeployment::new("chat").replicas(2)).await?;
    let pods = test.until_ready("chat", 2, SOON).await?;
    pods.iter().for_each(|pod| answered(&test, &pod.name_any(), 0));
    test.apply(&Wish::of("chat").any_signal(json!({
        "name": "first-token",
        "role": "Latency",
        "source": {"vllm": {"metric": "TimeToFirstToken", "quantile": "900m"}},
        "slo": {"value": "200m", "breachFor": "4s"},
    })))
    .await?;
    test.until_condition("chat", "SignalsHealthy", True).await?;
    ensure!(test.replicas("chat").await? == 2, "nobody waits where nothing is asked");

    pods.iter().for_each(|pod| answered(&test, &pod.name_any(), 100));

    test.until_replicas("chat", 3).await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_more_replica_after_another_until_the_objective_is_met_and_none_is_taken_away() -> anyhow::Result<()> {
    let test = OperatorFixture::start(&Plane::attach()?, "slo").await?;
    test.source.set("latency_seconds 0.5");
    test.run(&objective(), 2).await?;
    test.until_condition("chat", "SignalsHealthy", True).await?;

    test.until_replicas("chat", 3).await?;
    test.until_replicas("chat", 4).await?;
    test.source.set("latency_seconds 0.1");
    test.until_desired("chat", 4).await?;
    test.after_cycles(8).await?;

    let sizes: Vec<_> =
        test.scalings("chat")?.events().iter().map(|event| event.request_object[1]["value"].clone()).collect();
    ensure!(sizes.iter().all(|to| *to == 3 || *to == 4 || *to == 5), "one step at a time: {sizes:?}");
    ensure!(sizes.windows(2).all(|pair| pair[0].as_i64() < pair[1].as_i64()), "nothing is taken away: {sizes:?}");
    ensure!(test.replicas("chat").await? <= 5, "the objective is met: {}", test.replicas("chat").await?);
    Ok(())
}
