//! The chart's recording rules are the questions that the gate's lane asks. `make bless` rewrites them.

#![allow(clippy::unwrap_used)] // it reads and rewrites a file of the checkout

use std::fs;
use std::path::Path;

#[test]
fn the_recording_rules_of_the_chart_are_the_lanes_own_questions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/wellfed/files/recording-rules.yaml");
    let wanted = wellfed::evidence::rules();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &wanted).unwrap();
    } else {
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == wanted, "{} is out of date: run `make bless`", path.display());
    }
}
