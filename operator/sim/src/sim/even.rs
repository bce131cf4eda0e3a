//! Chance without dice: a share of a sequence, spread evenly over it and the same in every run.

/// Picks a share of what it is asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Even {
    at: f64,
    stride: f64,
}

impl Even {
    /// Which requests stick to a replica. The strides of the two have no common multiple, so that one choice says
    /// nothing about the other.
    pub(super) const STICKY: Self = Self { at: 0.0, stride: 0.618_033_988_749_895 };
    /// Which answers run on to their cap.
    pub(super) const RUN_ON: Self = Self { at: 0.0, stride: 0.414_213_562_373_095 };

    /// Whether the next one belongs to the `share`, 0–1.
    pub(super) fn hit(&mut self, share: f64) -> bool {
        self.at = (self.at + self.stride).fract();
        self.at < share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_fifths_of_a_thousand_are_eight_hundred_and_half_of_those_are_four_hundred() {
        let (mut sticky, mut run_on) = (Even::STICKY, Even::RUN_ON);
        let picked: Vec<(bool, bool)> = (0..1000).map(|_| (sticky.hit(0.8), run_on.hit(0.5))).collect();

        let count = |wanted: fn(&(bool, bool)) -> bool| picked.iter().filter(|one| wanted(one)).count();
        assert!((798..=802).contains(&count(|one| one.0)));
        assert!((380..=420).contains(&count(|one| one.0 && one.1)));
    }
}
