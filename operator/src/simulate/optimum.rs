//! The least that any policy could have paid, knowing everything beforehand.
//!
//! The moments at which at least k replicas are needed lie within those at which k − 1 are, so each k, a layer, can be
//! looked at alone: between two moments of need it is cheaper to keep a replica through a gap that is no longer than
//! its start, and to start another one after a longer gap. Load time is paid like time in use.

pub mod slack;

/// What would have been cheapest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Optimum {
    /// Replicas × hours, with the starts.
    pub replica_hours: f64,
    /// Starts of replicas.
    pub starts: u32,
    /// Replicas in each step that serve or are kept, without those that load.
    pub replicas: Vec<u32>,
}

/// Replicas that `load` a second needs in each step, when one does `capacity` a second.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and is never negative
pub fn need(load: &[f64], capacity: f64) -> Vec<u32> {
    load.iter().map(|load| (load / capacity - 1e-9).ceil() as u32).collect()
}

/// The cheapest way to have at least `need` replicas in every step of `step` seconds, when a start takes `start_up`
/// seconds. Nothing runs at the beginning.
pub fn optimum(need: &[u32], step: f64, start_up: f64) -> Optimum {
    with_ready(need, step, start_up, 0)
}

/// As `optimum`, when a start is billed for `start` seconds and `ready` replicas were started before the beginning, which
/// nobody pays for.
pub fn with_ready(need: &[u32], step: f64, start: f64, ready: u32) -> Optimum {
    let mut optimum = Optimum { replicas: need.to_vec(), ..Optimum::default() };
    for layer in 1..=need.iter().copied().max().unwrap_or(0) {
        // From where on the layer's replica stands idle, if there is one.
        let mut idle = (layer <= ready).then_some(0);
        for (now, _) in need.iter().enumerate().filter(|(_, need)| **need >= layer) {
            let kept = idle.filter(|since| (now - since) as f64 * step <= start);
            match kept {
                // Within the gap of a layer that is kept, all layers below are kept too.
                Some(since) => optimum.replicas[since..now].iter_mut().for_each(|held| *held = layer),
                None => optimum.starts += 1,
            }
            idle = Some(now + 1);
        }
    }
    let steps: f64 = optimum.replicas.iter().map(|held| f64::from(*held)).sum();
    optimum.replica_hours = (steps * step + f64::from(optimum.starts) * start) / 3600.0;
    optimum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every number of replicas in every step, by brute force: seconds paid.
    fn by_dynamic_programming(need: &[u32], step: f64, start: f64, ready: u32) -> f64 {
        let most = need.iter().copied().max().unwrap_or(0).max(ready);
        let mut paid: Vec<Option<f64>> = (0..=most).map(|held| (held == ready).then_some(0.0)).collect();
        for need in need {
            let cheapest = |held: u32| {
                let from = |(before, paid): (u32, &Option<f64>)| {
                    Some((*paid)? + f64::from(held) * step + f64::from(held.saturating_sub(before)) * start)
                };
                (0..).zip(&paid).filter_map(from).reduce(f64::min)
            };
            paid = (0..=most).map(|held| if held < *need { None } else { cheapest(held) }).collect();
        }
        paid.into_iter().flatten().reduce(f64::min).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        /// Kills: keeping through every gap, through none, or through those of up to one step more than the start.
        #[test]
        fn it_costs_what_brute_force_finds(
            need in prop::collection::vec(0_u32..5, 1..14),
            start in 0_u32..80,
        ) {
            let start = f64::from(start);

            let got = optimum(&need, 15.0, start);

            let expected = by_dynamic_programming(&need, 15.0, start, 0) / 3600.0;
            prop_assert!((got.replica_hours - expected).abs() < 1e-9, "{} for {expected}", got.replica_hours);
            prop_assert!(got.replicas.iter().zip(&need).all(|(held, need)| held >= need));
        }

        /// Kills: a start for what is ready, none for a layer above, and what is ready kept however late it is needed.
        #[test]
        fn what_is_ready_at_the_beginning_is_kept_or_let_go_as_brute_force_finds(
            need in prop::collection::vec(0_u32..5, 1..14),
            start in 0_u32..80,
            ready in 0_u32..7,
        ) {
            let start = f64::from(start);

            let got = with_ready(&need, 15.0, start, ready);

            let expected = by_dynamic_programming(&need, 15.0, start, ready) / 3600.0;
            prop_assert!((got.replica_hours - expected).abs() < 1e-9, "{} for {expected}", got.replica_hours);
            prop_assert!(got.replicas.iter().zip(&need).all(|(held, need)| held >= need));
        }
    }

    #[test]
    fn a_short_gap_is_kept_and_a_long_one_is_not() {
        // One layer through four idle steps of 15 s for starts of 60 s, and a second one that is started twice.
        let got = optimum(&[2, 0, 0, 0, 0, 1, 1, 1, 2], 15.0, 60.0);

        assert_eq!(got.replicas, [2, 1, 1, 1, 1, 1, 1, 1, 2]);
        assert_eq!(got.starts, 3);
        assert!((got.replica_hours - (11.0 * 15.0 + 3.0 * 60.0) / 3600.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_needed_costs_nothing() {
        assert!(optimum(&[0, 0, 0], 15.0, 60.0).replica_hours.abs() < f64::EPSILON);
        assert!(optimum(&[], 15.0, 60.0).replicas.is_empty());
    }

    #[test]
    fn need_is_load_over_capacity_rounded_up() {
        assert_eq!(need(&[0.0, 0.1, 3.0, 3.1, 30.0], 3.0), [0, 1, 1, 2, 10]);
    }
}
