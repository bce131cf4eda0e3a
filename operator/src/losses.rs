//! How often in a row a signal could not be used: for each workload, since one answer may serve some and fail others.

use std::collections::{HashMap, HashSet};

/// The first of the reads in a row that could not be used, by workload and signal.
#[derive(Clone, Debug, Default)]
pub struct Losses(HashMap<String, HashMap<String, u64>>);

impl Losses {
    /// Notes whether the read number `read` gave the workload `uid` a usable value of `signal`; returns how many reads in
    /// a row did not.
    pub fn note(&mut self, uid: &str, signal: &str, read: u64, usable: bool) -> u32 {
        if usable {
            if let Some(signals) = self.0.get_mut(uid) {
                signals.remove(signal);
            }
            return 0;
        }
        let first = self.0.entry(uid.to_owned()).or_default().entry(signal.to_owned()).or_insert(read);
        // A question that was not asked for a while is counted anew.
        *first = read.min(*first);
        u32::try_from(read - *first + 1).unwrap_or(u32::MAX)
    }

    /// Drops what belongs to workloads that are gone.
    pub fn keep_only(&mut self, uids: &HashSet<String>) {
        self.0.retain(|uid, _| uids.contains(uid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_count_once_however_often_they_are_looked_at_until_one_can_be_used() {
        let mut losses = Losses::default();
        let mut note = |read, usable| losses.note("uid", "queue", read, usable);

        assert_eq!([note(7, true), note(8, false), note(8, false), note(10, false)], [0, 1, 1, 3]);
        assert_eq!([note(11, true), note(12, false)], [0, 1]);
    }

    #[test]
    fn a_question_that_starts_anew_is_counted_anew() {
        let mut losses = Losses::default();
        losses.note("uid", "queue", 90, false);

        assert_eq!([losses.note("uid", "queue", 1, false), losses.note("uid", "queue", 2, false)], [1, 2]);
    }
}
