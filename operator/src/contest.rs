//! Whether somebody else changed what wellfed writes.

use std::collections::HashMap;

/// What one workload's targets were last seen to be asked for, by whom it may be.
#[derive(Clone, Debug, Default)]
pub struct Contest {
    seen: HashMap<String, u32>,
    tried: HashMap<String, u32>,
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
    pub fn observe(&mut self, target: &str, replicas: u32) -> Option<Foreign> {
        let before = self.seen.insert(target.to_owned(), replicas).filter(|before| *before != replicas)?;
        if self.tried.remove(target) == Some(replicas) {
            return None;
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_writes_are_no_change_by_others() {
        let mut contest = Contest::default();
        contest.observe("chat", 4);
        contest.wrote("chat", 6);
        assert_eq!(contest.observe("chat", 6), None);
        let by_hand = contest.observe("chat", 2);

        assert_eq!(by_hand, Some(Foreign { target: "chat".into(), from: 6, to: 2 }));
    }

    #[test]
    fn a_write_that_got_no_answer_is_our_own_if_it_went_through() {
        let mut contest = Contest::default();
        contest.observe("chat", 4);
        contest.tried("chat", 6);

        assert_eq!(contest.observe("chat", 6), None);
        assert_eq!(contest.observe("chat", 4), Some(Foreign { target: "chat".into(), from: 6, to: 4 }));
    }

    #[test]
    fn what_another_instance_wrote_meanwhile_is_no_foreign_change() {
        let mut contest = Contest::default();
        contest.observe("chat", 4);
        contest.another_term();

        assert_eq!(contest.observe("chat", 9), None);
    }
}
