//! Thresholds of the gate as the configuration file and workloads override them, workload before cluster before built in;
//! and the rules that workloads overrule.

use crate::refusal::nearest;
use std::collections::BTreeMap;
use wellfed_crds::{Quantity, QuantityError};
use wellfed_engine::explain;
use wellfed_engine::overrides::{self, ThresholdError};
use wellfed_engine::rules::{RULES, RuleName, Thresholds};

/// Why a threshold can't be overridden.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OverrideError {
    /// The value is no number.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// There is none of that name.
    #[error("no threshold {name:?}; the nearest are {}; docs/thresholds.md lists all", near.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Known names that are like it, nearest first.
        near: Vec<String>,
    },
    /// The value can't be meant.
    #[error("{0}")]
    Impossible(ThresholdError),
}

/// Why a rule can't be overruled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// There is none of that name.
    #[error("no rule {name:?}; the nearest are {}; docs/findings has a page for each", near.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Known names that are like it, nearest first.
        near: Vec<String>,
    },
    /// It finds no cause, but evidence that carries no verdict.
    #[error(
        "{0} refuses nothing: it says that there is no evidence to judge by; write gate.onUnknown: Allow to grow without"
    )]
    NoCause(RuleName),
}

/// The rule of this name, where it can be overruled.
pub fn rule(name: &str) -> Result<RuleName, RuleError> {
    let known: Vec<_> = RULES.iter().map(|rule| (rule.name(), rule.name().to_string())).collect();
    match known.iter().find(|(_, known)| known == name) {
        Some((RuleName::DataInvalid, _)) => Err(RuleError::NoCause(RuleName::DataInvalid)),
        Some((rule, _)) => Ok(*rule),
        None => {
            let near = nearest(name, known.iter().map(|(_, known)| known.as_str()), NEAR);
            Err(RuleError::Unknown { near: near.into_iter().map(str::to_owned).collect(), name: name.to_owned() })
        }
    }
}

/// How many near names are shown.
const NEAR: usize = 3;

/// `base` with the threshold `name` set to `value`.
pub fn set(base: &Thresholds, name: &str, value: &Quantity) -> Result<Thresholds, OverrideError> {
    overrides::set(base, name, value.to_f64()?).map_err(|error| match error {
        ThresholdError::Unknown(name) => {
            let known: Vec<_> = overrides::all().into_iter().map(|one| one.name).collect();
            let near = nearest(&name, known.iter().map(String::as_str), NEAR);
            OverrideError::Unknown { near: near.into_iter().map(str::to_owned).collect(), name }
        }
        impossible => OverrideError::Impossible(impossible),
    })
}

/// Those of `thresholds` that are not as built in, as status shows them.
pub fn shown(thresholds: &Thresholds) -> BTreeMap<String, String> {
    if *thresholds == Thresholds::default() {
        return BTreeMap::new();
    }
    overrides::differences(thresholds).into_iter().map(|(name, value)| (name, explain::number(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_name_is_answered_with_the_nearest_names() {
        let error = set(&Thresholds::default(), "busyform", &Quantity("0.8".into())).unwrap_err();

        assert!(error.to_string().starts_with("no threshold \"busyform\"; the nearest are busyFrom, "), "{error}");
    }

    #[test]
    fn only_what_differs_is_shown() {
        let set = set(&Thresholds::default(), "throttledFrom", &Quantity("400m".into())).unwrap();

        assert_eq!(shown(&set), BTreeMap::from([("throttledFrom".to_owned(), "0.4".to_owned())]));
    }
}
