//! Thresholds by name, as people override them: `busyFrom` is the field `busy_from`. A new field needs nothing here.

use crate::rules::Thresholds;
use std::fmt;
use toml::{Table, Value};

/// One threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// As people write it.
    pub name: String,
    /// As built in.
    pub default: f64,
    /// The least and the most that make sense.
    pub bounds: (f64, f64),
}

/// Why a threshold can't be set.
#[derive(Clone, Debug, PartialEq)]
pub enum ThresholdError {
    /// There is none of that name.
    Unknown(String),
    /// Shares are from 0 to 1.
    NoShare(f64),
    /// Beyond what makes sense.
    OutOfBounds {
        /// What was to be set.
        value: f64,
        /// The least and the most.
        bounds: (f64, f64),
    },
}

impl fmt::Display for ThresholdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "no threshold {name:?}"),
            Self::NoShare(value) => {
                write!(f, "{value} is no share; write one from 0 to 1, such as \"700m\" for 70 %")
            }
            Self::OutOfBounds { value, bounds: (least, most) } => write!(f, "{value} must be from {least} to {most}"),
        }
    }
}

impl std::error::Error for ThresholdError {}

/// Those that are no shares though their default is 1 or less: requests, tokens or events a second, cores.
const COUNTS: [&str; 6] =
    ["waiting_from", "preemptions_from", "progress_below", "launching_cores_from", "idle_below", "clock_events_from"];

/// The least of those for which nothing is no limit: "most" is half at least, a case on almost no evidence is no case, and no
/// failed exit is no restart loop.
const LEAST: [(&str, f64); 3] = [("most", 0.5), ("coverage", 0.1), ("restarts_from", 1.0)];

/// A week: what shows for longer showed long ago.
const MOST_HOURS: (&str, f64) = ("quiet_hours_from", 168.0);

/// No count or rate that means anything is larger.
const MOST: f64 = 1e15;

/// Every threshold, by name.
pub fn all() -> Vec<Threshold> {
    let fields = table(&Thresholds::default());
    let threshold = |(field, value): (&String, &Value)| {
        let default = number(value)?;
        Some(Threshold { name: camel(field), default, bounds: bounds(field, default) })
    };
    let mut all: Vec<_> = fields.iter().filter_map(threshold).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// `base` with one threshold set.
pub fn set(base: &Thresholds, name: &str, value: f64) -> Result<Thresholds, ThresholdError> {
    let known = all().into_iter().find(|threshold| threshold.name == name);
    let Some(Threshold { bounds, .. }) = known else { return Err(ThresholdError::Unknown(name.to_owned())) };
    let (least, most) = bounds;
    if !(least..=most).contains(&value) {
        let no_share = most <= 1.0 && value > 1.0;
        return Err(if no_share {
            ThresholdError::NoShare(value)
        } else {
            ThresholdError::OutOfBounds { value, bounds }
        });
    }
    let mut fields = table(base);
    fields.insert(snake(name), Value::Float(value));
    fields.try_into().map_err(|_| ThresholdError::Unknown(name.to_owned()))
}

/// Those that are not as built in, by name.
pub fn differences(thresholds: &Thresholds) -> Vec<(String, f64)> {
    let fields = table(thresholds);
    let value = |name: &str| fields.get(&snake(name)).and_then(number);
    let differing = all().into_iter().filter_map(|one| Some((value(&one.name)?, one)));
    differing
        .filter(|(value, one)| value.to_bits() != one.default.to_bits())
        .map(|(value, one)| (one.name, value))
        .collect()
}

fn bounds(field: &str, default: f64) -> (f64, f64) {
    let is_share = default <= 1.0 && !COUNTS.contains(&field);
    let least = LEAST.iter().find(|(name, _)| *name == field).map_or(0.0, |(_, least)| *least);
    let most = match field {
        _ if is_share => 1.0,
        _ if field == MOST_HOURS.0 => MOST_HOURS.1,
        _ => MOST,
    };
    (least, most)
}

fn table(thresholds: &Thresholds) -> Table {
    Table::try_from(thresholds).unwrap_or_default()
}

#[allow(clippy::cast_precision_loss)] // counts of a few
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Integer(number) => Some(*number as f64),
        _ => None,
    }
}

fn camel(field: &str) -> String {
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let capital = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &capital.into_iter().chain(letters).collect::<String>()
    })
}

fn snake(name: &str) -> String {
    let mut field = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            field.push('_');
        }
        field.push(letter.to_ascii_lowercase());
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_can_be_set_by_its_name_and_shows_as_a_difference() {
        let default = Thresholds::default();
        for Threshold { name, default: built_in, .. } in all() {
            let set = set(&default, &name, built_in * 0.75).unwrap();

            assert_eq!(differences(&set), [(name, built_in * 0.75)]);
        }
    }

    #[test]
    fn a_name_is_written_as_kubernetes_writes_names() {
        let set = set(&Thresholds::default(), "cpuOfLimitFrom", 0.5).unwrap();

        assert!((set.cpu_of_limit_from - 0.5).abs() < f64::EPSILON);
        assert_eq!(
            super::set(&set, "cpu_of_limit_from", 0.5),
            Err(ThresholdError::Unknown("cpu_of_limit_from".into()))
        );
    }

    #[test]
    fn what_is_built_in_is_within_its_own_bounds() {
        for Threshold { name, default, bounds: (least, most) } in all() {
            assert!((least..=most).contains(&default), "{name}: {default}");
        }
    }

    #[test]
    fn impossible_values_are_refused() {
        let refused = |name, value| set(&Thresholds::default(), name, value).unwrap_err();

        assert_eq!(refused("busyFrom", 70.0), ThresholdError::NoShare(70.0));
        assert_eq!(refused("most", 0.0), ThresholdError::OutOfBounds { value: 0.0, bounds: (0.5, 1.0) });
        assert_eq!(refused("coverage", 0.0), ThresholdError::OutOfBounds { value: 0.0, bounds: (0.1, 1.0) });
        assert_eq!(refused("restartsFrom", 0.0), ThresholdError::OutOfBounds { value: 0.0, bounds: (1.0, 1e15) });
        assert_eq!(refused("pcieRxFrom", 1e16), ThresholdError::OutOfBounds { value: 1e16, bounds: (0.0, 1e15) });
        assert_eq!(
            refused("quietHoursFrom", 169.0),
            ThresholdError::OutOfBounds { value: 169.0, bounds: (0.0, 168.0) }
        );
        assert!(set(&Thresholds::default(), "waitingFrom", 3.0).is_ok(), "requests are no share");
        assert!(set(&Thresholds::default(), "busyFrom", f64::NAN).is_err());
    }

    #[test]
    fn nothing_differs_from_the_default_by_default() {
        assert_eq!(differences(&Thresholds::default()), []);
    }
}
