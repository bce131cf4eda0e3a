//! How one workload fared over time, in few enough points to draw.

use super::figures::Counted;
use serde::{Deserialize, Serialize};

/// The most points that are kept.
pub const POINTS: usize = 480;

/// One point: means over its stretch of time, unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// Its start, seconds.
    pub at: f64,
    /// Requests or samples that arrive a second.
    pub load: f64,
    /// Replicas Ready.
    pub ready: f64,
    /// Replicas asked for.
    pub asked: f64,
    /// Requests or samples that wait.
    pub queue: f64,
    /// The longest that a request took, seconds; none for training.
    pub latency: Option<f64>,
    /// Share of time in which the gate held growth.
    pub refused: f64,
}

/// Collects points.
#[derive(Clone, Debug)]
pub struct Series {
    width: f64,
    points: Vec<Point>,
    open: Point,
    seconds: f64,
}

impl Series {
    /// For a simulation of this length with cycles of that one, seconds.
    pub fn new(length: f64, cycle: f64) -> Self {
        Self { width: (length / POINTS as f64).max(cycle), points: Vec::new(), open: Point::default(), seconds: 0.0 }
    }

    /// Adds one cycle.
    pub fn add(&mut self, one: &Counted) {
        if self.seconds >= self.width - 1e-6 {
            self.close();
        }
        if self.seconds == 0.0 {
            self.open = Point { at: one.now, ..Point::default() };
        }
        self.seconds += one.seconds;
        self.open.load += one.arrived;
        self.open.ready += f64::from(one.ready) * one.seconds;
        self.open.asked += f64::from(one.asked) * one.seconds;
        self.open.queue += one.look.queue * one.seconds;
        self.open.refused += if one.refused > 0 { one.seconds } else { 0.0 };
        self.open.latency = self.open.latency.into_iter().chain(one.look.latency).reduce(f64::max);
    }

    fn close(&mut self) {
        let mean = |sum: f64| sum / self.seconds;
        self.points.push(Point {
            at: self.open.at,
            load: mean(self.open.load),
            ready: mean(self.open.ready),
            asked: mean(self.open.asked),
            queue: mean(self.open.queue),
            latency: self.open.latency,
            refused: mean(self.open.refused),
        });
        self.seconds = 0.0;
    }

    /// All points.
    pub fn finish(mut self) -> Vec<Point> {
        if self.seconds > 0.0 {
            self.close();
        }
        self.points
    }
}

/// The means of `values` over at most `points` equal stretches.
pub fn thinned(values: &[f64], points: usize) -> Vec<f64> {
    let width = values.len().div_ceil(points.max(1)).max(1);
    values.chunks(width).map(|some| some.iter().sum::<f64>() / some.len() as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::plant::Look;

    #[test]
    fn a_point_is_the_mean_of_its_cycles_and_the_longest_latency() {
        let mut series = Series::new(480.0 * 30.0, 15.0);
        for (now, ready, latency) in [(0.0, 2, 0.5), (15.0, 4, 3.0), (30.0, 6, 1.0)] {
            let look = Look { queue: 10.0, latency: Some(latency), ..Look::default() };
            series.add(&Counted { now, seconds: 15.0, look, arrived: 30.0, asked: 6, ready, refused: 0, gpus: 1 });
        }

        let points = series.finish();

        let shown = |point: &Point| (point.at, point.load, point.ready, point.latency);
        assert_eq!(
            points.iter().map(shown).collect::<Vec<_>>(),
            [(0.0, 2.0, 3.0, Some(3.0)), (30.0, 2.0, 6.0, Some(1.0))]
        );
    }

    #[test]
    fn thinning_keeps_the_mean() {
        assert_eq!(thinned(&[1.0, 3.0, 5.0, 7.0, 9.0], 3), [2.0, 6.0, 9.0]);
        assert!(thinned(&[], 3).is_empty());
    }
}
