//! A mean that knows what its missing samples could have been.

use serde::{Deserialize, Serialize};

/// The mean of the samples that exist, and what it could be at most and at least if the missing ones had been extreme.
///
/// Rules compare `low` or `high`, whichever speaks for the workload: removing a sample then never makes a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Of the samples that exist.
    pub mean: f64,
    /// With every missing sample at the smallest possible value.
    pub low: f64,
    /// With every missing sample at the largest possible value.
    pub high: f64,
}

impl Span {
    /// A mean without missing samples.
    pub const fn exact(value: f64) -> Self {
        Self { mean: value, low: value, high: value }
    }

    /// The mean of `samples` out of `expected`, each between 0 and `largest`; none without samples.
    pub fn of(samples: &[f64], expected: usize, largest: f64) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let sum: f64 = samples.iter().sum();
        let missing = expected.saturating_sub(samples.len());
        let all = (samples.len() + missing) as f64;
        let most = if missing == 0 { 0.0 } else { largest * missing as f64 };
        Some(Self { mean: sum / samples.len() as f64, low: sum / all, high: (sum + most) / all })
    }

    /// Surely below `threshold`, whatever the missing samples were.
    pub fn below(self, threshold: f64) -> bool {
        self.high < threshold
    }

    /// Surely at least `threshold`, whatever the missing samples were.
    pub fn at_least(self, threshold: f64) -> bool {
        self.low >= threshold
    }

    /// Of `whole`, whichever samples of the two are missing; none where `whole` may be zero.
    pub fn share_of(self, whole: Self) -> Option<Self> {
        let share = Self { mean: self.mean / whole.mean, low: self.low / whole.high, high: self.high / whole.low };
        (whole.low > 0.0).then_some(share)
    }

    /// In another unit.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        Self { mean: self.mean * by, low: self.low * by, high: self.high * by }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_sample_widens_the_span_and_never_proves_anything() {
        let whole = Span::of(&[0.9, 0.2, 0.2], 3, 1.0).unwrap();
        let without_the_high_one = Span::of(&[0.2, 0.2], 3, 1.0).unwrap();

        assert!(whole.below(0.5));
        assert!(without_the_high_one.mean < 0.21);
        assert!((without_the_high_one.high - 1.4 / 3.0).abs() < 1e-9);
        assert!((without_the_high_one.low - 0.4 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_share_is_as_wide_as_both_of_its_sides_allow() {
        let power = Span { mean: 200.0, low: 100.0, high: 300.0 };
        let limit = Span { mean: 400.0, low: 300.0, high: 500.0 };

        assert_eq!(power.share_of(limit), Some(Span { mean: 0.5, low: 0.2, high: 1.0 }));
        assert_eq!(power.share_of(Span { low: 0.0, ..limit }), None);
    }

    #[test]
    fn no_sample_is_no_span() {
        assert_eq!(Span::of(&[], 3, 1.0), None);
    }
}
