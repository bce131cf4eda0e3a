//! The CRDs under `crds/yaml` and in the chart are what the types say. `make bless` rewrites them.

#![allow(clippy::unwrap_used)] // helpers of a test fail it by panicking

use std::fs;
use std::path::Path;

const HEADER: &str = "# Generated from the crate wellfed-crds by `make bless`; do not edit.\n";

#[test]
fn the_installed_crds_are_those_of_the_types() {
    let crds = wellfed_crds::all();
    assert_eq!(crds.len(), 2);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for crd in &crds {
        let yaml = format!("{HEADER}{}", serde_saphyr::to_string(crd).unwrap());
        for folder in [root.join("yaml"), root.join("../charts/wellfed-crds/templates")] {
            same(&folder.join(wellfed_crds::yaml_of(crd)), &yaml);
        }
    }
}

fn same(path: &Path, wanted: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, wanted).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == wanted, "{} is out of date: run `make bless`", path.display());
}

#[test]
fn every_field_is_described() {
    for crd in wellfed_crds::all() {
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        for part in ["spec", "status"] {
            described(&schema[part], part);
        }
    }
}

fn described(schema: &serde_json::Value, path: &str) {
    let Some(properties) = schema["properties"].as_object() else { return };
    for (name, field) in properties {
        let path = format!("{path}.{name}");
        assert!(field["description"].as_str().is_some_and(|text| !text.is_empty()), "{path} has no description");
        described(field, &path);
        described(&field["items"], &format!("{path}[]"));
    }
}
