//! What the chart lets the operator do is exactly the list in `tests/chart/permissions`, verb by verb.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::rendering::{DATA, NAMESPACE, accepted};

fn list<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    value[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_operators(binding: &Value) -> bool {
    let subject = &binding["subjects"][0];
    subject["kind"] == "ServiceAccount" && subject["name"] == "wellfed" && subject["namespace"] == NAMESPACE
}

/// `get apps/deployments`, `update coordination.k8s.io/leases:wellfed`, …
fn lines(rule: &Value) -> Vec<String> {
    let names = match list(rule, "resourceNames") {
        names if names.is_empty() => vec![String::new()],
        names => names.iter().map(|name| format!(":{name}")).collect(),
    };
    let mut lines = Vec::new();
    for group in list(rule, "apiGroups") {
        let group = if group.is_empty() { "core" } else { group };
        for resource in list(rule, "resources") {
            for verb in list(rule, "verbs") {
                lines.extend(names.iter().map(|name| format!("{verb} {group}/{resource}{name}")));
            }
        }
    }
    lines
}

/// Every right that a binding gives to the operator's account.
fn granted(objects: &[Value]) -> BTreeSet<String> {
    let mut granted = BTreeSet::new();
    let bindings =
        objects.iter().filter(|object| object["kind"].as_str().is_some_and(|kind| kind.ends_with("RoleBinding")));
    for binding in bindings.filter(|binding| is_operators(binding)) {
        let namespace = &binding["metadata"]["namespace"];
        let role = objects.iter().find(|role| {
            role["kind"] == binding["roleRef"]["kind"]
                && role["metadata"]["name"] == binding["roleRef"]["name"]
                && role["metadata"]["namespace"] == *namespace
        });
        let rules = role.and_then(|role| role["rules"].as_array()).expect("the bound role is in the chart");
        let scope = namespace.as_str().unwrap_or("cluster");
        granted.extend(rules.iter().flat_map(lines).map(|line| format!("{scope} {line}")));
    }
    granted
}

fn listed(name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(Path::new(DATA).join("permissions").join(name)).expect("the list of permissions");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_operator_may_do_what_is_listed_and_nothing_else() {
    assert_eq!(granted(&accepted("defaults")), listed("all-namespaces.txt"));
}

#[test]
fn with_listed_namespaces_it_may_do_nothing_to_workloads_elsewhere() {
    assert_eq!(granted(&accepted("watched-namespaces")), listed("listed-namespaces.txt"));
}

#[test]
fn without_targets_it_may_write_no_workload() {
    let expected: BTreeSet<_> =
        listed("all-namespaces.txt").into_iter().filter(|line| !line.ends_with("/scale")).collect();
    assert_eq!(granted(&accepted("no-writes")), expected);
}
