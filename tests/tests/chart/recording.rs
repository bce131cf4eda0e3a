//! The recording rules and the alerts of the examples: what the pinned Prometheus makes of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::rendering::{DATA, accepted, objects, program, the};

#[test]
fn the_recording_rules_make_of_series_what_the_gate_reads() {
    promtool("recording-rules", &recording_rules());
}

#[test]
fn golden_15_a_sample_that_can_not_be_is_not_lost_in_a_mean() {
    promtool("golden-15", &recording_rules());
}

#[test]
fn the_alerts_fire_when_a_person_should_look_and_only_for_the_leader() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/monitoring/alerts.yaml");
    let alerts = objects(&fs::read_to_string(file).expect("the alerts are there"));

    promtool("alerts", &the("PrometheusRule", &alerts)["spec"]);
}

/// Those that the chart renders.
fn recording_rules() -> Value {
    the("PrometheusRule", &accepted("recording-rules"))["spec"].clone()
}

/// Runs the tests of this name on `rules`.
fn promtool(name: &str, rules: &Value) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder for promtool");
    // JSON is YAML.
    fs::write(folder.join("rules.yaml"), rules.to_string()).expect("the rules are written");
    let test = folder.join("test.yaml");
    fs::copy(Path::new(DATA).join(name).with_extension("test.yaml"), &test).expect("the test is copied");

    let output =
        Command::new(program("promtool")).args(["test", "rules"]).arg(&test).output().expect("promtool starts");

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
}
