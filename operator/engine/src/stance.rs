//! What a workload's owner makes of single rules.

use crate::opinion::Weight;
use crate::rules::{RULES, RuleName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What becomes of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stance {
    /// What it refuses is only said.
    Advise,
    /// It is not asked.
    Off,
}

/// The rules that are not as built in; written as a map by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<RuleName, Stance>", into = "BTreeMap<RuleName, Stance>")]
pub struct Stances {
    advise: u64,
    off: u64,
}

const _: () = assert!(RULES.len() <= 64, "a rule has a bit");

const fn bit(rule: RuleName) -> u64 {
    1 << rule as u64
}

impl Stances {
    /// The same with this stance on `rule`.
    #[must_use]
    pub const fn with(self, rule: RuleName, stance: Stance) -> Self {
        let (advise, off) = (self.advise & !bit(rule), self.off & !bit(rule));
        match stance {
            Stance::Advise => Self { advise: advise | bit(rule), off },
            Stance::Off => Self { advise, off: off | bit(rule) },
        }
    }

    /// The stance on `rule`, where it is not as built in.
    pub const fn of(self, rule: RuleName) -> Option<Stance> {
        if self.off & bit(rule) != 0 {
            Some(Stance::Off)
        } else if self.advise & bit(rule) != 0 {
            Some(Stance::Advise)
        } else {
            None
        }
    }

    /// Whether a finding of `rule` may still do what `weight` says.
    pub fn leaves(self, rule: RuleName, weight: Weight) -> bool {
        match self.of(rule) {
            None => true,
            Some(Stance::Advise) => weight != Weight::Veto,
            Some(Stance::Off) => false,
        }
    }

    /// Those that are not as built in.
    pub fn iter(self) -> impl Iterator<Item = (RuleName, Stance)> {
        RULES.iter().filter_map(move |rule| Some((rule.name(), self.of(rule.name())?)))
    }
}

impl From<BTreeMap<RuleName, Stance>> for Stances {
    fn from(all: BTreeMap<RuleName, Stance>) -> Self {
        all.into_iter().fold(Self::default(), |set, (rule, stance)| set.with(rule, stance))
    }
}

impl From<Stances> for BTreeMap<RuleName, Stance> {
    fn from(stances: Stances) -> Self {
        stances.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stance_on_a_rule_counts() {
        let both = Stances::default().with(RuleName::Underused, Stance::Off).with(RuleName::DataLoader, Stance::Off);

        let set = both.with(RuleName::Underused, Stance::Advise);

        let read = |rule| set.of(rule);
        assert_eq!(read(RuleName::Underused), Some(Stance::Advise));
        assert_eq!(read(RuleName::DataLoader), Some(Stance::Off));
        assert_eq!(read(RuleName::AddingJustified), None);
    }

    #[test]
    fn they_are_written_by_name() {
        let set = Stances::default().with(RuleName::Underused, Stance::Advise);

        let text = serde_json::to_string(&set).unwrap();

        assert_eq!(text, r#"{"Underused":"Advise"}"#);
        assert_eq!(serde_json::from_str::<Stances>(&text).unwrap(), set);
    }
}
