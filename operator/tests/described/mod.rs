//! A finding as `kubectl describe` prints it.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use wellfed::advice::advise;
use wellfed::catalog::Catalog;
use wellfed::evidence::{OwnSaid, WatchedPod};
use wellfed::findings::{Sources, findings};
use wellfed::observe::{Ready, Subject, SubjectState};
use wellfed::resolve::Resolved;
use wellfed_crds::{FindingStatus, GpuWorkloadStatus};
use wellfed_engine::testing::{Scenario, in_pool, trainer, world};

const NAME: &str = "vision-train";

/// A trainer on eight GPUs of 2.10 an hour that wants twelve, and waits for its data.
pub fn finding() -> String {
    let starved = trainer(NAME).pool(in_pool("a100").running(8)).max(12).wanting(12).template("before");
    let starved = starved.gpu_activity(0.30).cpu_of_limit(0.97).throttled(0.40);
    let scenario = world().workload(starved).after(3);
    describe(&serde_json::to_value(shown(&scenario)).unwrap())
}

fn shown(scenario: &Scenario) -> FindingStatus {
    let (workload, decision) = (scenario.find(NAME).unwrap(), scenario.decision(NAME));
    let sources = Sources {
        opinion: workload.opinion.as_ref(),
        last: &[],
        policy: &workload.policy,
        better: wellfed_crds::Better::Higher,
        undo: None,
    };
    let mut status = GpuWorkloadStatus { findings: findings(&decision, &sources), ..GpuWorkloadStatus::default() };
    let resolved = Resolved {
        policy: workload.policy.clone(),
        sources: Vec::new(),
        measures: Vec::new(),
        targets: Vec::new(),
        replicas: 8,
        thresholds: [].into(),
        driven: None,
        sizing: None,
    };
    let ready = Ready {
        resolved,
        settling: false,
        contested: false,
        foreign: Vec::new(),
        stuck: None,
        ready_pods: vec![pod()],
        own: OwnSaid::default(),
        gate_override: None,
        opinion: workload.opinion.clone().map(std::sync::Arc::new),
        exits: Vec::new(),
    };
    let subject = Subject { id: workload.id.clone(), object: None, state: SubjectState::Resolved(Box::new(ready)) };
    advise(&mut status, &subject, Some(&Ok(decision)), &catalog());
    status.findings.remove(0)
}

fn pod() -> WatchedPod {
    WatchedPod {
        name: format!("{NAME}-7d9c-x2x4k"),
        ready_since: Timestamp::UNIX_EPOCH,
        container: "train".to_owned(),
        cpu_limit: Some(8.0),
        cpu_at_hand: None,
        shared: false,
        gpus: 1,
        node: None,
    }
}

fn catalog() -> Catalog {
    let pool = json!({ "capacityType": "OnDemand", "nodeSelector": { "gpu": "a100" }, "pricePerGpuHour": "2.1" });
    Catalog { pools: [("a100".to_owned(), serde_json::from_value(pool).unwrap())].into(), ..Catalog::default() }
}

/// One line of the output; its value stands in a column with those of the lines around it.
struct Line {
    label: String,
    value: Option<String>,
}

fn describe(finding: &Value) -> String {
    let mut lines = vec![Line { label: "  Findings:".to_owned(), value: None }];
    fields(finding.as_object().unwrap(), 2, &mut lines);
    aligned(&lines)
}

/// Sorted by name, as kubectl does.
fn fields(object: &Map<String, Value>, depth: usize, lines: &mut Vec<Line>) {
    let mut names: Vec<_> = object.keys().collect();
    names.sort();
    for name in names {
        let label = format!("{}{}:", "  ".repeat(depth), title(name));
        match &object[name] {
            Value::Array(items) => {
                lines.push(Line { label, value: None });
                for item in items {
                    match item {
                        Value::Object(inner) => fields(inner, depth + 1, lines),
                        other => {
                            lines.push(Line { label: "  ".repeat(depth + 1) + other.as_str().unwrap(), value: None });
                        }
                    }
                }
            }
            other => lines.push(Line { label, value: other.as_str().map(str::to_owned) }),
        }
    }
}

/// `firstSeen` is `First Seen`.
fn title(name: &str) -> String {
    let mut text = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() {
            text.push(' ');
        }
        text.push(if at == 0 { letter.to_ascii_uppercase() } else { letter });
    }
    text
}

/// Values of lines that follow each other stand in one column.
fn aligned(lines: &[Line]) -> String {
    let of_one_column = |one: &Line, next: &Line| one.value.is_some() == next.value.is_some();
    let mut text = String::new();
    for column in lines.chunk_by(of_one_column) {
        let width = column.iter().map(|line| line.label.chars().count()).max().unwrap_or(0) + 2;
        for Line { label, value } in column {
            match value {
                Some(value) => text.extend([&format!("{label:<width$}"), value.as_str(), "\n"]),
                None => text.extend([label.as_str(), "\n"]),
            }
        }
    }
    text
}
