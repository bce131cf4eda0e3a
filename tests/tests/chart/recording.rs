//! The recording rules: what the pinned Prometheus makes of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use wellfed_tests::binaries::Binaries;

use crate::rendering::{DATA, accepted, the};

#[tokio::test]
async fn the_recording_rules_make_of_series_what_the_gate_reads() {
    promtool("recording-rules").await;
}

#[tokio::test]
async fn golden_15_a_sample_that_can_not_be_is_not_lost_in_a_mean() {
    promtool("golden-15").await;
}

/// Runs the tests of this name on the rules that the chart renders.
async fn promtool(name: &str) {
    let rules = the("PrometheusRule", &accepted("recording-rules"))["spec"].clone();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder for promtool");
    // JSON is YAML.
    fs::write(folder.join("rules.yaml"), rules.to_string()).expect("the rules are written");
    let test = folder.join("test.yaml");
    fs::copy(Path::new(DATA).join(name).with_extension("test.yaml"), &test).expect("the test is copied");

    let promtool =
        Binaries::resolve().await.and_then(|binaries| binaries.path("promtool")).expect("the pinned promtool");
    let output = Command::new(promtool).args(["test", "rules"]).arg(&test).output().expect("promtool starts");

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
}
