//! How containers ended lately: Kubernetes keeps one end or two of each, and a container that fails again and again has more.

use crate::evidence::{Exit, LONGEST};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};

/// The ends of each workload, oldest first, as far as a window may reach.
#[derive(Clone, Debug, Default)]
pub struct Endings(HashMap<String, Vec<Exit>>);

impl Endings {
    /// Notes what the pods of the workload `uid` show now, and gives back all that is known.
    pub fn note(&mut self, uid: &str, seen: Vec<Exit>, now: Timestamp) -> Vec<Exit> {
        if seen.is_empty() && !self.0.contains_key(uid) {
            return seen;
        }
        let known = self.0.entry(uid.to_owned()).or_default();
        for exit in seen {
            if !known.contains(&exit) {
                known.push(exit);
            }
        }
        known.retain(|exit| now.duration_since(exit.at) <= LONGEST);
        known.clone()
    }

    /// Drops what belongs to workloads that are gone.
    pub fn keep_only(&mut self, uids: &HashSet<String>) {
        self.0.retain(|uid, exits| uids.contains(uid) && !exits.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ExitCause;

    fn exit(minute: i64) -> Exit {
        Exit { pod: "a".to_owned(), at: at(minute), cause: ExitCause::Failed }
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::constant(1_800_000_000 + 60 * minute, 0)
    }

    #[test]
    fn an_end_counts_once_however_often_it_is_seen_and_after_kubernetes_forgot_it() {
        let mut endings = Endings::default();
        endings.note("u", vec![exit(1)], at(1));
        endings.note("u", vec![exit(1), exit(3)], at(3));

        assert_eq!(endings.note("u", vec![exit(3), exit(6)], at(6)), [exit(1), exit(3), exit(6)]);
        assert_eq!(endings.note("other", Vec::new(), at(6)), []);
    }

    #[test]
    fn an_end_before_the_longest_window_is_forgotten() {
        let mut endings = Endings::default();
        endings.note("u", vec![exit(1)], at(1));

        assert_eq!(endings.note("u", vec![exit(100)], at(121)), [exit(1), exit(100)]);
        assert_eq!(endings.note("u", Vec::new(), at(122)), [exit(100)]);
    }
}
