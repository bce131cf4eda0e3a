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
        parse(&text).map(Self).ok_or_else(|| {
            D::Error::custom(format!("\"{text}\" is no length of time; write it like 90s, 1m30s, 250ms or 14d"))
        })
    }
}

/// A day is 24 hours: a simulation knows no calendar.
fn parse(text: &str) -> Option<Duration> {
    let (days, rest) =
        text.split_once('d').map_or((Some(0), text), |(days, rest)| (days.trim().parse().ok(), rest.trim()));
    let days: u64 = days?;
    let rest = if rest.is_empty() && days > 0 { SignedDuration::ZERO } else { rest.parse::<SignedDuration>().ok()? };
    Duration::from_secs(days.checked_mul(86_400)?).checked_add(Duration::try_from(rest).ok()?)
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{}ms", self.0.as_millis()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        let seconds = |text| parse(text).map(|span| span.as_secs_f64());

        assert_eq!([seconds("1m30s"), seconds("250ms"), seconds("14d")], [Some(90.0), Some(0.25), Some(1_209_600.0)]);
        assert_eq!(seconds("1d 12h"), Some(129_600.0));
        assert_eq!([seconds("5"), seconds("-5s"), seconds("d"), seconds("")], [None; 4]);
    }
}
