//! What a source said, and whether it may be believed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Never a bare number: absence is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reading<T> {
    /// A believable value, and when it was measured.
    Known {
        /// In the unit of the signal.
        value: T,
        /// When it was measured, by the source's clock.
        at: Timestamp,
    },
    /// Older than the source's own cadence allows; shown, not used.
    Stale {
        /// In the unit of the signal.
        value: T,
        /// When it was measured, by the source's clock.
        at: Timestamp,
    },
    /// The source answered, and had nothing to say.
    Missing,
    /// The source did not answer, or its answer can't be read.
    Failed(ReadFailure),
    /// NaN, infinite, negative, or a vendor's sentinel: what it was.
    Implausible(Oddity),
}

/// Why a number can't be a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Oddity {
    /// Not a number.
    NotANumber,
    /// Plus or minus infinity.
    Infinite,
    /// Below zero.
    Negative,
    /// Larger than any measurement: a vendor's "not available" marker.
    Sentinel,
}

/// Why a source gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadFailure {
    /// No connection.
    Unreachable,
    /// No answer within the deadline.
    Timeout,
    /// An answer with an HTTP status that is not success.
    Http {
        /// The status code.
        status: u16,
    },
    /// The source refused the question.
    BadQuery,
    /// The answer is of another type than a vector.
    NotAVector,
    /// More rows than the reader accepts, or several where one is expected.
    TooManyRows,
    /// An answer that can't be parsed.
    Garbled,
    /// An answer with warnings: a partial sum is a wrong sum.
    Partial,
    /// Not asked yet.
    NotYet,
}

/// Vendors mark "not available" with numbers near 2^63; no queue or rate comes close.
pub const SENTINEL_FROM: f64 = 9.0e18;

impl Reading<f64> {
    /// Judges a raw number measured at `at` and looked at `now`; older than `stale_after`, or as far in the future, is stale.
    pub fn of(value: f64, at: Timestamp, now: Timestamp, stale_after: jiff::SignedDuration) -> Self {
        if let Some(oddity) = oddity(value) {
            return Self::Implausible(oddity);
        }
        if now.duration_since(at).abs() > stale_after {
            return Self::Stale { value, at };
        }
        Self::Known { value, at }
    }

    /// The same of a number that may be below zero, as a reward or a logarithm is.
    pub fn of_level(value: f64, at: Timestamp, now: Timestamp, stale_after: jiff::SignedDuration) -> Self {
        match Self::of(value.abs(), at, now, stale_after) {
            Self::Known { at, .. } => Self::Known { value, at },
            Self::Stale { at, .. } => Self::Stale { value, at },
            other => other,
        }
    }

    /// The value if it may be used, else what is wrong. Looks at the number once more, wherever it came from: a NaN that
    /// slipped through would read as zero.
    pub fn believed(&self) -> Result<f64, Trouble> {
        let odd = self.known().and_then(oddity).map(Trouble::Implausible);
        match (self.known(), odd.or_else(|| self.trouble())) {
            (Some(value), None) => Ok(value),
            (_, trouble) => Err(trouble.unwrap_or(Trouble::Missing)),
        }
    }
}

impl<T: Copy> Reading<T> {
    /// The value, only if it may be used.
    pub const fn known(&self) -> Option<T> {
        match self {
            Self::Known { value, .. } => Some(*value),
            Self::Stale { .. } | Self::Missing | Self::Failed(_) | Self::Implausible(_) => None,
        }
    }

    /// When it was measured, if the source said so.
    pub const fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Known { at, .. } | Self::Stale { at, .. } => Some(*at),
            Self::Missing | Self::Failed(_) | Self::Implausible(_) => None,
        }
    }

    /// What is wrong with it; none for a known value.
    pub const fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Known { .. } => None,
            Self::Stale { at, .. } => Some(Trouble::Stale { measured: *at }),
            Self::Missing => Some(Trouble::Missing),
            Self::Failed(failure) => Some(Trouble::Failed(*failure)),
            Self::Implausible(oddity) => Some(Trouble::Implausible(*oddity)),
        }
    }
}

/// What keeps `value` from being a measurement; none for a plain number.
fn oddity(value: f64) -> Option<Oddity> {
    if value.is_nan() {
        Some(Oddity::NotANumber)
    } else if value.is_infinite() {
        Some(Oddity::Infinite)
    } else if value < 0.0 {
        Some(Oddity::Negative)
    } else if value >= SENTINEL_FROM {
        Some(Oddity::Sentinel)
    } else {
        None
    }
}

/// Why a reading is not used: every variant of [`Reading`] but the known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// Too old.
    Stale {
        /// When it was measured.
        measured: Timestamp,
    },
    /// An empty answer.
    Missing,
    /// No usable answer.
    Failed(ReadFailure),
    /// Not a measurement.
    Implausible(Oddity),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale { .. } => f.write_str("the newest sample is too old"),
            Self::Missing => f.write_str("there is no current sample: the series ended, or the query matches none"),
            Self::Failed(failure) => failure.fmt(f),
            Self::Implausible(Oddity::NotANumber) => f.write_str("the value is NaN"),
            Self::Implausible(Oddity::Infinite) => f.write_str("the value is infinite"),
            Self::Implausible(Oddity::Negative) => f.write_str("the value is negative"),
            Self::Implausible(Oddity::Sentinel) => f.write_str("the value is a not-available marker"),
        }
    }
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("the endpoint can't be reached"),
            Self::Timeout => f.write_str("no answer within the deadline"),
            Self::Http { status } => write!(f, "the endpoint answered HTTP {status}"),
            Self::BadQuery => f.write_str("the endpoint refused the query"),
            Self::NotAVector => f.write_str("the query does not return an instant vector"),
            Self::TooManyRows => f.write_str("the query returned more rows than one"),
            Self::Garbled => f.write_str("the answer can't be read"),
            Self::Partial => f.write_str("the answer is partial (it carries warnings)"),
            Self::NotYet => f.write_str("not read yet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    const NOW: Timestamp = Timestamp::constant(1_000_000, 0);
    const TWO_MINUTES: SignedDuration = SignedDuration::from_secs(120);

    #[test]
    fn a_number_is_believed_only_if_it_can_be_a_measurement() {
        let read = |value| Reading::of(value, NOW, NOW, TWO_MINUTES);

        assert_eq!(read(0.0).known(), Some(0.0));
        assert_eq!(read(f64::NAN).trouble(), Some(Trouble::Implausible(Oddity::NotANumber)));
        assert_eq!(read(f64::INFINITY).trouble(), Some(Trouble::Implausible(Oddity::Infinite)));
        assert_eq!(read(-1.0).trouble(), Some(Trouble::Implausible(Oddity::Negative)));
        assert_eq!(read(9_223_372_036_854_775_794.0).trouble(), Some(Trouble::Implausible(Oddity::Sentinel)));
    }

    /// A reward, a log-likelihood.
    #[test]
    fn a_level_may_be_below_zero_and_is_judged_like_any_number_else() {
        let read = |value, at| Reading::of_level(value, at, NOW, TWO_MINUTES);
        let old = NOW - TWO_MINUTES * 5;

        assert_eq!(read(-20.0, NOW).known(), Some(-20.0));
        assert_eq!(read(-20.0, old), Reading::Stale { value: -20.0, at: old });
        assert_eq!(read(f64::NEG_INFINITY, NOW).trouble(), Some(Trouble::Implausible(Oddity::Infinite)));
        assert_eq!(read(-9.3e18, NOW).trouble(), Some(Trouble::Implausible(Oddity::Sentinel)));
    }

    #[test]
    fn ten_minutes_old_and_two_minutes_in_the_future_are_both_stale() {
        let measured = |seconds: i64| Timestamp::constant(1_000_000 + seconds, 0);

        assert!(matches!(Reading::of(1.0, measured(-600), NOW, TWO_MINUTES), Reading::Stale { .. }));
        assert!(matches!(Reading::of(1.0, measured(121), NOW, TWO_MINUTES), Reading::Stale { .. }));
        assert!(matches!(Reading::of(1.0, measured(-120), NOW, TWO_MINUTES), Reading::Known { .. }));
    }
}
