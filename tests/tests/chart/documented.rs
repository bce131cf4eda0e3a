//! Every value has its schema and its explanation, and no schema leaves room for a typing error.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::rendering::ROOT;

/// Parts of Kubernetes objects that the API server checks itself, and Helm's own.
const OPEN: [&str; 7] =
    ["global", "nodeAffinity", "podAffinity", "podAntiAffinity", "podSelector", "namespaceSelector", "ipBlock"];

fn chart_file(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join("charts/wellfed").join(name)).expect("a file of the chart")
}

fn schema() -> Value {
    serde_json::from_str(&chart_file("values.schema.json")).expect("JSON")
}

/// Names of the objects in `schema` that accept any key.
fn open_objects(name: &str, schema: &Value, found: &mut BTreeSet<String>) {
    if schema["type"] == "object" && schema.get("additionalProperties").is_none() {
        found.insert(name.to_owned());
    }
    match schema {
        Value::Object(members) => members.iter().for_each(|(key, inner)| open_objects(key, inner, found)),
        Value::Array(items) => items.iter().for_each(|inner| open_objects(name, inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn no_object_of_the_schema_takes_unknown_keys() {
    let mut found = BTreeSet::new();
    open_objects("values", &schema(), &mut found);
    assert_eq!(found, OPEN.map(str::to_owned).into());
}

#[test]
fn the_values_and_the_schema_have_the_same_keys() {
    let values: Value = serde_saphyr::from_str(&chart_file("values.yaml")).expect("YAML");
    let schema = schema();
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<BTreeSet<_>>();
    let mut in_schema = keys(&schema["properties"]);
    assert!(in_schema.remove("global"));
    assert_eq!(keys(&values), in_schema);
    for (name, value) in values.as_object().expect("an object") {
        let properties = &schema["properties"][name]["properties"];
        if let (Some(_), Some(inner)) = (properties.as_object(), value.as_object().filter(|inner| !inner.is_empty())) {
            assert_eq!(inner.keys().cloned().collect::<BTreeSet<_>>(), keys(properties), "{name}");
        }
    }
}

/// The keys at the margin of a values file that have no comment above or inside them. A comment counts for the keys
/// that follow it without a blank line.
fn unexplained(values: &str) -> Vec<&str> {
    let explained = |paragraph: &str| paragraph.lines().any(|line| line.trim_start().starts_with("# "));
    values
        .split("\n\n")
        .filter(|paragraph| !explained(paragraph))
        .flat_map(str::lines)
        .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
        .collect()
}

#[test]
fn every_value_is_explained_in_place() {
    assert_eq!(unexplained("# Why.\na: 1\nb: 2\n\nc: 3\n\nd:\n  # Why.\n  e: 4\n"), ["c: 3"]);
    assert_eq!(unexplained(&chart_file("values.yaml")), [] as [&str; 0]);
}
