//! What a user can do about a finding, read from `remedies.toml`.

use crate::policy::Class;
use crate::rules::RuleName;
use serde::Deserialize;
use std::sync::LazyLock;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remedy {
    /// The finding that it mends.
    pub rule: RuleName,
    /// The classes of workload that it suits.
    pub classes: Vec<Class>,
    /// What to change.
    pub setting: String,
    /// To what.
    pub value: String,
    /// What it brought others.
    pub gain: String,
    /// What it may cost.
    pub risk: String,
    /// How long it takes.
    pub effort: String,
    /// Whether it can be undone.
    pub reversible: bool,
    /// Where the figures come from.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    remedy: Vec<Remedy>,
}

static REMEDIES: LazyLock<Result<Vec<Remedy>, String>> = LazyLock::new(|| {
    toml::from_str::<File>(include_str!("remedies.toml")).map(|file| file.remedy).map_err(|error| error.to_string())
});

/// Why the table that is built in can't be read; none in a build that passed its tests.
pub fn defect() -> Option<&'static str> {
    REMEDIES.as_ref().err().map(String::as_str)
}

/// What mends `rule` for a workload of `class`, best first.
pub fn remedies(rule: RuleName, class: Class) -> impl Iterator<Item = &'static Remedy> {
    let all = REMEDIES.as_deref().unwrap_or_default();
    all.iter().filter(move |remedy| remedy.rule == rule && remedy.classes.contains(&class))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RULES;

    #[test]
    fn the_table_can_be_read() {
        assert_eq!(defect(), None);
    }

    #[test]
    fn a_starved_trainer_is_told_to_raise_its_workers_first() {
        let first = remedies(RuleName::DataLoader, Class::Training).next().unwrap();

        assert_eq!(first.setting, "DataLoader num_workers");
    }

    #[test]
    fn a_serial_server_is_told_to_batch_first() {
        let first = remedies(RuleName::SerialRequests, Class::Inference).next().unwrap();

        assert_eq!(first.setting, "continuous batching, or dynamic batching for models that answer at once");
    }

    #[test]
    fn every_finding_has_a_remedy_for_every_class_that_it_can_be_found_in() {
        let silent = [RuleName::DataInvalid, RuleName::Saturated];
        for rule in RULES.iter().map(|rule| rule.name()).filter(|name| !silent.contains(name)) {
            for class in [Class::Training, Class::Batch, Class::Inference] {
                assert!(remedies(rule, class).count() >= 1, "{rule} {class:?}");
            }
        }
    }
}
