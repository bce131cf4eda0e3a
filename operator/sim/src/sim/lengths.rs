//! Requests of unequal length: log-normal about the mean that the scenario gives.

use super::source::Arrival;
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::f64::consts::TAU;

/// Dice of their own, so that arrival times are the same whatever the lengths are.
#[derive(Debug)]
pub(super) struct Lengths(StdRng);

impl Lengths {
    pub(super) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1E46))
    }

    /// `request` with lengths whose logarithms are spread by `spread`; their means stay.
    pub(super) fn spread(&mut self, request: Arrival, spread: f64) -> Arrival {
        Arrival { prompt: self.draw(request.prompt, spread), output: self.draw(request.output, spread), ..request }
    }

    fn draw(&mut self, mean: u32, spread: f64) -> u32 {
        let factor = (spread * self.normal() - spread * spread / 2.0).exp();
        (f64::from(mean) * factor).round().max(1.0) as u32
    }

    fn normal(&mut self) -> f64 {
        let (radius, turn) = (1.0 - self.0.random::<f64>(), self.0.random::<f64>());
        (-2.0 * radius.ln()).sqrt() * (TAU * turn).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_keep_their_mean_and_the_longest_twentieth_is_five_times_the_middle() {
        let mut lengths = Lengths::new(7);
        let mut drawn: Vec<u32> = (0..20_000).map(|_| lengths.draw(1000, 1.0)).collect();
        drawn.sort_unstable();

        let mean = drawn.iter().map(|one| f64::from(*one)).sum::<f64>() / 20_000.0;
        assert!((950.0..1050.0).contains(&mean), "{mean}");
        // e^1.645 = 5.18
        let ratio = f64::from(drawn[19_000]) / f64::from(drawn[10_000]);
        assert!((4.9..5.5).contains(&ratio), "{ratio}");
    }
}
