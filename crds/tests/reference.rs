//! `docs/api.md` is what the schemas say. `make bless` rewrites it.

#![allow(clippy::unwrap_used)] // helpers of a test fail it by panicking

use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

#[test]
fn the_reference_is_that_of_the_types() {
    let mut text = String::from(
        "# API reference\n\n<!-- Generated from the crate wellfed-crds by `make bless`; do not edit. -->\n\nGroup `wellfed.dev`, version `v1alpha1`. \
         A field without \"required\" may be left out.\n",
    );
    for crd in wellfed_crds::all() {
        kind(&crd, &mut text);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/api.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == text,
        "{} is out of date: run `make bless`",
        path.display()
    );
}

fn kind(crd: &Value, text: &mut String) {
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let (kind, description) = (crd["spec"]["names"]["kind"].as_str().unwrap(), schema["description"].as_str().unwrap());
    write!(text, "\n## {kind}\n{description}\n").unwrap();
    for part in ["spec", "status"] {
        let schema = &schema["properties"][part];
        if schema.is_object() {
            write!(text, "\n### {kind}.{part}\n\n| field | type | meaning |\n|---|---|---|\n").unwrap();
            fields(schema, "", text);
            rules(schema, text);
        }
    }
}

fn fields(schema: &Value, prefix: &str, text: &mut String) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in properties {
        let path = format!("{prefix}{name}");
        let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
        let meaning = field["description"].as_str().unwrap_or_default().replace('|', "\\|");
        let default = match &field["default"] {
            Value::Null => String::new(),
            default => format!(" Default: `{}`.", default.to_string().trim_matches('"')),
        };
        let default = if meaning.contains("Default:") { String::new() } else { default };
        writeln!(text, "| `{path}` | {}{needed} | {meaning}{default} |", type_of(field)).unwrap();
        let from_elsewhere = path.ends_with("Selector");
        if !from_elsewhere {
            fields(field, &format!("{path}."), text);
            fields(&field["items"], &format!("{path}[]."), text);
        }
    }
}

fn type_of(field: &Value) -> String {
    if let Some(values) = field["enum"].as_array() {
        return values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    }
    let bounds = match (field["minimum"].as_f64(), field["maximum"].as_f64()) {
        (Some(least), Some(most)) => format!(" {least}–{most}"),
        _ => String::new(),
    };
    let plain = field["type"].as_str().unwrap_or("number or text");
    match plain {
        "array" => format!("list of {}", field["items"]["type"].as_str().unwrap_or("objects")),
        "object" if field["additionalProperties"].is_object() => "map of text".to_owned(),
        _ => format!("{plain}{bounds}"),
    }
}

/// What the API server checks across fields.
fn rules(schema: &Value, text: &mut String) {
    let mut messages = Vec::new();
    collect(schema, &mut messages);
    if !messages.is_empty() {
        text.push_str("\nRefused unless:\n");
        for message in messages {
            writeln!(text, "- {message}").unwrap();
        }
    }
}

fn collect(schema: &Value, messages: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("x-kubernetes-validations").and_then(Value::as_array);
            messages.extend(own.into_iter().flatten().filter_map(|rule| Some(rule["message"].as_str()?.to_owned())));
            fields.values().for_each(|value| collect(value, messages));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, messages)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
