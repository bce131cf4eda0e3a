//! One GPU of a group is slower than its peers, and all wait for it.

use super::{Certainty, Rule, RuleName, Says, at_least, below};
use crate::evidence::{Evidence, GpuEvidence};
use crate::opinion::{Measure, Quantity, Weight};
use crate::policy::Class;
use crate::span::Span;
use crate::xids;
use std::iter::repeat_n;

/// An outlier in SM clock among GPUs of its product, or in the lanes of its `PCIe` link, or the only one whose clocks are held
/// down. A trainer's group moves at its pace, and would with
/// more GPUs too; those of other classes do not wait for each other, and are only advised. An outlier in activity alone is
/// only said: roles and stages of one run differ by design. So is an error of the hardware, whose last number is all that
/// an exporter shows.
pub struct Straggler;

impl Rule for Straggler {
    fn name(&self) -> RuleName {
        RuleName::Straggler
    }

    fn cause(&self) -> &'static str {
        "one GPU holds up its peers"
    }

    fn consequence(&self) -> &'static str {
        "more of them would be held up as well"
    }

    fn certainty(&self) -> Certainty {
        Certainty::Sick
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if all(seen) < seen.gate.thresholds.outlier_among {
            return Says::NotMine;
        }
        let found = Found {
            clocks: clocks(seen),
            activity: activity(seen),
            held: held(seen),
            lanes: lanes(seen),
            error: error(seen),
        };
        let weight = if seen.class == Class::Training { Weight::Veto } else { Weight::Advice };
        let Some(concerned) = found.concerned() else { return Says::NotMine };
        let measured = found.measured(concerned, seen);
        if found.slows() {
            Says::Found(weight, measured)
        } else {
            // Some wait and some do not: a cause that is seen at those that wait explains more.
            Says::Unexplained(Weight::Advice, measured)
        }
    }
}

/// How many GPUs are odd in each way, and the worst of them.
struct Found {
    clocks: Option<(f64, f64)>,
    activity: Option<(f64, f64)>,
    held: Option<(f64, f64)>,
    lanes: Option<Narrow>,
    error: Option<(f64, f64)>,
}

impl Found {
    /// Whether something was found that holds up the group.
    fn slows(&self) -> bool {
        self.clocks.or(self.held).is_some() || self.lanes.is_some()
    }

    /// The same GPU may be odd in several ways.
    fn concerned(&self) -> Option<f64> {
        let counts = [self.clocks, self.activity, self.held, self.error].into_iter().flatten().map(|(count, _)| count);
        counts.chain(self.lanes.as_ref().map(|narrow| narrow.count)).reduce(f64::max)
    }

    fn measured(&self, concerned: f64, seen: &Evidence) -> Vec<Measure> {
        let limits = &seen.gate.thresholds;
        let of = |what, found: Option<(f64, f64)>, limit| found.map(|(_, worst)| Measure::of(what, worst, Some(limit)));
        [
            of(Quantity::ClockOfPeers, self.clocks, limits.outlier_clock_below),
            of(Quantity::ActivityApart, self.activity, limits.outlier_activity_from),
            of(Quantity::ClocksHeld, self.held, limits.clocks_held_from),
            self.lanes.as_ref().map(|narrow| Measure::of(Quantity::PcieLanes, narrow.lanes, Some(narrow.full))),
            self.error.map(|(_, xid)| Measure::of(Quantity::Xid, xid, None)),
            Some(Measure::of(Quantity::GpusConcerned, concerned, None)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// GPUs that the pods ask for, seen or not.
fn all(seen: &Evidence) -> f64 {
    (seen.gpus.len() as f64).max(f64::from(seen.expected_gpus))
}

/// GPUs at work at a clock far below that of their peers; an idle one lowers its clock by itself.
fn clocks(seen: &Evidence) -> Option<(f64, f64)> {
    let limits = &seen.gate.thresholds;
    let slow = |gpu: &GpuEvidence, than: f64| below(gpu.clock, limits.outlier_clock_below * than);
    let odd = |gpu: &&GpuEvidence| {
        // Looked at closely only where one is faster: peers are sorted for that.
        let faster =
            |other: &GpuEvidence| other.product == gpu.product && other.clock.is_some_and(|clock| slow(gpu, clock.low));
        at_least(gpu.activity(), limits.busy_from)
            && seen.gpus.iter().any(faster)
            && clock_peers(gpu, seen).is_some_and(|peers| {
                slow(gpu, peers.low) && gpu.clock.is_some_and(|clock| peers.leave_out(clock, limits.outlier_from))
            })
    };
    let ratio = |gpu: &GpuEvidence| Some(gpu.clock?.mean / clock_peers(gpu, seen)?.low);
    worst(seen.gpus.iter().filter(odd).filter_map(ratio), f64::min)
}

/// GPUs of the same product: others run at other clocks. One whose product is not known may be a peer with any clock.
fn clock_peers(gpu: &GpuEvidence, seen: &Evidence) -> Option<Peers> {
    let same = seen.gpus.iter().filter(|other| other.product.is_none() || other.product == gpu.product);
    let clock = |other: &GpuEvidence| other.clock.filter(|_| other.product.is_some());
    Peers::of(&same.map(clock), unseen(seen), f64::INFINITY, seen)
}

/// GPUs whose activity is far from that of their peers, in either direction.
fn activity(seen: &Evidence) -> Option<(f64, f64)> {
    let limits = &seen.gate.thresholds;
    let known = || seen.gpus.iter().filter_map(GpuEvidence::activity);
    let (most, least) = (known().map(|one| one.low).reduce(f64::max)?, known().map(|one| one.high).reduce(f64::min)?);
    if most - least < limits.outlier_activity_from {
        return None;
    }
    let peers = Peers::of(&seen.gpus.iter().map(GpuEvidence::activity), unseen(seen), 1.0, seen)?;
    let odd =
        |one: &Span| peers.distance(*one) >= limits.outlier_activity_from && peers.leave_out(*one, limits.outlier_from);
    worst(known().filter(odd).map(|one| peers.distance(one)), f64::max)
}

/// GPUs whose clocks are held down while those of most surely are not: a hot room is no straggler.
fn held(seen: &Evidence) -> Option<(f64, f64)> {
    let limits = &seen.gate.thresholds;
    let held = |gpu: &GpuEvidence| gpu.clocks_held.filter(|share| share.at_least(limits.clocks_held_from));
    let well = seen.gpus.iter().filter(|gpu| below(gpu.clocks_held, limits.clocks_held_from)).count() as f64;
    let found = worst(seen.gpus.iter().filter_map(held).map(|share| share.mean), f64::max);
    found.filter(|_| well >= limits.well_from * all(seen))
}

/// GPUs whose `PCIe` link has fewer lanes than it should.
struct Narrow {
    count: f64,
    /// Of the narrowest.
    lanes: f64,
    /// That it should have.
    full: f64,
}

/// GPUs with fewer lanes than card and slot have, or where that was never told than the others of their product, while most
/// of the group have more: a slot that is narrow by design is no fault.
fn lanes(seen: &Evidence) -> Option<Narrow> {
    let narrow = seen.gpus.iter().filter_map(|gpu| Some((gpu.lanes?.high, full_lanes(gpu, seen)?)));
    narrow.fold(None, |so_far: Option<Narrow>, (lanes, full)| match so_far {
        Some(narrow) if narrow.lanes <= lanes => Some(Narrow { count: narrow.count + 1.0, ..narrow }),
        other => Some(Narrow { count: other.map_or(0.0, |narrow| narrow.count) + 1.0, lanes, full }),
    })
}

/// The lanes that this GPU should have, if it surely has fewer.
fn full_lanes(gpu: &GpuEvidence, seen: &Evidence) -> Option<f64> {
    let lanes = gpu.lanes?.high;
    if gpu.lanes_most_lost || !gpu.lanes_most.is_none_or(|most| lanes < most) {
        return None;
    }
    let of_its_kind = |other: &GpuEvidence| gpu.product.is_some() && other.product == gpu.product;
    let same = |other: &&GpuEvidence| gpu.lanes_most.is_some() || of_its_kind(other);
    let wider = || seen.gpus.iter().filter(same).filter_map(|other| Some(other.lanes?.low)).filter(|low| *low > lanes);
    let most = wider().count() as f64 >= seen.gate.thresholds.well_from * all(seen);
    let full = gpu.lanes_most.or_else(|| wider().reduce(f64::min));
    full.filter(|_| most)
}

/// GPUs at which an error of the hardware appeared within the window.
fn error(seen: &Evidence) -> Option<(f64, f64)> {
    let appeared = seen.gpus.iter().filter_map(|gpu| gpu.xid).filter(|xid| xids::is_of_hardware(*xid));
    worst(appeared.map(f64::from), f64::max)
}

fn unseen(seen: &Evidence) -> usize {
    (seen.expected_gpus as usize).saturating_sub(seen.gpus.len())
}

fn worst(values: impl Iterator<Item = f64>, of: impl Fn(f64, f64) -> f64) -> Option<(f64, f64)> {
    values.fold(None, |so_far, value| match so_far {
        None => Some((1.0, value)),
        Some((count, worst)) => Some((count + 1.0, of(worst, value))),
    })
}

/// Where the median of a group may lie, and how far from it half of the group may be.
struct Peers {
    low: f64,
    high: f64,
    spread: f64,
}

impl Peers {
    /// Of `values` up to `largest`; those that are not known, and `unseen` more, may be anything. Nothing is allocated: most
    /// groups that differ have no outlier.
    fn of(
        values: &(impl Iterator<Item = Option<Span>> + Clone),
        unseen: usize,
        largest: f64,
        seen: &Evidence,
    ) -> Option<Self> {
        let anything = Span { mean: 0.0, low: 0.0, high: largest };
        let known = values.clone().count();
        // With as many unseen as seen the median could be anything.
        if (known as f64) < seen.gate.thresholds.outlier_among || unseen >= known {
            return None;
        }
        let group = || values.clone().map(|value| value.unwrap_or(anything)).chain(repeat_n(anything, unseen));
        let last = known + unseen - 1;
        let low = nth(&group().map(|one| one.low), last / 2);
        let high = nth(&group().map(|one| one.high), last.div_ceil(2));
        let spread = nth(&group().map(|one| (one.high - low).max(high - one.low)), last.div_ceil(2));
        Some(Self { low, high, spread })
    }

    /// How far `value` surely is from the median.
    fn distance(&self, value: Span) -> f64 {
        (self.low - value.high).max(value.low - self.high)
    }

    /// Whether it is `times` as far from the median as half of the group.
    fn leave_out(&self, value: Span, times: f64) -> bool {
        self.distance(value) > times * self.spread
    }
}

/// The value at this place in ascending order, in the order of `f64::total_cmp`: found by halving all numbers that there
/// are, 64 times, and counting each time those that are no larger.
fn nth(values: &(impl Iterator<Item = f64> + Clone), place: usize) -> f64 {
    let (mut low, mut high) = (i64::MIN, i64::MAX);
    while low < high {
        // Halfway, rounded down.
        let middle = (low & high) + ((low ^ high) >> 1);
        if values.clone().filter(|value| ordered(value.to_bits().cast_signed()) <= middle).count() > place {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    f64::from_bits(ordered(low).cast_unsigned())
}

/// A float's bits as a number in the same order, and back: as in `f64::total_cmp`.
const fn ordered(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::nth;

    /// Kills: a middle that is rounded towards zero, a count of those that are smaller only.
    #[test]
    fn the_value_at_each_place_is_that_of_the_sorted_group() {
        let group = [0.5, -3.0, 0.5, f64::INFINITY, 0.0, -0.0, 1e-300, f64::NEG_INFINITY, 8.0];
        let places: Vec<f64> = (0..group.len()).map(|place| nth(&group.into_iter(), place)).collect();

        assert_eq!(places, [f64::NEG_INFINITY, -3.0, -0.0, 0.0, 1e-300, 0.5, 0.5, 8.0, f64::INFINITY]);
        assert!(nth(&[1.0, f64::NAN, 2.0].into_iter(), 2).is_nan(), "what is none comes last");
    }
}
