//! Which replica gets how much of what comes in.

use crate::scenario::Router;

/// How much each of the Ready replicas gets of `amount`, given what is on each: it goes to those with the least until
/// they are level, and what sticks goes so to the first ones alone.
pub(super) fn spread(amount: f64, loads: &[f64], router: Option<&Router>) -> Vec<f64> {
    let mut filled = loads.to_vec();
    let (share, own) = router.map_or((0.0, 0), |router| (router.pinned, loads.len().min(router.to as usize)));
    fill(&mut filled[..own], amount * share);
    fill(&mut filled, amount * (1.0 - share));
    filled.iter().zip(loads).map(|(after, before)| after - before).collect()
}

fn fill(loads: &mut [f64], amount: f64) {
    if let Some(level) = level(loads, amount) {
        for load in loads {
            *load = load.max(level);
        }
    }
}

/// The height up to which `amount` fills what is below it.
fn level(loads: &[f64], amount: f64) -> Option<f64> {
    let mut sorted = loads.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut sum = amount;
    for (index, load) in sorted.iter().enumerate() {
        sum += load;
        let level = sum / (index + 1) as f64;
        if sorted.get(index + 1).is_none_or(|next| level <= *next) {
            return Some(level);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_are_filled_until_all_are_level() {
        assert_eq!(spread(4.0, &[5.0, 0.0, 2.0], None), [0.0, 3.0, 1.0]);
        assert_eq!(spread(12.0, &[5.0, 0.0, 1.0], None), [1.0, 6.0, 5.0]);
    }

    #[test]
    fn what_sticks_goes_to_the_first_ones_alone() {
        let router = Router { pinned: 0.75, to: 1 };

        assert_eq!(spread(8.0, &[0.0, 0.0, 0.0], Some(&router)), [6.0, 1.0, 1.0]);
    }
}
