//! Recent changes of the number, for rate policies: few enough to keep in status.

use crate::memory::Moment;
use crate::units::Replicas;
use jiff::{SignedDuration, Timestamp};

/// One past change of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When it was written.
    pub at: Moment,
    /// By how many replicas.
    pub replicas: Replicas,
}

/// As it is kept in status.
pub mod short {
    use super::Change;
    use crate::gaps;
    use crate::memory::Moment;
    use crate::units::Replicas;
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Times in milliseconds, each beside its replicas.
    pub fn serialize<S: Serializer>(changes: &[Change], to: S) -> Result<S::Ok, S::Error> {
        let times = gaps::written(changes.iter().map(|change| change.at.0.as_millisecond()));
        times.zip(changes).map(|(time, change)| (time, change.replicas)).collect::<Vec<_>>().serialize(to)
    }

    /// The same; where nothing else was done the times are whole.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Change>, D::Error> {
        let (times, replicas): (Vec<i64>, Vec<Replicas>) =
            Vec::<(i64, Replicas)>::deserialize(from)?.into_iter().unzip();
        let at = |time| Timestamp::from_millisecond(time).map(Moment).map_err(serde::de::Error::custom);
        gaps::read(times).zip(replicas).map(|(time, replicas)| Ok(Change { at: at(time)?, replicas })).collect()
    }
}

/// The most changes that are kept one by one; then neighbours are merged.
pub const KEPT: usize = 12;

/// The changes of the last `period` before `now`, added up.
pub fn within(changes: &[Change], now: Timestamp, period: SignedDuration) -> Replicas {
    changes.iter().filter(|change| now.duration_since(change.at.0) < period).map(|change| change.replicas).sum()
}

/// `changes` with one more, and without those older than `longest`.
pub fn with(changes: &[Change], new: Option<Change>, longest: SignedDuration, now: Timestamp) -> Vec<Change> {
    let recent = changes.iter().filter(|change| now.duration_since(change.at.0) < longest);
    let mut kept: Vec<_> = recent.copied().chain(new).collect();
    while kept.len() > KEPT {
        merge_closest(&mut kept, now);
    }
    kept
}

/// Merges the two neighbours that span the least time for their age, so that what is recent stays exact. The merged
/// change counts as late as its later half: a rate policy is never looser for it. The oldest is left alone, so that it
/// runs out.
fn merge_closest(changes: &mut Vec<Change>, now: Timestamp) {
    let age = |position: usize| now.duration_since(changes[position].at.0).as_secs_f64().max(1.0);
    let spread = |position: usize| age(position - 2) / age(position);
    let closest = (2..changes.len()).min_by(|a, b| spread(*a).total_cmp(&spread(*b)));
    if let Some(later) = closest {
        changes[later].replicas = changes[later].replicas.plus(changes[later - 1].replicas);
        changes.remove(later - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_AN_HOUR: SignedDuration = SignedDuration::from_mins(30);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::constant(1_000_000 + seconds, 0)
    }

    /// One replica more every five seconds.
    fn steady(until: i64) -> Vec<Change> {
        (0..=until).step_by(5).fold(Vec::new(), |changes, second| {
            let new = Change { at: Moment(at(second)), replicas: Replicas(1) };
            with(&changes, Some(new), HALF_AN_HOUR, at(second))
        })
    }

    #[test]
    fn an_hour_of_changes_every_five_seconds_is_kept_in_twelve() {
        assert_eq!(steady(3_600).len(), 12);
    }

    #[test]
    fn merging_never_makes_a_policy_looser_and_hardly_stricter() {
        let changes = steady(3_600);
        let within = |seconds| within(&changes, at(3_600), SignedDuration::from_secs(seconds)).0;

        assert!((3..=6).contains(&within(15)), "{}", within(15));
        assert!((12..=24).contains(&within(60)), "{}", within(60));
        assert!((360..=540).contains(&within(1_800)), "{}", within(1_800));
    }

    #[test]
    fn all_is_forgotten_once_the_changes_stop() {
        let changes = steady(3_600);

        assert_eq!(with(&changes, None, HALF_AN_HOUR, at(3_600 + 1_800)), []);
    }
}
