//! `helm template`, and the objects that come of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use wellfed_tests::binaries::Binaries;

/// The root of the checkout.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Where the value sets and the permissions are.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/chart");
/// The namespace that everything is rendered for.
pub const NAMESPACE: &str = "wellfed-system";

static HELM: LazyLock<PathBuf> = LazyLock::new(|| program("helm"));

/// Where a pinned program is. Starts a runtime of its own, so it is for tests that have none.
pub fn program(name: &'static str) -> PathBuf {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(Binaries::resolve()).and_then(|binaries| binaries.path(name)).expect("a pinned program")
}

/// Runs helm; standard output, or what it said on standard error.
pub fn helm(args: &[&str]) -> Result<String, String> {
    let output = Command::new(&*HELM).args(args).current_dir(ROOT).output().expect("helm starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("helm writes UTF-8");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// The chart with the values of a file.
pub fn render_file(values: &Path) -> Result<String, String> {
    helm(&["template", "wellfed", "charts/wellfed", "-n", NAMESPACE, "-f", &values.display().to_string()])
}

/// The objects of the chart with the value set `name` of `accepted/`.
pub fn accepted(name: &str) -> Vec<Value> {
    let rendered = render_file(&Path::new(DATA).join("accepted").join(name).with_extension("yaml"));
    objects(&rendered.expect("an accepted value set"))
}

/// The objects in a stream of YAML documents.
pub fn objects(yaml: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).expect("helm writes YAML");
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

/// The one object of a kind.
pub fn the<'a>(kind: &str, objects: &'a [Value]) -> &'a Value {
    let found: Vec<_> = objects.iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "objects of kind {kind}");
    found[0]
}

/// `object["metadata"]["name"]`, and so on for any path of names.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no text at {pointer} of {object}"))
}
