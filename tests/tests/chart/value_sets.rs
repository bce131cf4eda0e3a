//! The value sets in `tests/chart`, held to the expectations in their first lines (`tests/chart/README.md`).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::rendering::{DATA, helm, objects, render_file};

fn sets(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(DATA).join(folder)).expect("the folder of value sets");
    let mut sets: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    sets.sort();
    sets
}

/// The texts of the lines `# KEY: TEXT` at the top of a file.
fn expected(file: &Path, key: &str) -> Vec<String> {
    let text = fs::read_to_string(file).expect("a value set");
    let header = text.lines().map_while(|line| line.strip_prefix("# "));
    header.filter_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).map(str::to_owned).collect()
}

fn is_there(object: &str, all: &[Value]) -> bool {
    let (kind, name) = object.split_once('/').map_or((object, None), |(kind, name)| (kind, Some(name)));
    all.iter().any(|found| found["kind"] == kind && name.is_none_or(|name| found["metadata"]["name"] == name))
}

/// What is wrong with the rendering of a set that must be accepted.
fn complaints(file: &Path) -> Vec<String> {
    let rendered = match render_file(file) {
        Ok(rendered) => rendered,
        Err(message) => return vec![format!("refused: {message}")],
    };
    let all = objects(&rendered);
    let missing = expected(file, "renders").into_iter().filter(|object| !is_there(object, &all));
    let surplus = expected(file, "without").into_iter().filter(|object| is_there(object, &all));
    let unsaid = expected(file, "says").into_iter().filter(|text| !rendered.contains(text.as_str()));
    missing.map(|object| format!("no {object}")).chain(surplus).chain(unsaid).collect()
}

#[test]
fn every_accepted_value_set_renders_what_its_first_lines_say() {
    let wrong: Vec<_> = sets("accepted").iter().map(|file| (file.clone(), complaints(file))).collect();
    assert!(wrong.len() >= 8, "only {} value sets found", wrong.len());
    let wrong: Vec<_> = wrong.into_iter().filter(|(_, complaints)| !complaints.is_empty()).collect();
    assert_eq!(wrong, []);
}

#[test]
fn every_bad_value_set_is_refused_with_the_message_in_its_first_lines() {
    let files = sets("refused");
    assert!(files.len() >= 20, "only {} value sets found", files.len());
    for file in files {
        let message = render_file(&file).expect_err(&file.display().to_string());
        let texts = expected(&file, "refused");
        assert!(!texts.is_empty(), "{} expects nothing", file.display());
        for text in texts {
            assert!(message.contains(&text), "{}: {text:?} is not in:\n{message}", file.display());
        }
    }
}

#[test]
fn both_charts_pass_the_strict_lint() {
    let said = helm(&["lint", "--strict", "charts/wellfed-crds", "charts/wellfed"]).expect("no complaint");
    assert!(said.contains("2 chart(s) linted, 0 chart(s) failed"), "{said}");
}

#[test]
fn the_charts_carry_the_version_of_the_binary() {
    for chart in ["charts/wellfed-crds", "charts/wellfed"] {
        let shown = helm(&["show", "chart", chart]).expect("a chart");
        let chart: Value = serde_saphyr::from_str(&shown).expect("YAML");
        assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    }
}

#[test]
fn the_definitions_are_kept_when_their_chart_is_uninstalled() {
    let crds = objects(&helm(&["template", "wellfed-crds", "charts/wellfed-crds"]).expect("the chart renders"));
    let mut names: Vec<_> = crds.iter().map(|crd| crd["metadata"]["name"].as_str().unwrap_or_default()).collect();
    names.sort_unstable();
    assert_eq!(names, ["gpupools.wellfed.dev", "gpuworkloads.wellfed.dev"]);
    for crd in &crds {
        assert_eq!(crd["kind"], "CustomResourceDefinition");
        assert_eq!(crd["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    }
}
