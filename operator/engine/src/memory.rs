//! What a later decision needs, kept in `status.memory`: versioned and small.

use crate::gate::GateMemory;
use crate::units::{PoolName, Replicas};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version that this code writes and understands.
pub const VERSION: u32 = 1;

/// One workload's memory. A version that is not ours is forgotten: the workload is adopted anew, which never shrinks it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// [`VERSION`].
    pub version: u32,
    /// Whether it may shrink yet.
    pub adoption: Adoption,
    /// Recent raw desires.
    #[serde(default, skip_serializing_if = "Desires::is_empty")]
    pub desires: Desires,
    /// Recent growth, for rate policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ups: Vec<Change>,
    /// Recent shrinkage, for rate policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downs: Vec<Change>,
    /// Since when demand exceeds the replicas, without a pause.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "jiff::fmt::serde::timestamp::millisecond::optional")]
    pub demand_above_since: Option<Timestamp>,
    /// What the gate has counted.
    #[serde(default)]
    pub gate: GateMemory,
    /// Pools with fewer Ready replicas than asked, and since when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub short: BTreeMap<PoolName, Moment>,
    /// Pools whose replicas did not start and were placed elsewhere, and when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spilled: BTreeMap<PoolName, Moment>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            version: VERSION,
            adoption: Adoption::Watching { known_since: None },
            desires: Desires::default(),
            ups: Vec::new(),
            downs: Vec::new(),
            demand_above_since: None,
            gate: GateMemory::default(),
            short: BTreeMap::new(),
            spilled: BTreeMap::new(),
        }
    }
}

/// A timestamp, written as milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(#[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")] pub Timestamp);

/// A new workload does not shrink before one whole scale-down window of known readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adoption {
    /// Not yet.
    Watching {
        /// Since when every signal is known without a pause.
        known_since: Option<Moment>,
    },
    /// It may.
    Done,
}

/// One past change of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// When it was written.
    pub at: Moment,
    /// By how many replicas.
    pub replicas: Replicas,
}

/// Recent raw desires, in at most [`SLOTS`] slots of lowest and highest; a slot lasts until the next begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Desires(Vec<Slot>);

/// A window is kept in about this many slots, so it reaches back at most 1/30 further than asked.
const SLOTS: i32 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Slot {
    from: Moment,
    low: Replicas,
    high: Replicas,
}

impl Desires {
    /// Nothing noted.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// With `value` noted at `now`, and forgetting what lies before the longest window.
    #[must_use]
    pub fn noted(&self, now: Timestamp, value: Replicas, longest: SignedDuration) -> Self {
        let mut slots = self.0.clone();
        match slots.last_mut() {
            Some(last) if last.low == value && last.high == value => {}
            Some(last) if now.duration_since(last.from.0) < longest / SLOTS => {
                last.low = last.low.min(value);
                last.high = last.high.max(value);
            }
            _ => slots.push(Slot { from: Moment(now), low: value, high: value }),
        }
        let gone = slots.windows(2).take_while(|pair| now.duration_since(pair[1].from.0) >= longest).count();
        slots.drain(..gone);
        Self(slots)
    }

    /// The highest desire within `window` before `now`.
    pub fn highest(&self, now: Timestamp, window: SignedDuration) -> Option<Replicas> {
        self.within(now, window).map(|slot| slot.high).max()
    }

    /// The lowest desire within `window` before `now`.
    pub fn lowest(&self, now: Timestamp, window: SignedDuration) -> Option<Replicas> {
        self.within(now, window).map(|slot| slot.low).min()
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

impl Memory {
    /// The changes of the last `period` before `now`, added up.
    pub fn changed(changes: &[Change], now: Timestamp, period: SignedDuration) -> Replicas {
        changes.iter().filter(|change| now.duration_since(change.at.0) < period).map(|change| change.replicas).sum()
    }

    /// From `status.memory`; none when it is absent, damaged or of another version.
    pub fn parse(text: &str, read: impl Fn(&str) -> Option<Self>) -> Option<Self> {
        read(text).filter(|memory| memory.version == VERSION)
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
        history.iter().fold(Desires::default(), |desires, (second, value)| {
            desires.noted(at(*second), Replicas(*value), WINDOW)
        })
    }

    #[test]
    fn a_peak_is_remembered_for_the_window_and_then_forgotten() {
        let desires = noted(&[(0, 8), (20, 3), (40, 3)]);

        assert_eq!(desires.highest(at(319), WINDOW), Some(Replicas(8)));
        assert_eq!(desires.highest(at(320), WINDOW), Some(Replicas(3)));
    }

    #[test]
    fn a_flapping_signal_needs_no_more_than_the_slots_of_its_window() {
        let history: Vec<_> = (0..3_600).map(|second| (second, u32::try_from(second % 7).unwrap())).collect();

        assert!(noted(&history).0.len() <= 32);
    }

    #[test]
    fn a_steady_signal_needs_one_slot() {
        let history: Vec<_> = (0..3_600).map(|second| (second, 4)).collect();

        assert_eq!(noted(&history).0.len(), 1);
    }
}
