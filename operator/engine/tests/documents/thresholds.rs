use super::{cell, root, same};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use wellfed_engine::explain;
use wellfed_engine::overrides;

#[test]
fn the_table_of_thresholds_is_that_of_the_code() {
    let meanings = meanings(&fs::read_to_string(root().join("operator/engine/src/rules/thresholds.rs")).unwrap());
    let mut text = String::from(
        "# Thresholds of the gate\n\n<!-- Generated from operator/engine/src/rules/thresholds.rs by `make bless`; do not edit. -->\n\n\
         A workload sets them under `spec.gate.thresholds`, an administrator for the whole cluster under `gate.thresholds` of the \
         operator's configuration; the workload's word wins. Values are quantities: `\"0.7\"` and `700m` are the same. \
         `status.policy.thresholds` shows those in force that are not as built in.\n\n\
         | name | built in | from | to | meaning, and where it comes from |\n|---|---|---|---|---|\n",
    );
    let all = overrides::all();
    for one in &all {
        let meaning = meanings.get(&snake(&one.name)).cloned().unwrap_or_default();
        // Other thresholds are called there as the code calls them.
        let meaning =
            all.iter().fold(meaning, |text, other| text.replace(&quoted(&snake(&other.name)), &quoted(&other.name)));
        let (default, least) = (significant(one.default), explain::number(one.bounds.0));
        let most = if one.bounds.1 >= 1e15 { "–".to_owned() } else { explain::number(one.bounds.1) };
        writeln!(text, "| `{}` | {default} | {least} | {most} | {} |", one.name, cell(&meaning)).unwrap();
    }
    same("docs/thresholds.md", &text);
}

/// Small numbers with what tells them apart.
fn significant(value: f64) -> String {
    if value < 0.01 { format!("{value:.5}") } else { explain::number(value) }
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// The field's name: `busyFrom` is `busy_from`.
fn snake(name: &str) -> String {
    let word = |letter: char| {
        let capital = letter.is_ascii_uppercase().then_some('_');
        capital.into_iter().chain([letter.to_ascii_lowercase()])
    };
    name.chars().flat_map(word).collect()
}

/// What the comment above each field says.
fn meanings(source: &str) -> BTreeMap<String, String> {
    let mut meanings = BTreeMap::new();
    let mut meaning: Vec<&str> = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            meaning.push(comment.trim());
        } else {
            let field = line.strip_prefix("pub ").and_then(|rest| rest.split_once(':'));
            if let Some((name, _)) = field {
                meanings.insert(name.to_owned(), meaning.join(" "));
            }
            meaning.clear();
        }
    }
    meanings
}
