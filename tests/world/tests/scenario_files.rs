//! A wrong scenario is refused with the file, the path and the fix.

#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]

use std::path::Path;
use wellfed_world::{
    scenario::{Metrics, Scenario},
    sim::Sim,
};

const GOOD: &str = "
workloads:
- name: search
  namespace: demo
  selector: {matchLabels: {app: search}}
  model: {service: {gpuSecondsPerRequest: 0.03, concurrency: 4}}
  arrivals: {rate: {perSecond: 50}}
changes:
- {at: 1m30s, workload: search, set: {telemetry.metrics: Off}}
";

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "lab.yaml", Path::new(".")).map_err(|error| error.to_string())
}

fn refusal(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from} is in the scenario");
    parse(&GOOD.replace(from, to)).unwrap_err()
}

#[test]
fn words_of_the_telemetry_are_words_and_times_are_times() {
    let scenario = parse(GOOD).unwrap();

    assert_eq!(scenario.changes[0].at.seconds(), 90.0);
    assert_eq!(scenario.changes[0].set["telemetry.metrics"], "Off");
}

#[test]
fn each_telemetry_state_can_be_written_plainly() {
    for (word, state) in [
        ("Off", Metrics::Off),
        ("Frozen", Metrics::Frozen),
        ("NaN", Metrics::NaN),
        ("Old", Metrics::Old),
        ("Normal", Metrics::Normal),
    ] {
        let scenario = parse(&GOOD.replace("Off", word)).unwrap();
        let changed = scenario.workloads[0].with("telemetry.metrics", &scenario.changes[0].set["telemetry.metrics"]);
        assert_eq!(changed.unwrap().telemetry.metrics, state, "{word}");
    }
}

#[test]
fn a_wrong_field_is_refused_with_its_file_and_the_fields_there_are() {
    let error = refusal("concurrency", "concurency");

    assert!(
        error.starts_with("lab.yaml: ") && error.contains("concurency") && error.contains("concurrency, gpuMemoryMib"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_is_refused_with_its_path_and_the_fix() {
    let cases = [
        ("0.03", "-1", "lab.yaml: workloads[0].model.service.gpuSecondsPerRequest: is -1; it must be a number above 0"),
        (
            "{matchLabels: {app: search}}",
            "{matchLabels: {}}",
            "lab.yaml: workloads[0].selector.matchLabels: is empty; name at least one label of the pods",
        ),
        (
            "workload: search",
            "workload: serch",
            "lab.yaml: changes[0].set.telemetry.metrics: there is no workload \"serch\"; the scenario has search",
        ),
        (
            "telemetry.metrics: Off",
            "model.service.workers: 3",
            "lab.yaml: changes[0].set.model.service.workers: model.service.workers: there is no \"workers\" here; choose one of \
             batch, concurrency, cpuPool, cpuSecondsPerRequest, gpuMemoryMib, gpuSecondsPerRequest, router, waitSecondsPerRequest, warmUp",
        ),
        (
            "telemetry.metrics: Off",
            "namespace: other",
            "lab.yaml: changes[0].set.namespace: namespace: only paths under model, arrivals and telemetry can change while \
             the world runs",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(refusal(from, to), expected);
    }
}

#[test]
fn a_time_without_a_unit_is_refused_with_an_example() {
    let error = refusal("1m30s", "90");

    assert!(error.contains("\"90\" is no length of time; write it like 90s, 1m30s, 250ms or 14d"), "{error}");
}

#[test]
fn a_missing_trace_is_named() {
    let text = GOOD.replace("{rate: {perSecond: 50}}", "{trace: {file: none.csv}}");

    let error = Sim::new(&parse(&text).unwrap()).unwrap_err().to_string();

    assert!(error.starts_with("./none.csv: cannot be read"), "{error}");
    assert!(
        error.ends_with("a trace is a CSV file with the header arrival_s,prompt_tokens,output_tokens, sorted by time")
    );
}

#[test]
fn training_on_a_request_trace_is_refused() {
    let text = GOOD
        .replace(
            "{service: {gpuSecondsPerRequest: 0.03, concurrency: 4}}",
            "{training: {gpuSecondsPerStep: 1, samplesPerStep: 8, loader: {workers: 1, cpuSecondsPerSample: 1, bytesPerSample: 1}}}",
        )
        .replace("{rate: {perSecond: 50}}", "{trace: {file: t.csv}}");

    assert_eq!(
        parse(&text).unwrap_err(),
        "lab.yaml: workloads[0].arrivals.trace: training takes a flow of samples; use arrivals.rate or arrivals.series"
    );
}
