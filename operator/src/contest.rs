//! Whether somebody else keeps changing what wellfed writes: three foreign changes in ten minutes.

use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;

const WINDOW: SignedDuration = SignedDuration::from_mins(10);
const TOO_MANY: usize = 3;

/// One workload's foreign changes.
#[derive(Clone, Debug, Default)]
pub struct Contest {
    seen: HashMap<String, u32>,
    tried: HashMap<String, u32>,
    changes: Vec<Timestamp>,
}

/// A change that was not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The target.
    pub target: String,
    /// From.
    pub from: u32,
    /// To.
    pub to: u32,
}

impl Contest {
    /// Notes the number that `target` shows; a change that wellfed did not make is returned.
    pub fn observe(&mut self, target: &str, replicas: u32, now: Timestamp) -> Option<Foreign> {
        let before = self.seen.insert(target.to_owned(), replicas).filter(|before| *before != replicas)?;
        if self.tried.remove(target) == Some(replicas) {
            return None;
        }
        self.changes.retain(|at| now.duration_since(*at) < WINDOW);
        self.changes.push(now);
        Some(Foreign { target: target.to_owned(), from: before, to: replicas })
    }

    /// Notes a number that wellfed wrote itself.
    pub fn wrote(&mut self, target: &str, replicas: u32) {
        self.tried.remove(target);
        self.seen.insert(target.to_owned(), replicas);
    }

    /// Notes a number that wellfed may have written: it got no answer.
    pub fn tried(&mut self, target: &str, replicas: u32) {
        self.tried.insert(target.to_owned(), replicas);
    }

    /// Another instance may have written in between: what it left is no foreign change.
    pub fn another_term(&mut self) {
        self.seen.clear();
        self.tried.clear();
    }

    /// Whether it is contested: until ten minutes pass without a foreign change.
    pub fn is_contested(&mut self, now: Timestamp) -> bool {
        let quiet = self.changes.last().is_none_or(|last| now.duration_since(*last) >= WINDOW);
        if quiet {
            self.changes.clear();
        }
        self.changes.len() >= TOO_MANY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(1_000_000 + second, 0)
    }

    #[test]
    fn three_foreign_changes_contest_it_until_ten_quiet_minutes() {
        let mut contest = Contest::default();
        for (second, replicas) in [(0, 4), (10, 9), (20, 4), (30, 9)] {
            contest.observe("chat", replicas, at(second));
        }

        assert!(contest.is_contested(at(31)));
        assert!(contest.is_contested(at(629)));
        assert!(!contest.is_contested(at(630)));
    }

    #[test]
    fn our_own_writes_and_one_scaling_by_hand_are_no_contest() {
        let mut contest = Contest::default();
        contest.observe("chat", 4, at(0));
        contest.wrote("chat", 6);
        assert_eq!(contest.observe("chat", 6, at(5)), None);
        let by_hand = contest.observe("chat", 2, at(10));

        assert_eq!(by_hand, Some(Foreign { target: "chat".into(), from: 6, to: 2 }));
        assert!(!contest.is_contested(at(11)));
    }

    #[test]
    fn a_write_that_got_no_answer_is_our_own_if_it_went_through() {
        let mut contest = Contest::default();
        contest.observe("chat", 4, at(0));
        contest.tried("chat", 6);

        assert_eq!(contest.observe("chat", 6, at(5)), None);
        assert_eq!(contest.observe("chat", 4, at(10)), Some(Foreign { target: "chat".into(), from: 6, to: 4 }));
    }

    #[test]
    fn what_another_instance_wrote_meanwhile_is_no_foreign_change() {
        let mut contest = Contest::default();
        contest.observe("chat", 4, at(0));
        contest.another_term();

        assert_eq!(contest.observe("chat", 9, at(60)), None);
    }
}
