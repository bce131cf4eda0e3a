//! What is generated from data: the list of remedy files, and the tables of the book; and what its queries group by.

mod labels;
mod remedies;
mod thresholds;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `path` under the root holds `wanted`, or is made to.
fn same(path: &str, wanted: &str) {
    let path = root().join(path);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is out of date: run `make bless`", path.display());
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
