//! The same when a share of the load may stay unserved: what there is to win by leaving the rare peaks alone.
//!
//! A price on unserved work makes the layers independent again: each is worth its cost where that is less than the
//! price of what it alone would leave unserved. The dearest price that just keeps the share gives a policy that can be
//! had, and, with the prices tried on the way, a bound below which none can be.

use super::{Optimum, need, optimum};

/// Times that the price is doubled at most, and times that it is halved between two.
const STEPS: (u32, u32) = (48, 40);
/// A policy this close to the bound, as a share of its cost, is good enough.
const CLOSE: f64 = 1e-4;

/// The cheapest policies that leave a share unserved.
#[derive(Clone, Debug, PartialEq)]
pub struct Slack {
    /// A policy within the share: no policy that is known is cheaper.
    pub had: Optimum,
    /// The share of the load that it leaves unserved, 0–1.
    pub unserved: f64,
    /// Replicas × hours that every policy within the share costs at least.
    pub at_least: f64,
}

/// Load, capacity of a replica (both a second), length of a step and of a start (seconds).
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Load in each step.
    pub load: &'a [f64],
    /// What a replica does.
    pub capacity: f64,
    /// Length of a step.
    pub step: f64,
    /// Length of a start.
    pub start_up: f64,
}

/// The cheapest way to leave at most `share` of the load unserved. What is not served at once is lost.
pub fn with_slack(terms: Terms, share: f64) -> Slack {
    let full = optimum(&need(terms.load, terms.capacity), terms.step, terms.start_up);
    let mut best = Slack { had: full, unserved: 0.0, at_least: 0.0 };
    // A replica-second serves `capacity`; a price below its cost serves nothing.
    let (mut low, mut high) = (0.0, 1.0 / terms.capacity);
    let mut doublings = 0;
    while !terms.tried(high, share, &mut best) && doublings < STEPS.0 {
        (low, high, doublings) = (high, high * 2.0, doublings + 1);
    }
    for _ in 0..STEPS.1 {
        if best.had.replica_hours - best.at_least <= CLOSE * best.had.replica_hours {
            break;
        }
        let middle = f64::midpoint(low, high);
        if terms.tried(middle, share, &mut best) {
            high = middle;
        } else {
            low = middle;
        }
    }
    best
}

/// A layer at one price.
struct Layer {
    on: Vec<bool>,
    /// Replica-seconds, with the price of what stays unserved.
    paid: f64,
}

impl Terms<'_> {
    /// Whether `price` keeps the share; remembers the policy if it is the cheapest, and the bound if it is the highest.
    fn tried(self, price: f64, share: f64, best: &mut Slack) -> bool {
        let (mut had, mut paid) = (Optimum { replicas: vec![0; self.load.len()], ..Optimum::default() }, 0.0);
        for layer in 0..need(self.load, self.capacity).into_iter().max().unwrap_or(0) {
            let layer = self.layer(f64::from(layer), price);
            had.starts += u32::from(layer.on.first() == Some(&true));
            had.starts += layer.on.windows(2).map(|pair| u32::from(!pair[0] && pair[1])).sum::<u32>();
            had.replicas.iter_mut().zip(&layer.on).for_each(|(held, on)| *held += u32::from(*on));
            paid += layer.paid;
        }
        let steps: f64 = had.replicas.iter().map(|held| f64::from(*held)).sum();
        had.replica_hours = (steps * self.step + f64::from(had.starts) * self.start_up) / 3600.0;
        let total: f64 = self.load.iter().sum::<f64>() * self.step;
        best.at_least = best.at_least.max((paid - price * share * total) / 3600.0);
        let unserved = self.unserved(&had.replicas);
        let kept = unserved <= share;
        if kept && had.replica_hours < best.had.replica_hours {
            (best.had, best.unserved) = (had, unserved);
        }
        kept
    }

    fn unserved(self, replicas: &[u32]) -> f64 {
        let total: f64 = self.load.iter().sum();
        let lost = |(load, held): (&f64, &u32)| (load - self.capacity * f64::from(*held)).max(0.0);
        if total > 0.0 { self.load.iter().zip(replicas).map(lost).sum::<f64>() / total } else { 0.0 }
    }

    /// When the replica above `below` others is worth its cost: the cheapest path through on and off.
    fn layer(self, below: f64, price: f64) -> Layer {
        let (mut on, mut off) = (f64::INFINITY, 0.0);
        let mut came: Vec<(bool, bool)> = Vec::with_capacity(self.load.len());
        for load in self.load {
            let lost = (load - below * self.capacity).clamp(0.0, self.capacity) * self.step;
            let (stays, starts) = (on, off + self.start_up);
            came.push((stays <= starts, on <= off));
            (on, off) = (stays.min(starts) + self.step, on.min(off) + price * lost);
        }
        let mut now = on <= off;
        let mut states = vec![false; came.len()];
        for (state, came) in states.iter_mut().zip(&came).rev() {
            *state = now;
            now = if now { came.0 } else { came.1 };
        }
        Layer { on: states, paid: on.min(off) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Share of `load` beyond ten for each replica.
    fn lost(load: &[f64], replicas: &[u32]) -> f64 {
        let beyond: f64 = (0..load.len()).map(|at| (load[at] - 10.0 * f64::from(replicas[at])).max(0.0)).sum();
        beyond / load.iter().sum::<f64>().max(1.0)
    }

    /// Hours of the cheapest of all policies within `share`, each tried in turn.
    fn by_brute_force(terms: Terms, share: f64, most: u32) -> f64 {
        let mut best = f64::INFINITY;
        let count = u32::try_from(terms.load.len()).unwrap();
        for number in 0..(most + 1).pow(count) {
            let replicas: Vec<u32> = (0..count).map(|step| number / (most + 1).pow(step) % (most + 1)).collect();
            if lost(terms.load, &replicas) <= share {
                let before = [0].into_iter().chain(replicas.iter().copied());
                let started: u32 = before.zip(&replicas).map(|(before, now)| now.saturating_sub(before)).sum();
                let held: u32 = replicas.iter().sum();
                best = best.min((f64::from(held) * terms.step + f64::from(started) * terms.start_up) / 3600.0);
            }
        }
        best
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Kills: a bound without the price of the share, and a policy that is kept although it leaves too much.
        #[test]
        fn the_cheapest_of_all_policies_lies_between_the_bound_and_the_policy(
            load in prop::collection::vec(0_u32..30, 1..6),
            start_up in 0_u32..60,
            share in 0_u32..40,
        ) {
            let load: Vec<f64> = load.into_iter().map(f64::from).collect();
            let terms = Terms { load: &load, capacity: 10.0, step: 15.0, start_up: f64::from(start_up) };
            let share = f64::from(share) / 100.0;

            let got = with_slack(terms, share);

            let best = by_brute_force(terms, share, 3);
            prop_assert!(lost(&load, &got.had.replicas) <= share);
            prop_assert!(got.at_least <= best + 1e-9, "bound {} above {best}", got.at_least);
            prop_assert!(got.had.replica_hours >= best - 1e-9, "{} below {best}", got.had.replica_hours);
        }
    }

    #[test]
    fn a_rare_peak_is_left_alone() {
        // 10 a second for a hundred steps, and one step of 25.
        let load: Vec<f64> = (0..101).map(|step| if step == 50 { 25.0 } else { 10.0 }).collect();
        let terms = Terms { load: &load, capacity: 10.0, step: 15.0, start_up: 60.0 };

        let strict = with_slack(terms, 0.0);
        let loose = with_slack(terms, 0.015);

        // The peak needs two more replicas for a step and a start each.
        let one = (101.0 * 15.0 + 60.0) / 3600.0;
        assert!((strict.had.replica_hours - one - 2.0 * 75.0 / 3600.0).abs() < 1e-9);
        assert!((loose.had.replica_hours - one).abs() < 1e-9);
        assert!((loose.unserved - 15.0 / 1025.0).abs() < 1e-9);
    }
}
