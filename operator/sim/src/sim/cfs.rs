//! The kernel's CPU quota: what a demand for cores becomes under a limit.

use super::usage::Usage;

/// Length of one scheduler period, seconds (the kernel's default).
pub const PERIOD: f64 = 0.1;

/// What the quota let through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Granted {
    /// Mean cores in use.
    pub cores: f64,
    /// Share of periods in which the quota ran out, 0–1. `None` without a limit: the kernel counts no periods then.
    pub throttled: Option<f64>,
}

impl Granted {
    /// Share of time in which the tasks that wanted `mean` cores could run and were held back, 0–1.
    pub fn waiting(self, mean: f64) -> f64 {
        if mean > 0.0 { (1.0 - self.cores / mean).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// A demand whose mean over a period is normal with `mean` and `deviation` cores, under `limit` cores.
/// A period that wants more than its quota is cut there and counts as throttled.
pub fn granted(mean: f64, deviation: f64, limit: Option<f64>) -> Granted {
    let Some(limit) = limit else { return Granted { cores: mean, throttled: None } };
    if deviation <= f64::EPSILON {
        return Granted { cores: mean.min(limit), throttled: Some(f64::from(u8::from(mean > limit))) };
    }
    let room = (limit - mean) / deviation;
    let unused = deviation * (density(room) + room * cumulative(room));
    Granted { cores: (limit - unused).max(0.0), throttled: Some(1.0 - cumulative(room)) }
}

/// What a container uses in `seconds` whose tasks want `mean` cores, give or take `deviation`, under `limit` cores.
pub fn charge(mean: f64, deviation: f64, limit: Option<f64>, seconds: f64) -> Usage {
    let granted = granted(mean, deviation, limit);
    let periods = granted.throttled.map_or(0.0, |_| seconds / PERIOD);
    Usage {
        cpu_seconds: granted.cores * seconds,
        cpu_waiting: granted.waiting(mean) * seconds,
        cfs_periods: periods,
        cfs_throttled: periods * granted.throttled.unwrap_or(0.0),
        ..Usage::default()
    }
}

/// What becomes of `used` in `seconds` when only `share` cores are left of those that many pods share. Each task gets
/// its turn by itself, so one of many waits nearly always.
pub fn crowd(used: Usage, share: f64, seconds: f64) -> Usage {
    let wanted = used.cpu_seconds / seconds;
    if wanted <= share {
        return used;
    }
    let none_waits = (1.0 - used.cpu_waiting / seconds) * (share / wanted).powf(wanted.max(1.0));
    let (cpu_seconds, cpu_waiting) = (share * seconds, (1.0 - none_waits) * seconds);
    Usage { cpu_seconds, cpu_waiting, cfs_throttled: 0.0, ..used }
}

fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The normal distribution function (Abramowitz and Stegun 26.2.17, error below 1e-7).
fn cumulative(z: f64) -> f64 {
    const B: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let tail = density(z) * t * B.iter().rev().fold(0.0, |sum, b| sum * t + b);
    if z >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_demand_is_granted_whole_and_never_throttled() {
        let got = granted(2.0, 0.2, Some(8.0));

        assert!((got.cores - 2.0).abs() < 1e-6);
        assert!(got.throttled.unwrap() < 1e-6);
    }

    #[test]
    fn a_demand_at_the_limit_is_throttled_in_half_of_the_periods() {
        let got = granted(8.0, 0.5, Some(8.0));

        assert!((got.throttled.unwrap() - 0.5).abs() < 1e-6);
        assert!((got.cores - 7.8005).abs() < 1e-3);
    }

    #[test]
    fn a_steady_demand_above_the_limit_is_throttled_always() {
        assert_eq!(granted(12.0, 0.0, Some(8.0)), Granted { cores: 8.0, throttled: Some(1.0) });
    }

    #[test]
    fn tasks_that_want_half_more_than_their_limit_wait_for_a_third_of_the_time() {
        assert!((granted(12.0, 0.0, Some(8.0)).waiting(12.0) - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn without_a_limit_no_periods_are_counted() {
        assert_eq!(granted(12.0, 1.0, None), Granted { cores: 12.0, throttled: None });
    }
}
