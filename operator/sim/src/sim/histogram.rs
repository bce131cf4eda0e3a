//! A Prometheus histogram: cumulative buckets, sum and count.

/// Bounds of vLLM's time-to-first-token buckets, seconds (vllm/v1/metrics/loggers.py).
pub const FIRST_TOKEN: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    160.0, 640.0, 2560.0,
];

/// Bounds of vLLM's request and queue time buckets, seconds (vllm/v1/metrics/loggers.py).
pub const REQUEST: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
    1920.0, 7680.0,
];

/// Bounds of vLLM's token count buckets for a context of 131,072 (vllm/v1/metrics/loggers.py).
pub const TOKENS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];

/// Observations since the replica started.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Upper bounds, rising, without +Inf.
    pub bounds: &'static [f64],
    /// Observations at or below each bound.
    pub counts: Vec<u64>,
    /// Sum of all observations.
    pub sum: f64,
    /// Number of all observations.
    pub total: u64,
}

impl Histogram {
    /// No observation yet.
    pub fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len()], sum: 0.0, total: 0 }
    }

    /// Counts one observation.
    pub fn observe(&mut self, value: f64) {
        for (count, bound) in self.counts.iter_mut().zip(self.bounds) {
            *count += u64::from(value <= *bound);
        }
        self.sum += value;
        self.total += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let mut histogram = Histogram::new(&[1.0, 2.0]);
        for value in [0.5, 1.5, 9.0] {
            histogram.observe(value);
        }

        assert_eq!((histogram.counts, histogram.total), (vec![1, 2], 3));
    }
}
