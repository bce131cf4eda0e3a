//! The book's pages: each finding's has what a reader looks for, queries are what the operator's own parser reads, and
//! reasons and metrics are those that there are.

#![allow(clippy::unwrap_used)] // it reads files of the checkout

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use wellfed::signals::promql;
use wellfed_engine::gate::State;

const SECTIONS: [&str; 4] = ["How it is measured", "See it yourself", "Fix", "When it is wrong"];

#[test]
fn every_page_of_a_finding_has_the_same_sections_and_a_query() {
    let pages: Vec<_> = pages("docs/findings").into_iter().filter(|page| !page.ends_with("README.md")).collect();
    assert_eq!(pages.len(), 26, "one for each rule, and ScaleOutIneffective");
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let sections: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(sections, SECTIONS, "{}", page.display());
        assert!(!queries(&text).is_empty(), "{}: no query", page.display());
    }
}

#[test]
fn every_query_of_the_book_is_promql_that_the_operator_reads() {
    for page in pages("docs").into_iter().chain(pages("docs/findings")) {
        for query in queries(&fs::read_to_string(&page).unwrap()) {
            let error = promql::parse(&query).err().map(|error| error.to_string());
            assert_eq!(error, None, "{}: {query}", page.display());
        }
    }
}

/// Where reasons of conditions and events are written.
const REASONS: [&str; 4] = ["conditions.rs", "apply.rs", "happenings.rs", "turns.rs"];
/// Words there that are no reasons: what an event's action is, a finding's state and weight, a kind.
const NO_REASONS: [&str; 11] = [
    "Decide",
    "Either",
    "Judge",
    "NotSeenAgain",
    "Observe",
    "Open",
    "Regressed",
    "Resolved",
    "Retesting",
    "Scale",
    "StatefulSet",
];

#[test]
fn every_reason_of_a_condition_or_an_event_is_listed_and_no_other() {
    let page = fs::read_to_string(root("docs/conditions.md")).unwrap();
    let reasons = reasons();

    let unlisted: Vec<_> = reasons.difference(&quoted(&page)).cloned().collect();
    assert_eq!(unlisted, Vec::<String>::new(), "docs/conditions.md lacks them");
    let invented: Vec<_> = quoted(&reason_cells(&page)).difference(&reasons).cloned().collect();
    assert_eq!(invented, Vec::<String>::new(), "docs/conditions.md has reasons that nothing writes");
}

#[test]
fn every_metric_of_ours_that_pages_and_alerts_name_exists() {
    let code = ["metrics.rs", "evidence/shown.rs"].map(source).concat();
    let registered = words(&code, '"', is_metric);
    for page in ["docs/operating.md", "docs/findings/DataInvalid.md", "examples/monitoring/alerts.yaml"] {
        let text = fs::read_to_string(root(page)).unwrap();
        let names =
            text.split(|letter: char| !is_metric_letter(letter)).filter_map(|word| word.strip_prefix("wellfed_"));
        for name in names {
            let base =
                ["_total", "_seconds"].iter().fold(name, |name, suffix| name.strip_suffix(suffix).unwrap_or(name));
            assert!(registered.contains(base) || registered.contains(name), "{page}: wellfed_{name}");
        }
    }
}

fn reasons() -> BTreeSet<String> {
    let code = REASONS.map(source).concat();
    let mut reasons = words(&code, '"', is_reason);
    reasons.extend(variants("refusal.rs", "RefusalReason"));
    let states = [State::Retesting, State::Resolved, State::Regressed, State::NotSeenAgain];
    reasons.extend(states.map(|state| format!("Finding{state:?}")));
    reasons.retain(|reason| !NO_REASONS.contains(&reason.as_str()));
    reasons
}

/// The cells of tables that name conditions' states and reasons.
fn reason_cells(page: &str) -> String {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    rows.flat_map(|row| row.split('|').skip(1).take(2)).collect()
}

/// Reasons in backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    words(text, '`', is_reason)
}

fn words(text: &str, mark: char, fits: fn(&str) -> bool) -> BTreeSet<String> {
    text.split(mark).filter(|word| fits(word)).map(str::to_owned).collect()
}

fn is_reason(word: &str) -> bool {
    word.len() > 1
        && word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.chars().all(|letter| letter.is_ascii_alphabetic())
}

fn is_metric(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_metric_letter)
}

const fn is_metric_letter(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter == '_'
}

/// The names of an enum's variants.
fn variants(file: &str, name: &str) -> Vec<String> {
    let code = source(file);
    let (_, rest) = code.split_once(&format!("pub enum {name} {{")).unwrap();
    let (body, _) = rest.split_once('}').unwrap();
    body.lines().filter_map(|line| line.trim().strip_suffix(',')).map(str::to_owned).collect()
}

/// A file of the operator without its tests.
fn source(file: &str) -> String {
    let code = fs::read_to_string(root("operator/src").join(file)).unwrap();
    code.split("#[cfg(test)]").next().unwrap().to_owned()
}

/// What stands in blocks of queries, one a line.
fn queries(text: &str) -> Vec<String> {
    let blocks = text.split("```promql\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn pages(folder: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(root(folder)).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect()
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}
