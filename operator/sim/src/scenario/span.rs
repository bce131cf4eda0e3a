//! A length of time as people write it: `90s`, `1m 30s`, `250ms`.

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::time::Duration;

/// A non-negative length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Span(Duration);

impl Span {
    /// `millis` milliseconds.
    pub const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// Its length in seconds.
    pub fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }

    /// As the standard library's type.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse::<SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok()).map(Self).ok_or_else(|| {
            D::Error::custom(format!("\"{text}\" is no length of time; write it like 90s, 1m30s or 250ms"))
        })
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{}ms", self.0.as_millis()))
    }
}
