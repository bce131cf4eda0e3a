//! How fast a replica works with so much inside, and what is inside after a while.

/// Below this nothing is inside: a fluid would otherwise never run dry.
const CRUMB: f64 = 1e-3;

/// With `x` requests inside, `x / (delay + shared × x)` a second are finished, and `most` at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    /// Seconds that a request takes, however many others there are.
    pub delay: f64,
    /// Seconds that every request takes from all others.
    pub shared: f64,
    /// Requests a second at most.
    pub most: f64,
}

impl Law {
    /// What is still inside when `amount` was there or came, `seconds` later. Implicit: the rate is that of the end.
    pub fn left(self, amount: f64, seconds: f64) -> f64 {
        let half = (self.delay + seconds - amount * self.shared) / 2.0;
        let root = (half * half + self.shared * amount * self.delay).sqrt();
        // Two forms of one solution; each is exact where the other would cancel.
        let left = if half >= 0.0 { amount * self.delay / (half + root) } else { (root - half) / self.shared };
        let left = left.max(amount - seconds * self.most);
        if left < CRUMB { 0.0 } else { left }
    }

    /// Seconds from coming in to being finished with `inside` there.
    pub fn time(self, inside: f64) -> f64 {
        (self.delay + self.shared * inside).max(inside / self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Law = Law { delay: 4.0, shared: 0.1, most: 5.0 };

    #[test]
    fn steady_arrivals_settle_where_the_law_finishes_as_many() {
        let mut inside = 0.0;
        for _ in 0..50 {
            inside = LAW.left(inside + 15.0 * 2.0, 15.0);
        }

        // x / (4 + 0.1 x) = 2
        assert!((inside - 10.0).abs() < 1e-6, "{inside}");
    }

    #[test]
    fn above_the_most_the_rest_piles_up() {
        assert!((LAW.left(500.0, 15.0) - 425.0).abs() < 1e-9);
    }

    #[test]
    fn a_fluid_runs_dry() {
        let left = (0..20).fold(3.0, |inside, _| LAW.left(inside, 15.0));

        assert!(left.abs() < f64::EPSILON);
    }

    #[test]
    fn time_inside_is_what_little_s_law_says() {
        assert!((LAW.time(10.0) - 5.0).abs() < 1e-9);
        assert!((LAW.time(100.0) - 20.0).abs() < 1e-9);
    }
}
