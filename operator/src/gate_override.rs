//! A person's word against the gate: an annotation with a reason and an end.

use jiff::{SignedDuration, Timestamp};
use wellfed_crds::GpuWorkload;
use wellfed_engine::world::GateOverride;

/// On a `GpuWorkload`: `"<reason>; until=<RFC 3339>"`.
pub const ANNOTATION: &str = "wellfed.dev/gate-override";

/// An override ends within this.
pub const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 7);

/// A reason has at most so many bytes: status repeats it.
const LONGEST_REASON: usize = 256;

/// So many characters of an end that can't be read are quoted.
const QUOTED: usize = 40;

/// What the annotation says at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// It is in force.
    InForce(GateOverride),
    /// It has ended by itself.
    Expired(GateOverride),
    /// It can't be accepted.
    Refused(WordError),
}

/// Why an override is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordError {
    /// Nothing before the end.
    #[error("it gives no reason")]
    NoReason,
    /// The reason is longer than status has room for.
    #[error("its reason has {0} bytes and may have 256; link to a longer text")]
    TooLong(usize),
    /// No end.
    #[error("it has no end")]
    NoEnd,
    /// The end is no point in time.
    #[error("its end {0:?} is no time")]
    NotATime(String),
    /// The end is too far away.
    #[error("its end {0} is more than 7 days away")]
    TooFar(Timestamp),
}

impl Word {
    /// The word on `workload`, if there is one.
    pub fn of(workload: &GpuWorkload, now: Timestamp) -> Option<Self> {
        let text = workload.metadata.annotations.as_ref()?.get(ANNOTATION)?;
        Some(match read(text) {
            Err(error) => Self::Refused(error),
            Ok(word) if now >= word.until => Self::Expired(word),
            Ok(word) if word.until.duration_since(now) > LONGEST => Self::Refused(WordError::TooFar(word.until)),
            Ok(word) => Self::InForce(word),
        })
    }

    /// The override, while it is in force.
    pub const fn in_force(&self) -> Option<&GateOverride> {
        match self {
            Self::InForce(word) => Some(word),
            Self::Expired(_) | Self::Refused(_) => None,
        }
    }
}

/// The end stands last, behind a semicolon; what is before it is the reason, semicolons included.
fn read(text: &str) -> Result<GateOverride, WordError> {
    let (reason, end) = text.rsplit_once(';').map_or(("", text), |(reason, end)| (reason, end));
    let end = end.trim().strip_prefix("until=").ok_or(WordError::NoEnd)?.trim();
    let until = end.parse().map_err(|_| WordError::NotATime(shortened(end)))?;
    match reason.trim() {
        "" => Err(WordError::NoReason),
        long if long.len() > LONGEST_REASON => Err(WordError::TooLong(long.len())),
        reason => Ok(GateOverride { reason: reason.to_owned(), until }),
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTED).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0); // 2023-11-14T22:13:20Z

    fn word(text: &str) -> Option<Word> {
        let object = json!({
            "apiVersion": "wellfed.dev/v1alpha1",
            "kind": "GpuWorkload",
            "metadata": { "name": "chat", "annotations": { ANNOTATION: text } },
            "spec": { "maxReplicas": 4, "signals": [] },
        });
        Word::of(&serde_json::from_value(object).unwrap(), NOW)
    }

    #[test]
    fn a_reason_and_an_end_within_a_week_are_in_force_until_then() {
        let said = word("launch day; more is paid for; until=2023-11-15T06:00:00Z");

        let until = "2023-11-15T06:00:00Z".parse().unwrap();
        let reason = "launch day; more is paid for".to_owned();
        assert_eq!(said, Some(Word::InForce(GateOverride { reason, until })));
        assert!(matches!(word("launch day; until=2023-11-14T22:13:20Z"), Some(Word::Expired(_))));
    }

    #[test]
    fn without_a_reason_or_an_end_or_with_one_too_far_away_it_is_refused() {
        let refused = |text| match word(text) {
            Some(Word::Refused(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };

        assert_eq!(refused("until=2023-11-15T06:00:00Z"), "it gives no reason");
        assert_eq!(refused(" ; until=2023-11-15T06:00:00Z"), "it gives no reason");
        assert_eq!(refused("launch day"), "it has no end");
        assert_eq!(refused("launch day; until=tomorrow"), "its end \"tomorrow\" is no time");
        assert_eq!(
            refused("launch day; until=2023-11-21T22:13:21Z"),
            "its end 2023-11-21T22:13:21Z is more than 7 days away"
        );
    }

    #[test]
    fn what_status_repeats_has_a_limit() {
        let reason = |bytes| word(&format!("{}; until=2023-11-15T06:00:00Z", "r".repeat(bytes)));

        assert!(matches!(reason(256), Some(Word::InForce(_))));
        assert_eq!(reason(257), Some(Word::Refused(WordError::TooLong(257))));
        let end = format!("launch day; until={}", "ü".repeat(60_000));
        assert_eq!(word(&end), Some(Word::Refused(WordError::NotATime(format!("{}…", "ü".repeat(40))))));
    }

    #[test]
    fn an_end_in_any_time_zone_is_an_end() {
        assert!(matches!(word("launch day; until=2023-11-15T07:00:00+01:00"), Some(Word::InForce(_))));
    }
}
