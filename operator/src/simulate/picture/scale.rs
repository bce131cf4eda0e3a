//! Axes: the unit of time, and what a value's height is.

use super::panel::Line;

/// The unit in which time is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Its name.
    pub unit: &'static str,
    /// Its length, seconds.
    pub seconds: f64,
    /// The end of time, in it.
    pub end: f64,
}

impl Clock {
    /// The unit that suits so many seconds.
    pub fn of(seconds: f64) -> Self {
        let (unit, length) = match seconds {
            seconds if seconds >= 3.0 * 86_400.0 => ("days", 86_400.0),
            seconds if seconds >= 3.0 * 3_600.0 => ("hours", 3_600.0),
            _ => ("minutes", 60.0),
        };
        Self { unit, seconds: length, end: seconds / length }
    }
}

/// The height of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The lowest height.
    pub low: f64,
    /// The highest height.
    pub high: f64,
    /// Heights are decimal logarithms.
    decades: bool,
}

/// Faster than this is as good as at once, seconds.
const LEAST: f64 = 0.01;

impl Scale {
    /// From zero to a little above the highest value.
    pub fn from_zero(lines: &[Line<'_>]) -> Self {
        let most = lines.iter().flat_map(Line::values).fold(0.0, f64::max);
        Self { low: 0.0, high: if most > 0.0 { most * 1.08 } else { 1.0 }, decades: false }
    }

    /// In decades around all values and `limit`.
    pub fn decades(lines: &[Line<'_>], limit: Option<f64>) -> Self {
        let values = || lines.iter().flat_map(Line::values).chain(limit).map(|value| value.max(LEAST));
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(LEAST, f64::max));
        let low = least.min(most).log10().floor();
        Self { low, high: most.log10().ceil().max(low + 1.0), decades: true }
    }

    /// The height of `value`.
    pub fn height(self, value: f64) -> f64 {
        if self.decades { value.max(LEAST).log10() } else { value }.clamp(self.low, self.high)
    }

    /// What is written at a height.
    pub fn label(self, height: f64) -> String {
        let value = if self.decades { 10_f64.powf(height) } else { height };
        match value {
            value if value >= 1e9 => format!("{} G", short(value / 1e9)),
            value if value >= 1e6 => format!("{} M", short(value / 1e6)),
            value if value >= 1e4 => format!("{} k", short(value / 1e3)),
            value => short(value),
        }
    }

    /// How many labels there should be at most.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few decades
    pub fn labels(self) -> usize {
        if self.decades { (self.high - self.low).round().max(1.0) as usize + 1 } else { 5 }
    }
}

/// Without zeros at the end.
pub fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        let scale = Scale { low: 0.0, high: 1.0, decades: false };

        assert_eq!(
            [0.0, 0.5, 40.0, 12_500.0, 3e6].map(|value| scale.label(value)),
            ["0", "0.5", "40", "12.5 k", "3 M"]
        );
    }

    #[test]
    fn two_weeks_are_shown_in_days_and_half_an_hour_in_minutes() {
        let shown = [1_209_600.0, 28_800.0, 1_800.0].map(|seconds| (Clock::of(seconds).unit, Clock::of(seconds).end));

        assert_eq!(shown, [("days", 14.0), ("hours", 8.0), ("minutes", 30.0)]);
    }
}
