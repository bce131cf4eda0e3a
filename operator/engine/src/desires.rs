//! Recent raw desires, for the stabilisation windows: run-length encoded.

use crate::memory::Moment;
use crate::units::Replicas;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Slots of lowest and highest desire; a slot lasts until the next begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Desires(Vec<Slot>);

/// A signal that flaps is kept in this many slots, so a window reaches back at most about 1/12 of the longest window
/// further than asked; one that does not is kept exactly.
const SLOTS: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Moment, Replicas, Replicas)", into = "(Moment, Replicas, Replicas)")]
struct Slot {
    from: Moment,
    low: Replicas,
    high: Replicas,
}

impl From<(Moment, Replicas, Replicas)> for Slot {
    fn from((from, low, high): (Moment, Replicas, Replicas)) -> Self {
        Self { from, low, high }
    }
}

impl From<Slot> for (Moment, Replicas, Replicas) {
    fn from(slot: Slot) -> Self {
        (slot.from, slot.low, slot.high)
    }
}

impl Desires {
    /// Nothing noted.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes `value` at `now`, and forgets what lies before the longest window.
    pub fn note(&mut self, now: Timestamp, value: Replicas, longest: SignedDuration) {
        let slots = &mut self.0;
        if slots.last().is_none_or(|last| last.low != value || last.high != value) {
            slots.push(Slot { from: Moment::of(now), low: value, high: value });
        }
        let gone = slots.windows(2).take_while(|pair| now.duration_since(pair[1].from.0) >= longest).count();
        slots.drain(..gone);
        while slots.len() > SLOTS {
            merge_shortest(slots, now);
        }
    }

    /// The highest desire within `window` before `now`.
    pub fn highest(&self, now: Timestamp, window: SignedDuration) -> Option<Replicas> {
        self.within(now, window).map(|slot| slot.high).max()
    }

    /// The lowest desire within `window` before `now`.
    pub fn lowest(&self, now: Timestamp, window: SignedDuration) -> Option<Replicas> {
        self.within(now, window).map(|slot| slot.low).min()
    }

    /// Whether it is lower now by more than a tenth than when `window` before `now` began, or as far back as is remembered.
    pub fn falls(&self, now: Timestamp, window: SignedDuration) -> bool {
        let ends = self.within(now, window).next().zip(self.0.last());
        ends.is_some_and(|(first, last)| u64::from(last.high.0) * 10 < u64::from(first.low.0) * 9)
    }

    fn within(&self, now: Timestamp, window: SignedDuration) -> impl Iterator<Item = &Slot> {
        let ends = self.0.iter().skip(1).map(|next| Some(next.from.0)).chain([None]);
        self.0
            .iter()
            .zip(ends)
            .filter(move |(_, end)| end.is_none_or(|end| now.duration_since(end) < window))
            .map(|(slot, _)| slot)
    }
}

/// Merges the two neighbours that last shortest together.
fn merge_shortest(slots: &mut Vec<Slot>, now: Timestamp) {
    let end = |position: usize| slots.get(position).map_or(now, |slot| slot.from.0);
    let lasts = |position: usize| end(position + 2).duration_since(slots[position].from.0);
    if let Some(position) = (0..slots.len() - 1).min_by_key(|position| lasts(*position)) {
        let later = slots.remove(position + 1);
        slots[position].low = slots[position].low.min(later.low);
        slots[position].high = slots[position].high.max(later.high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: SignedDuration = SignedDuration::from_secs(300);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::constant(1_000_000 + seconds, 0)
    }

    fn noted(history: &[(i64, u32)]) -> Desires {
        let mut desires = Desires::default();
        for (second, value) in history {
            desires.note(at(*second), Replicas(*value), WINDOW);
        }
        desires
    }

    #[test]
    fn a_peak_is_remembered_for_the_window_and_then_forgotten() {
        let desires = noted(&[(0, 8), (20, 3), (40, 3)]);

        assert_eq!(desires.highest(at(319), WINDOW), Some(Replicas(8)));
        assert_eq!(desires.highest(at(320), WINDOW), Some(Replicas(3)));
    }

    #[test]
    fn a_desire_falls_if_it_ends_lower_than_it_began_whatever_was_between() {
        let falls = |history: &[(i64, u32)]| noted(history).falls(at(280), WINDOW);

        assert!(falls(&[(0, 12), (100, 20), (200, 9)]));
        assert!(!falls(&[(0, 8), (100, 20), (200, 9)]));
        assert!(!falls(&[(0, 10), (200, 9)]), "a tenth is noise");
        assert!(!falls(&[(0, 12)]) && !falls(&[]));
        assert!(!noted(&[(0, 12), (200, 9)]).falls(at(501), WINDOW), "the higher one is forgotten");
    }

    #[test]
    fn a_flapping_signal_needs_no_more_than_the_slots_of_its_window() {
        let history: Vec<_> = (0..3_600).map(|second| (second, u32::try_from(second % 7).unwrap())).collect();

        assert!(noted(&history).0.len() <= 24);
    }

    #[test]
    fn a_peak_within_flapping_is_forgotten_soon_after_its_window() {
        let mut history: Vec<_> =
            (0..300).step_by(5).map(|second| (second, u32::try_from(second % 7).unwrap())).collect();
        history[20].1 = 9;
        history.extend((300..600).step_by(5).map(|second| (second, u32::try_from(second % 7).unwrap())));
        let highest = |until: i64| {
            let history: Vec<_> = history.iter().copied().filter(|(second, _)| *second <= until).collect();
            noted(&history).highest(at(until), WINDOW)
        };

        assert_eq!(highest(400), Some(Replicas(9)));
        assert_ne!(highest(430), Some(Replicas(9)));
    }

    #[test]
    fn a_steady_signal_needs_one_slot() {
        let history: Vec<_> = (0..3_600).map(|second| (second, 4)).collect();

        assert_eq!(noted(&history).0.len(), 1);
    }
}
