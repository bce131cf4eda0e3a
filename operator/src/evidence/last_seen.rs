//! When each number was seen last, in whole minutes: what tells a source that was lost from one that never was.

use super::numbering::Id;
use jiff::{SignedDuration, Timestamp};

/// A source that was seen within this is missed when it is gone.
pub const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);

/// Minutes since 1970 for each subject and metric; zero for never.
#[derive(Clone, Debug)]
pub struct LastSeen {
    width: usize,
    minutes: Vec<u32>,
}

impl LastSeen {
    /// Of subjects with `width` metrics.
    pub const fn of(width: usize) -> Self {
        Self { width, minutes: Vec::new() }
    }

    /// Seen in a look that ended at `at`.
    pub fn note(&mut self, subject: Id, column: usize, at: Timestamp) {
        let place = subject as usize * self.width + column;
        if self.minutes.len() <= place {
            self.minutes.resize((subject as usize + 1) * self.width, 0);
        }
        self.minutes[place] = minute(at);
    }

    /// Whether it was seen within a day before `now`.
    pub fn lately(&self, subject: Id, column: usize, now: Timestamp) -> bool {
        self.minutes.get(subject as usize * self.width + column).is_some_and(|seen| is_late(*seen, now))
    }

    /// Whether anything of it was seen within a day before `now`.
    pub fn any_lately(&self, subject: Id, now: Timestamp) -> bool {
        self.row(subject).iter().any(|seen| is_late(*seen, now))
    }

    /// Forgets a subject, whose number another may get.
    pub fn forget(&mut self, subject: Id) {
        let from = subject as usize * self.width;
        if let Some(row) = self.minutes.get_mut(from..from + self.width) {
            row.fill(0);
        }
    }

    fn row(&self, subject: Id) -> &[u32] {
        let from = subject as usize * self.width;
        self.minutes.get(from..from + self.width).unwrap_or_default()
    }
}

fn minute(at: Timestamp) -> u32 {
    u32::try_from(at.as_second() / 60).unwrap_or(0)
}

fn is_late(seen: u32, now: Timestamp) -> bool {
    let day = u32::try_from(REMEMBERED.as_mins()).unwrap_or(u32::MAX);
    seen > 0 && minute(now).saturating_sub(seen) <= day
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_later_it_is_still_missed_and_a_minute_after_that_it_is_not() {
        let at = |minute: i64| Timestamp::constant(1_800_000_000, 0) + SignedDuration::from_mins(minute);
        let mut seen = LastSeen::of(2);
        seen.note(3, 1, at(0));

        assert_eq!([seen.lately(3, 1, at(24 * 60)), seen.lately(3, 1, at(24 * 60 + 1))], [true, false]);
        assert_eq!([seen.lately(3, 0, at(1)), seen.lately(2, 1, at(1)), seen.lately(9, 0, at(1))], [false; 3]);
        assert_eq!(
            [seen.any_lately(3, at(1)), seen.any_lately(2, at(1)), seen.any_lately(9, at(1))],
            [true, false, false]
        );
        seen.forget(3);
        assert!(!seen.any_lately(3, at(1)));
    }
}
