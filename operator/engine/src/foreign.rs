//! What somebody else changed of what wellfed writes: three changes in ten minutes are a contest.

use crate::gaps;
use crate::memory::Moment;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

const WINDOW: SignedDuration = SignedDuration::from_mins(10);
const TOO_MANY: usize = 3;

/// The latest changes by others, oldest first; as many as make a contest, and no more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<i64>", into = "Vec<i64>")]
pub struct ForeignChanges(Vec<Moment>);

impl From<Vec<i64>> for ForeignChanges {
    fn from(written: Vec<i64>) -> Self {
        Self(gaps::read(written).filter_map(|at| Timestamp::from_millisecond(at).ok()).map(Moment).collect())
    }
}

impl From<ForeignChanges> for Vec<i64> {
    fn from(changes: ForeignChanges) -> Self {
        gaps::written(changes.0.iter().map(|at| at.0.as_millisecond())).collect()
    }
}

impl ForeignChanges {
    /// One more. What is contested stays so, however far apart the changes are that follow.
    pub fn note(&mut self, now: Timestamp) {
        self.age(now);
        if self.is_contest() {
            self.0.remove(0);
        } else {
            self.0.retain(|at| is_recent(*at, now));
        }
        self.0.push(Moment::of(now));
    }

    /// Time passes: ten quiet minutes end it.
    pub fn age(&mut self, now: Timestamp) {
        if self.0.last().is_some_and(|last| !is_recent(*last, now)) {
            self.0.clear();
        }
    }

    /// Whether somebody else keeps changing it.
    pub const fn is_contest(&self) -> bool {
        self.0.len() >= TOO_MANY
    }

    /// Nobody else changed anything lately.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn is_recent(at: Moment, now: Timestamp) -> bool {
    now.duration_since(at.0) < WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    fn after(changes: &[i64], now: i64) -> ForeignChanges {
        let mut seen = ForeignChanges::default();
        for second in changes {
            seen.note(at(*second));
        }
        seen.age(at(now));
        seen
    }

    #[test]
    fn three_changes_in_ten_minutes_contest_it_until_ten_quiet_minutes() {
        let contested = |changes: &[i64], now| after(changes, now).is_contest();

        assert!(!contested(&[0, 300], 301));
        assert!(!contested(&[0, 300, 600], 601), "the first is ten minutes old");
        assert_eq!([21, 619, 620].map(|now| contested(&[0, 10, 20], now)), [true, true, false]);
    }

    #[test]
    fn it_reads_back_as_it_was_written() {
        let changes = after(&[0, 10, 20], 21);
        let text = serde_json::to_string(&changes).unwrap();

        assert_eq!(text, "[1700000000000,10000,10000]");
        assert_eq!(serde_json::from_str::<ForeignChanges>(&text).unwrap(), changes);
    }

    /// Kills: a contest that ends as the changes that began it get old.
    #[test]
    fn changes_that_follow_slowly_keep_it_contested() {
        assert!(after(&[0, 10, 20, 615], 616).is_contest());
        assert!(after(&[0, 10, 20, 615, 1_210], 1_809).is_contest());
        assert!(after(&[0, 10, 20, 615, 1_210], 1_810).is_empty());
    }
}
