//! A quantile of what a histogram counted between two moments, as Prometheus computes it.

use wellfed_sim::sim::histogram::Histogram;

/// The quantile `share` of what was counted after `first` and until `last`: linear within a bucket, and the highest bound
/// for what lies above it. None where nothing was counted.
pub fn between(first: &Histogram, last: &Histogram, share: f64) -> Option<f64> {
    let total = last.total.checked_sub(first.total).filter(|total| *total > 0)? as f64;
    let (mut below, mut low) = (0.0, 0.0);
    for ((bound, now), before) in last.bounds.iter().zip(&last.counts).zip(&first.counts) {
        let count = now.saturating_sub(*before) as f64;
        if count >= share * total {
            return Some(low + (bound - low) * (share * total - below) / (count - below));
        }
        (below, low) = (count, *bound);
    }
    last.bounds.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_within_its_bucket_and_only_new_observations_count() {
        let mut first = Histogram::new(&[10.0, 20.0, 40.0]);
        first.observe(39.0);
        let mut last = first.clone();
        for value in [5.0, 5.0, 15.0, 15.0] {
            last.observe(value);
        }

        assert_eq!(between(&first, &last, 0.5), Some(10.0), "two of four are in the first bucket");
        assert_eq!(between(&first, &last, 0.75), Some(15.0));
        assert_eq!(between(&last, &last, 0.5), None);
        last.observe(1_000.0);
        assert_eq!(between(&first, &last, 0.99), Some(40.0), "above all bounds");
    }
}
