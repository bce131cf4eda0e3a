//! Means of gauges, and counters at both ends of a look.

use crate::evidence::Metric;

/// The gauges of one thing since the last slice.
#[derive(Clone, Debug, Default)]
pub struct Means(Vec<Sum>);

#[derive(Clone, Copy, Debug)]
struct Sum {
    metric: Metric,
    total: f64,
    squares: f64,
    largest: f64,
    count: u32,
}

impl Sum {
    const fn none(metric: Metric) -> Self {
        Self { metric, total: 0.0, squares: 0.0, largest: f64::MIN, count: 0 }
    }

    fn mean(self) -> f64 {
        self.total / f64::from(self.count)
    }
}

impl Means {
    /// One more sample.
    pub fn add(&mut self, metric: Metric, value: f64) {
        let at = self.0.iter().position(|sum| sum.metric == metric).unwrap_or_else(|| {
            self.0.push(Sum::none(metric));
            self.0.len() - 1
        });
        let sum = &mut self.0[at];
        sum.total += value;
        sum.squares += value * value;
        sum.largest = sum.largest.max(value);
        sum.count += 1;
    }

    /// The latest sample instead of those before.
    pub fn latest(&mut self, metric: Metric, value: f64) {
        self.0.retain(|sum| sum.metric != metric);
        self.add(metric, value);
    }

    /// No sample at all.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|sum| sum.count == 0)
    }

    /// The largest of the samples.
    pub fn largest(&self, metric: Metric) -> Option<f64> {
        self.0.iter().find(|sum| sum.metric == metric && sum.count > 0).map(|sum| sum.largest)
    }

    /// The standard deviation of the samples.
    pub fn deviation(&self, metric: Metric) -> Option<f64> {
        let sum = self.0.iter().find(|sum| sum.metric == metric && sum.count > 0)?;
        let mean = sum.mean();
        Some((sum.squares / f64::from(sum.count) - mean * mean).max(0.0).sqrt())
    }

    /// All means; then there is no sample any more.
    pub fn drain(&mut self) -> impl Iterator<Item = (Metric, f64)> {
        self.0.iter_mut().filter(|sum| sum.count > 0).map(|sum| {
            let mean = sum.mean();
            *sum = Sum::none(sum.metric);
            (sum.metric, mean)
        })
    }
}

/// A set of counters at the beginning of the look and now, each with its second.
#[derive(Clone, Debug)]
pub struct Counted<T> {
    first: Option<(f64, T)>,
    last: Option<(f64, T)>,
}

impl<T> Default for Counted<T> {
    fn default() -> Self {
        Self { first: None, last: None }
    }
}

impl<T: Clone> Counted<T> {
    /// Their values at this second.
    pub fn note(&mut self, at: f64, value: T) {
        if self.first.is_none() {
            self.first = Some((at, value.clone()));
        }
        self.last = Some((at, value));
    }

    /// Their latest values.
    pub fn last(&self) -> Option<&T> {
        self.last.as_ref().map(|(_, value)| value)
    }

    /// Both ends and the seconds between them; none without two samples.
    pub fn span(&self) -> Option<(&T, &T, f64)> {
        let ((from, first), (until, last)) = (self.first.as_ref()?, self.last.as_ref()?);
        (until > from).then_some((first, last, until - from))
    }

    /// The next look begins where this one ends.
    pub fn go_on(&mut self) {
        self.first.clone_from(&self.last);
    }
}
