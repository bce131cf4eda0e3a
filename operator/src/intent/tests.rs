use super::*;
use serde_json::{Value, json};
use wellfed_crds::Better;
use wellfed_engine::policy::Target;
use wellfed_engine::rules::Thresholds;

fn settings(gate: &Value) -> Settings {
    let prometheus = json!([{ "name": "default", "url": "http://localhost:9090" }]);
    let config = serde_json::from_value(json!({ "prometheus": prometheus, "gate": gate })).unwrap();
    Settings { config, spacing: SignedDuration::from_secs(30) }
}

fn signal(name: &str, role: &str) -> Value {
    json!({ "name": name, "role": role, "source": { "prometheus": { "query": "sum(some_metric)" } } })
}

fn read(change: impl FnOnce(&mut Value), gate: &Value) -> Result<Intent, Vec<Refusal>> {
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "train" });
    let mut load = signal("load", "Demand");
    load["target"] = json!({ "type": "AverageValue", "averageValue": "10" });
    let mut spec = json!({ "maxReplicas": 4, "scaleTargetRef": target, "signals": [load] });
    change(&mut spec);
    intent(&serde_json::from_value(spec).unwrap(), "demo", &settings(gate))
}

fn refused(change: impl FnOnce(&mut Value)) -> String {
    let refusals = read(change, &json!({})).err().expect("refused");
    refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn signals_that_describe_the_work_make_no_demand() {
    let roles = [("rate", "Throughput"), ("loss", "Progress"), ("score", "Quality")];
    let change = |spec: &mut Value| {
        for (name, role) in roles {
            spec["signals"].as_array_mut().unwrap().push(signal(name, role));
        }
    };

    let intent = read(change, &json!({})).ok().unwrap();

    let demanding: Vec<_> = intent.policy.signals.iter().map(|signal| signal.name.0.as_str()).collect();
    assert_eq!(demanding, ["load"]);
    assert_eq!(intent.policy.signals[0].target, Target::AverageValue(10.0));
    let measured: Vec<_> = intent.measures.iter().map(|(what, _)| *what).collect();
    assert_eq!(measured, [Measure::Throughput, Measure::Progress, Measure::Quality(Better::Higher)]);
}

#[test]
fn a_workloads_threshold_wins_over_the_clusters_and_that_over_the_built_in() {
    let cluster = json!({ "thresholds": { "busyFrom": "800m", "starvedBelow": "400m" } });
    let change = |spec: &mut Value| spec["gate"] = json!({ "thresholds": { "busyFrom": "900m" } });

    let intent = read(change, &cluster).ok().unwrap();

    let wanted = Thresholds { busy_from: 0.9, starved_below: 0.4, ..Thresholds::default() };
    assert_eq!(intent.policy.gate.thresholds, wanted);
    let shown = [("busyFrom", "0.9"), ("starvedBelow", "0.4")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(intent.thresholds, shown.into());
}

#[test]
fn thresholds_that_are_unknown_or_impossible_are_refused_where_they_stand() {
    let unknown = refused(|spec| spec["gate"] = json!({ "thresholds": { "busyform": "900m" } }));
    assert!(
        unknown.starts_with("spec.gate.thresholds.busyform: no threshold \"busyform\"; the nearest are busyFrom, ")
    );

    let impossible = refused(|spec| spec["gate"] = json!({ "thresholds": { "busyFrom": "70" } }));
    assert_eq!(
        impossible,
        "spec.gate.thresholds.busyFrom: 70 is no share; write one from 0 to 1, such as \"700m\" for 70 %"
    );
}

#[test]
fn a_model_says_its_parameters_and_whether_it_is_split() {
    let model = json!({ "params": "7B", "dtype": "FP16", "sharded": true });

    let policy = read(|spec| spec["model"] = model, &json!({})).ok().unwrap().policy;

    assert!(policy.sharded());
    assert_eq!(policy.model.map(|model| model.params), Some(7e9));
    let wrong = refused(|spec| spec["model"] = json!({ "params": "0B", "dtype": "FP16" }));
    assert!(wrong.starts_with("spec.model.params: \"0B\" is no count of parameters above zero"), "{wrong}");
}

/// The time of requests that `source` gives, for an objective of half a second.
fn timed(source: &Value) -> Value {
    json!({ "name": "late", "role": "Latency", "source": source, "slo": { "value": "500m" } })
}

#[test]
fn every_model_server_tells_how_long_its_requests_take() {
    let asked = |source: &Value| {
        let intent = read(|spec| spec["signals"] = json!([timed(source)]), &json!({})).ok().unwrap();
        assert!(matches!(intent.policy.signals[0].target, Target::Slo(_)));
        intent.sources[0].ask().unwrap().query.clone()
    };

    let vllm = asked(&json!({ "vllm": { "metric": "TimeToFirstToken", "quantile": "990m" } }));
    assert!(
        vllm.contains("histogram_quantile(0.99, ") && vllm.contains("vllm:time_to_first_token_seconds_bucket"),
        "{vllm}"
    );
    let sglang = asked(&json!({ "sglang": { "metric": "EndToEndLatency" } }));
    assert!(
        sglang.contains("histogram_quantile(0.95, ") && sglang.contains("sglang:e2e_request_latency_seconds_bucket")
    );
    assert!(asked(&json!({ "triton": {} })).contains("nv_inference_request_duration_us"));
}

#[test]
fn a_time_that_no_objective_is_set_for_and_a_quantile_that_is_none_are_refused() {
    let of = |source: Value| refused(|spec| spec["signals"] = json!([timed(&source)]));

    assert!(of(json!({ "vllm": {} })).contains("role Latency needs metric TimeToFirstToken or EndToEndLatency"));
    for quantile in ["0", "1", "95"] {
        let refusal = of(json!({ "vllm": { "metric": "TimeToFirstToken", "quantile": quantile } }));
        assert!(refusal.contains("spec.signals[0].source.vllm.quantile") && refusal.contains("below 1"), "{refusal}");
    }
    let demand = refused(|spec| spec["signals"][0]["source"] = json!({ "vllm": { "metric": "EndToEndLatency" } }));
    assert!(demand.contains("no other role takes these"), "{demand}");
}
