//! Money, in whole millionths of whatever currency the prices are in.

use crate::units::Gpus;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An amount, or a price an hour; never below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub u64);

const MILLION: f64 = 1e6;

impl Money {
    /// None at all: a difference, never a price.
    pub const ZERO: Self = Self(0);

    /// This much; none where the number is no price: zero or less, not a number, or beyond all reason.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within bounds by then
    pub fn of(amount: f64) -> Option<Self> {
        let millionths = (amount * MILLION).round();
        (1.0..1e15).contains(&millionths).then_some(Self(millionths as u64))
    }

    /// The price of this many GPUs; saturates.
    #[must_use]
    pub const fn times(self, gpus: Gpus) -> Self {
        Self(self.0.saturating_mul(gpus.0 as u64))
    }

    /// What is left after taking `other` away; never below zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// With two decimals, rounded to the nearest.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.0.saturating_add(5_000) / 10_000;
        write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_shown_with_two_decimals() {
        let shown = |amount| Money::of(amount).unwrap().to_string();

        assert_eq!(shown(2.1), "2.10");
        assert_eq!(shown(0.918), "0.92");
        assert_eq!(shown(10.0), "10.00");
    }

    #[test]
    fn what_is_no_price_is_none() {
        for amount in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e12] {
            assert_eq!(Money::of(amount), None, "{amount}");
        }
    }
}
