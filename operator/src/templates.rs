//! What pods are made from, and whether that changed.

use crate::catalog::{Target, TargetKey};
use crate::slim::PodSpec;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use wellfed_engine::hash::fnv1a;

/// Set by `kubectl rollout restart`: new pods, made from the same as before.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// Digits of one entry of a word: which target, and its template.
const DIGITS: usize = 8;

/// What a target's pods look like.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Template {
    /// Their containers.
    pub spec: PodSpec,
    /// Of the whole template: another one after any change of it, but for a restart.
    #[serde(skip)]
    pub digest: u64,
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut whole = Value::deserialize(deserializer)?;
        let spec = whole.get("spec").map(PodSpec::deserialize).transpose().map_err(D::Error::custom)?;
        forget_restart(&mut whole);
        Ok(Self { spec: spec.unwrap_or_default(), digest: fnv1a(whole.to_string().into_bytes()) })
    }
}

/// The first restart adds the map too.
fn forget_restart(template: &mut Value) {
    let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    annotations.retain(|name, _| name != RESTARTED_AT);
    if annotations.is_empty() {
        metadata.retain(|name, _| name != "annotations");
    }
}

/// The pod templates of all targets in one word, in any order of the targets the same.
pub fn word(targets: &[(TargetKey, Target)]) -> String {
    let entry = |((_, kind, name), target): &(TargetKey, Target)| {
        format!("{:08x}{:08x}", which(kind, name), folded(target.template))
    };
    let mut entries: Vec<_> = targets.iter().map(entry).collect();
    entries.sort_unstable();
    entries.concat()
}

/// Replaces the word that is remembered by `now`, unless a target that it knows is made from something else: only that is a
/// change to test, and a longer or shorter list of targets is none.
pub fn keep_up(remembered: &mut Option<String>, now: &str) {
    if let Some(known) = remembered.as_mut().filter(|known| agree(known, now)) {
        now.clone_into(known);
    }
}

fn agree(before: &str, now: &str) -> bool {
    let before: HashMap<_, _> = entries(before).collect();
    entries(now).all(|(which, template)| before.get(which).is_none_or(|known| *known == template))
}

fn entries(word: &str) -> impl Iterator<Item = (&[u8], &[u8])> {
    word.as_bytes().chunks(2 * DIGITS).filter_map(|entry| entry.split_at_checked(DIGITS))
}

/// Which target, in one entry.
pub fn which(kind: &str, name: &str) -> u64 {
    folded(fnv1a(kind.bytes().chain([b'/']).chain(name.bytes())))
}

/// Both halves count.
const fn folded(hash: u64) -> u64 {
    (hash ^ (hash >> 32)) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn digest(annotations: Option<Value>, image: &str) -> u64 {
        let mut template =
            json!({ "metadata": { "labels": { "app": "chat" } }, "spec": { "containers": [{ "image": image }] } });
        if let Some(annotations) = annotations {
            template["metadata"]["annotations"] = annotations;
        }
        serde_json::from_value::<Template>(template).unwrap().digest
    }

    #[test]
    fn a_restart_leaves_the_digest_and_any_change_does_not() {
        let plain = digest(None, "a");

        assert_eq!(digest(Some(json!({ RESTARTED_AT: "2026-01-01T00:00:00Z" })), "a"), plain);
        let noted = |at: &str| digest(Some(json!({ RESTARTED_AT: at, "note": "x" })), "a");
        assert_eq!(noted("2026-01-01T00:00:00Z"), noted("2026-01-02T00:00:00Z"));
        assert_ne!(noted("2026-01-01T00:00:00Z"), plain);
        assert_ne!(digest(None, "b"), plain);
    }

    fn targets(made_from: &[(&str, u64)]) -> String {
        let target = |(name, template): &(&str, u64)| {
            let key = ("demo".to_owned(), "Deployment".to_owned(), (*name).to_owned());
            (key, Target { template: *template, ..Target::default() })
        };
        word(&made_from.iter().map(target).collect::<Vec<_>>())
    }

    /// What is remembered after a look at `now`: as it was if the change is one to test.
    fn after(before: &str, now: &str) -> String {
        let mut remembered = Some(before.to_owned());
        keep_up(&mut remembered, now);
        remembered.unwrap()
    }

    #[test]
    fn only_a_known_target_with_a_new_template_is_a_change() {
        let both = targets(&[("a", 1), ("b", 2)]);

        assert_eq!(targets(&[("b", 2), ("a", 1)]), both, "the order is none");
        for same in [targets(&[("a", 1)]), targets(&[("a", 1), ("b", 2), ("c", 3)]), targets(&[("c", 1)])] {
            assert_eq!(after(&both, &same), same, "the list alone is none");
        }
        for changed in [targets(&[("a", 9), ("b", 2)]), targets(&[("b", 9)]), targets(&[("a", 1), ("b", 9), ("c", 3)])]
        {
            assert_eq!(after(&both, &changed), both);
        }
    }

    #[test]
    fn a_target_that_was_added_is_known_from_then_on() {
        let grown = after(&targets(&[("a", 1)]), &targets(&[("a", 1), ("b", 2)]));

        assert_eq!(after(&grown, &targets(&[("a", 1), ("b", 3)])), grown);
    }

    #[test]
    fn a_word_that_knows_no_target_is_replaced() {
        let now = targets(&[("a", 1)]);

        assert_eq!(after("0123456789abcdef", &now), now);
        assert_eq!(after("", &now), now);
        let mut none = None;
        keep_up(&mut none, &now);
        assert_eq!(none, None);
    }
}
