//! Durations as Kubernetes writes them: `90s`, `3m`, `1h30m`.

use jiff::SignedDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A positive length of time; written back as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GoDuration(pub String);

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration; write one such as \"90s\", \"3m\" or \"1h30m\"")]
pub struct DurationError(pub String);

impl GoDuration {
    /// As a length of time. Fails where the text has another form, or is negative.
    pub fn to_duration(&self) -> Result<SignedDuration, DurationError> {
        let duration = self.0.parse::<SignedDuration>().ok();
        duration.filter(|duration| !duration.is_negative()).ok_or_else(|| DurationError(self.0.clone()))
    }
}

impl JsonSchema for GoDuration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^([0-9]+(ms|s|m|h))+$", "maxLength": 24 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_in_go() {
        let cases = [("90s", 90), ("3m", 180), ("1h30m", 5400), ("0s", 0)];
        for (text, seconds) in cases {
            assert_eq!(GoDuration(text.into()).to_duration(), Ok(SignedDuration::from_secs(seconds)), "{text}");
        }
        assert_eq!(GoDuration("500ms".into()).to_duration(), Ok(SignedDuration::from_millis(500)));
    }

    #[test]
    fn other_texts_are_refused_with_an_example() {
        for text in ["", "3", "three minutes", "-3m"] {
            assert!(GoDuration(text.into()).to_duration().is_err(), "{text}");
        }
        assert!(DurationError("3".into()).to_string().contains("\"3m\""));
    }
}
