//! What the API server itself refuses, before the operator sees it.

use serde_json::json;
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::operator_fixture::Wish;

use crate::stage::{Stage, chat};

/// A field set to what it must not be, and what `kubectl apply` then says.
fn sizes() -> Vec<(Wish, &'static str)> {
    let average = |value: &str| chat().with("spec.signals.0.target.averageValue", value);
    let deployment = |name: &str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    let pool = |name: &str, base: u32| json!({"name": name, "base": base, "scaleTargetRef": deployment(name)});
    let pools = json!([pool("od", 5), pool("spot", 4)]);
    vec![
        (chat().with("spec.minReplicas", 9), "spec: Invalid value: minReplicas must not exceed maxReplicas"),
        (chat().with("spec.minReplicas", 0), "spec.minReplicas in body should be greater than or equal to 1"),
        (chat().with("spec.maxReplicas", 0), "spec.maxReplicas in body should be greater than or equal to 1"),
        (chat().with("spec.maxReplicas", 10_001), "spec.maxReplicas in body should be less than or equal to 10000"),
        (chat().without("spec", "maxReplicas"), "spec.maxReplicas: Required value"),
        (average("0"), "spec.signals[0].target: Invalid value: averageValue must be above zero"),
        (average("0.0"), "spec.signals[0].target: Invalid value: averageValue must be above zero"),
        (average("-1"), "spec.signals[0].target.averageValue: Invalid value: \"-1\""),
        (average("abc"), "spec.signals[0].target.averageValue: Invalid value: \"abc\""),
        (chat().with("spec.gate.window", "abc"), "spec.gate.window: Invalid value: \"abc\""),
        (chat().with("spec.gate.window", "10"), "spec.gate.window: Invalid value: \"10\""),
        (chat().with("spec.gate.thresholds.busyFrom", "-1"), "spec.gate.thresholds.busyFrom: Invalid value: \"-1\""),
        (chat().with("spec.model", json!({"params": "7", "dtype": "FP16"})), "spec.model.params: Invalid value: \"7\""),
        (
            chat().without("spec", "scaleTargetRef").with("spec.pools", pools),
            "spec: Invalid value: the bases of all pools together must not exceed maxReplicas",
        ),
        (
            chat().with("spec.pools", json!([{"name": "od", "max": "120%"}])),
            "spec.pools[0].max: Invalid value: \"120%\"",
        ),
        (
            chat().with("spec.behavior.scaleDown.stabilizationWindowSeconds", 3601),
            "stabilizationWindowSeconds in body should be less than or equal to 3600",
        ),
    ]
}

/// A time of a model server's requests that can't be meant, and what `kubectl apply` then says.
fn times() -> Vec<(Wish, &'static str)> {
    let late = |source: serde_json::Value| {
        chat().any_signal(json!({"name": "late", "role": "Latency", "source": source, "slo": {"value": "1"}}))
    };
    let quantile = |quantile: &str| late(json!({"vllm": {"metric": "TimeToFirstToken", "quantile": quantile}}));
    let target = json!({"type": "AverageValue", "averageValue": "10"});
    let first = json!({"sglang": {"metric": "TimeToFirstToken"}});
    vec![
        (late(json!({"vllm": {}})), "of vllm role Latency needs metric TimeToFirstToken or EndToEndLatency"),
        (late(json!({"sglang": {"metric": "Running"}})), "of sglang role Latency needs metric TimeToFirstToken or"),
        (chat().any_signal(json!({"name": "late", "source": first, "target": target})), "no other role takes these"),
        (late(json!({"scale": {}})), "role Latency may be read from a model server too"),
        (quantile("1"), "quantile must be above 0 and below 1"),
        (quantile("0"), "quantile must be above 0 and below 1"),
        (
            chat().any_signal(json!({"name": "load", "source": {"vllm": {"quantile": "900m"}}, "target": target})),
            "quantile is for metric TimeToFirstToken and EndToEndLatency",
        ),
    ]
}

/// A structure that can't be meant, and what `kubectl apply` then says.
fn structures() -> Vec<(Wish, &'static str)> {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"});
    let both = "spec: Invalid value: set scaleTargetRef on the spec (with at most one pool), or on every pool";
    let source =
        "spec.signals[0].source: Invalid value: set exactly one source: prometheus, vllm, sglang, triton or scale";
    let no_target = "spec.signals[0]: Invalid value: role Demand needs target, except for source.scale";
    let no_number = "every other role is one number from source.prometheus, without target";
    let query = json!({"prometheus": {"query": "vector(1)"}});
    vec![
        (chat().with("spec.maxReplica", 9), "unknown field \"spec.maxReplica\""),
        (
            chat().with("spec.signals.0.source.prometheus.qurey", "x"),
            "unknown field \"spec.signals[0].source.prometheus.qurey\"",
        ),
        (chat().with("spec.mode", "auto"), "supported values: \"Recommend\", \"Auto\", \"Paused\""),
        (Wish::of("chat"), "spec.signals in body should have at least 1 items"),
        (chat().signal("queue", "vector(1)", "10"), "spec.signals[1]: Duplicate value: {\"name\":\"queue\"}"),
        (chat().with("spec.signals.0.source.vllm", json!({})), source),
        (chat().with("spec.signals.0.source", json!({})), source),
        (Wish::of("chat").any_signal(json!({"name": "load", "source": {"vllm": {}}})), no_target),
        (chat().any_signal(json!({"name": "rate", "role": "Throughput", "source": {"vllm": {}}})), no_number),
        (
            Wish::of("chat").any_signal(json!({"name": "rate", "role": "Throughput", "source": query})),
            "spec: Invalid value: at least one signal must have role Demand or Latency",
        ),
        (chat().with("spec.pools", json!([{"name": "od", "scaleTargetRef": target}])), both),
        (chat().without("spec", "scaleTargetRef"), both),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused_at_once_and_the_workload_goes_on_as_it_was() -> anyhow::Result<()> {
    let stage = Stage::set("schema").await?;
    stage.accepted_and_scaled(&chat()).await?;

    for (wrong, said) in sizes().into_iter().chain(structures()).chain(times()) {
        let refused = stage.apply(&wrong).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains(said), "expected {said:?} of {}, got {refused:?}", wrong.manifest());
    }

    assert_eq!(stage.workload("chat").await?.metadata.generation, Some(1), "none of it was taken");
    stage.until_condition("chat", "Accepted", True).await?;
    stage.source.set(r#"queue_depth{queue="chat"} 60"#);
    stage.until_replicas("chat", 6).await
}
