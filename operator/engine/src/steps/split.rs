//! Which pool takes which replicas: each pool's base first, the rest in order, and elsewhere where they do not start.
//!
//! Growth fills the bases in order, then the pools without a base in order, then the pools with one. Shrinking goes the
//! other way round, replicas that are not Ready first. A Ready replica is moved only out of a pool above its maximum.

use super::place::Place;
use crate::decision::{Reason, StepResult};
use crate::ledger::Ledger;
use crate::units::{PoolName, Replicas};
use crate::world::Workload;
use jiff::Timestamp;

/// The number of each pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// In the order of the workload's pools.
    pub pools: Vec<Replicas>,
    /// The number that found a place, and why.
    pub result: StepResult,
    /// The pools that replicas were moved away from, since they did not start there.
    pub spilled: Vec<PoolName>,
}

/// Places `number` replicas and reserves the room of the new ones.
pub fn split(number: Replicas, workload: &Workload, ledger: &mut Ledger, now: Timestamp) -> Split {
    let mut places = Place::all(number, workload, ledger, now);
    for place in &mut places {
        place.take(place.target.minus(place.most));
    }
    shrink(&mut places, number);
    let spilled = spill(&mut places);
    let missing = number.minus(sum(&places));
    fill(&mut places, missing, None);
    // The minimum, and what runs already, are asked for whether or not there is room.
    let floor = number.min(workload.policy.min.max(workload.current()));
    force(&mut places, floor);
    reserve(&mut places, floor, workload, ledger);
    result(&places, number, workload.current(), spilled)
}

fn sum(places: &[Place]) -> Replicas {
    places.iter().map(|place| place.target).sum()
}

fn shrink(places: &mut [Place], number: Replicas) {
    // Eight targets of an int32 each exceed a u32.
    let all: u64 = places.iter().map(|place| u64::from(place.target.0)).sum();
    let mut surplus = all.saturating_sub(u64::from(number.0));
    for (only_waiting, keep_base) in [(true, true), (true, false), (false, true), (false, false)] {
        for with_base in [true, false] {
            for place in places.iter_mut().rev().filter(|place| place.has_base() == with_base) {
                let above = if keep_base { place.target.minus(place.base()) } else { place.target };
                let available = if only_waiting { above.min(place.waiting) } else { above };
                let taken = available.min(Replicas(u32::try_from(surplus).unwrap_or(u32::MAX)));
                place.take(taken);
                surplus -= u64::from(taken.0);
            }
        }
    }
}

/// Moves what has not started for too long to where there is room, and says from where and how many.
fn spill(places: &mut [Place]) -> Vec<(PoolName, Replicas)> {
    let mut spilled = Vec::new();
    for from in 0..places.len() {
        let stuck = places[from].stuck.min(places[from].target);
        let moved = fill(places, stuck, Some(from));
        if moved > Replicas::ZERO {
            places[from].take(moved);
            places[from].closed = true;
            spilled.push((places[from].policy.name(), moved));
        }
    }
    spilled
}

/// Adds up to `wanted` replicas and says how many; those that leave the pool `from` go to none that is stuck itself.
fn fill(places: &mut [Place], wanted: Replicas, from: Option<usize>) -> Replicas {
    let mut left = wanted;
    let mut add = |place: &mut Place, wanted: Replicas| left = left.minus(place.add(wanted.min(left)));
    let suits = |place: &Place| from.is_none() || place.stuck == Replicas::ZERO;
    for place in places.iter_mut().filter(|place| suits(place)) {
        add(place, place.base().minus(place.target));
    }
    for with_base in [false, true] {
        for place in places.iter_mut().filter(|place| suits(place) && place.has_base() == with_base) {
            add(place, wanted);
        }
    }
    wanted.minus(left)
}

fn force(places: &mut [Place], floor: Replicas) {
    let mut missing = floor.minus(sum(places));
    for place in places {
        let added = missing.min(place.most.minus(place.target));
        place.target = place.target.plus(added);
        missing = missing.minus(added);
    }
}

/// Takes the room of the new replicas. Pools may share nodes, so the last ones may find less than each pool has alone.
fn reserve(places: &mut [Place], floor: Replicas, workload: &Workload, ledger: &mut Ledger) {
    let each = workload.policy.each();
    let mut above_floor = sum(places).minus(floor);
    for place in places {
        let new = place.target.minus(place.asked);
        let found_room = ledger.reserve(place.policy.pool.as_ref(), each, new);
        let dropped = new.minus(found_room).min(above_floor);
        place.target = place.target.minus(dropped);
        above_floor = above_floor.minus(dropped);
        ledger.ask(place.policy.pool.as_ref(), each, new.minus(dropped));
    }
}

fn result(places: &[Place], number: Replicas, current: Replicas, spilled: Vec<(PoolName, Replicas)>) -> Split {
    let after = sum(places);
    let reason = match spilled.first() {
        Some((pool, replicas)) => Reason::Spilled { pool: pool.clone(), replicas: *replicas },
        None if after < number => Reason::NoCapacity { room: after.minus(current) },
        None => Reason::Placed,
    };
    let pools = places.iter().map(|place| place.target).collect();
    Split { pools, result: StepResult { after, reason }, spilled: spilled.into_iter().map(|(pool, _)| pool).collect() }
}
