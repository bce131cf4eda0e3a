//! The mixture: a hundred workloads, as `mixture.yaml` tells.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use wellfed::simulate::Scenario;

const FILE: &str = include_str!("mixture.yaml");
/// Traces lie here.
const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../operator/sim/traces");
/// Templates within templates, at most.
const DEPTH: u32 = 8;

/// The mixture, with what its entries are made from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mixture {
    templates: BTreeMap<String, Template>,
    /// What is played.
    pub scenarios: Vec<Entry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    #[serde(default)]
    from: Option<String>,
    with: Value,
}

/// Whether a workload's GPUs are at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// More GPUs do more, and nothing cheaper does.
    Saturated,
    /// Something holds its GPUs back that can be mended.
    Starved,
}

/// So many workloads of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether its GPUs are at work.
    pub part: Part,
    /// How many of the hundred are like it.
    pub workloads: u32,
    /// The template that it changes.
    from: String,
    /// Why it is in the mixture, for people.
    pub why: String,
    /// What differs from the template.
    #[serde(default = "nothing")]
    with: Value,
    /// What its owner does about it.
    #[serde(default)]
    pub mend: Option<Mend>,
}

/// A cause that goes away.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mend {
    /// When, after the start.
    at: String,
    /// What changes in the model.
    set: BTreeMap<String, Value>,
    /// The remedy, for people.
    #[serde(rename = "as")]
    pub remedy: String,
}

impl Mixture {
    /// The one that the bench plays.
    pub fn bundled() -> Result<Self> {
        Self::parse(FILE, "mixture.yaml")
    }

    /// The mixture in `text`; `name` stands for its file in messages.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        // YAML 1.2 booleans, as in scenarios.
        let options = serde_saphyr::options! { strict_booleans: true };
        serde_saphyr::from_str_with_options(text, options).with_context(|| format!("{name} is no mixture"))
    }

    /// The entry called `name`.
    pub fn named(&self, name: &str) -> Option<&Entry> {
        self.scenarios.iter().find(|entry| entry.name == name)
    }

    /// What `entry` plays; with `mended`, its owner mends it at its time.
    pub fn scenario(&self, entry: &Entry, mended: bool) -> Result<Scenario> {
        let mut parts = merged(self.template(&entry.from, 0)?, &entry.with);
        let mut workload = parts["workload"].take();
        workload["manifest"]["metadata"]["name"] = json!(entry.name);
        workload["manifest"]["spec"]["scaleTargetRef"]["name"] = json!(entry.name);
        let mend = entry.mend.as_ref().filter(|_| mended);
        let changes: Vec<_> =
            mend.iter().map(|mend| json!({"at": mend.at, "workload": entry.name, "set": mend.set})).collect();
        let mut file = json!({"seed": 1, "pools": [parts["pool"].take()], "workloads": [workload], "changes": changes});
        for (field, value) in parts.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            file[field] = value.clone();
        }
        let scenario = Scenario::parse(&file.to_string(), &entry.name, Path::new(TRACES));
        scenario.with_context(|| format!("mixture.yaml: {}", entry.name))
    }

    fn template(&self, name: &str, depth: u32) -> Result<Value> {
        let Some(template) = self.templates.get(name) else {
            bail!("mixture.yaml: there is no template \"{name}\"; there is {:?}", self.templates.keys());
        };
        match &template.from {
            Some(base) if depth < DEPTH => Ok(merged(self.template(base, depth + 1)?, &template.with)),
            Some(base) => bail!("mixture.yaml: the templates \"{name}\" and \"{base}\" rest on each other"),
            None => Ok(template.with.clone()),
        }
    }
}

fn nothing() -> Value {
    json!({})
}

/// `base` with what `with` says instead; maps are merged field by field.
fn merged(mut base: Value, with: &Value) -> Value {
    match (&mut base, with) {
        (Value::Object(base), Value::Object(with)) => {
            for (field, value) in with {
                let before = base.remove(field).unwrap_or_default();
                base.insert(field.clone(), merged(before, value));
            }
        }
        _ => return with.clone(),
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_merged_and_everything_else_is_replaced() {
        let base = json!({"a": {"b": 1, "c": [1, 2]}, "d": 4});

        let got = merged(base, &json!({"a": {"c": [3], "e": 5}, "d": null}));

        assert_eq!(got, json!({"a": {"b": 1, "c": [3], "e": 5}, "d": null}));
    }

    #[test]
    fn the_bundled_mixture_is_a_hundred_workloads_of_which_a_third_is_starved_and_can_be_mended() {
        let mixture = Mixture::bundled().unwrap();

        let count =
            |part| mixture.scenarios.iter().filter(|one| one.part == part).map(|one| one.workloads).sum::<u32>();
        assert_eq!((count(Part::Saturated), count(Part::Starved)), (66, 34));
        for entry in &mixture.scenarios {
            assert_eq!(entry.mend.is_some(), entry.part == Part::Starved, "{}", entry.name);
            let (as_is, mended) = (mixture.scenario(entry, false).unwrap(), mixture.scenario(entry, true).unwrap());
            assert_eq!((as_is.changes.len(), mended.changes.len()), (0, usize::from(entry.mend.is_some())));
        }
    }
}
