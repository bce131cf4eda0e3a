//! What the operator carries from one cycle to the next, besides the stores: caches, memories, and writes not seen yet.

use crate::catalog::TargetKey;
use crate::contest::Contest;
use crate::exits::Ends;
use crate::intent::{Intent, Settings, intent};
use crate::losses::Losses;
use crate::refusal::Refusal;
use crate::sharing::Sharing;
use jiff::{SignedDuration, Timestamp};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wellfed_crds::GpuWorkload;
use wellfed_engine::memory::Memory;
use wellfed_engine::opinion::Opinion;
use wellfed_engine::policy::GatePolicy;
use wellfed_engine::rest::Rest;

/// After this a write that the store never showed is given up: the store is believed again.
const GIVE_UP_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// The pause after a write that was refused.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// Carried over.
#[derive(Default)]
pub struct Recall {
    intents: HashMap<String, (i64, Parsed)>,
    memories: HashMap<String, Memory>,
    rests: HashMap<String, Rest>,
    /// Until when an instance before this one led, and looked.
    looked_until: Option<Timestamp>,
    writes: HashMap<TargetKey, Written>,
    pauses: HashMap<String, Timestamp>,
    /// Changes by others, a workload's uid.
    pub contests: HashMap<String, Contest>,
    /// How GPU containers ended, a workload's uid.
    pub ends: HashMap<String, Ends>,
    /// Reads in a row that could not be used.
    pub losses: Losses,
    /// Whose GPUs others may use too.
    pub(crate) sharing: Sharing,
}

/// An intent, or everything that is wrong with it.
pub type Parsed = Arc<Result<Intent, Vec<Refusal>>>;

/// A write that the store may not show yet.
#[derive(Clone, Debug)]
struct Written {
    replicas: u32,
    version: String,
    at: Timestamp,
}

impl Recall {
    /// The intent of a workload, parsed once a generation.
    pub fn intent(&mut self, uid: &str, workload: &GpuWorkload, settings: &Settings) -> Parsed {
        let generation = workload.metadata.generation.unwrap_or(0);
        if let Some((_, parsed)) = self.intents.get(uid).filter(|(known, _)| *known == generation) {
            return Arc::clone(parsed);
        }
        let namespace = workload.metadata.namespace.as_deref().unwrap_or_default();
        let parsed = Arc::new(intent(&workload.spec, namespace, settings));
        self.intents.insert(uid.to_owned(), (generation, Arc::clone(&parsed)));
        parsed
    }

    /// A workload's memory: ours, else the one in its status; a new one where neither can be read.
    pub fn memory(&mut self, uid: &str, workload: &GpuWorkload) -> Memory {
        self.known(uid, workload).clone()
    }

    /// The most GPU memory that the work took of one GPU under its present pod template, 0–1.
    pub fn peak(&mut self, uid: &str, workload: &GpuWorkload) -> Option<f64> {
        self.known(uid, workload).gate.peak
    }

    fn known(&mut self, uid: &str, workload: &GpuWorkload) -> &Memory {
        let stored = || {
            let text = workload.status.as_ref()?.memory.as_deref()?;
            Memory::parse(text, |text| serde_json::from_str(text).ok())
        };
        self.memories.entry(uid.to_owned()).or_insert_with(|| stored().unwrap_or_default())
    }

    /// What the rules say that need no demand, this opinion included.
    pub fn rest(&mut self, uid: &str, opinion: Option<&Opinion>, policy: &GatePolicy, now: Timestamp) -> Rest {
        let looked_until = self.looked_until.unwrap_or(now);
        let rest = self.rests.entry(uid.to_owned()).or_insert_with(|| Rest::known_until(looked_until));
        rest.see(opinion, policy, now);
        rest.clone()
    }

    /// Keeps a memory.
    pub fn remember(&mut self, uid: &str, memory: Memory) {
        self.memories.insert(uid.to_owned(), memory);
    }

    /// Forgets every memory: another instance may have decided in between, and left its own in the status. `before` is when one
    /// last led.
    pub fn another_term(&mut self, before: Option<Timestamp>) {
        self.looked_until = before;
        self.memories.clear();
        self.rests.clear();
        self.writes.clear();
        self.contests.values_mut().for_each(Contest::another_term);
    }

    /// A write went through, and the object then had this version.
    pub fn wrote(&mut self, target: TargetKey, replicas: u32, version: String, at: Timestamp) {
        self.writes.insert(target, Written { replicas, version, at });
    }

    /// A write was refused for a reason that will not go away by itself: no further try before `RETRY_AFTER`.
    pub fn refused(&mut self, uid: &str, at: Timestamp) {
        self.pauses.insert(uid.to_owned(), at + RETRY_AFTER);
    }

    /// Whether writes of this workload pause.
    pub fn pauses(&self, uid: &str, now: Timestamp) -> bool {
        self.pauses.get(uid).is_some_and(|until| now < *until)
    }

    /// The number of a target, and whether a write of ours is still on its way into the store.
    pub fn settle(&mut self, target: &TargetKey, shown: u32, version: &str, now: Timestamp) -> (u32, bool) {
        let Some(written) = self.writes.get(target) else { return (shown, false) };
        let arrived = is_as_new(version, &written.version) || now.duration_since(written.at) > GIVE_UP_AFTER;
        if arrived {
            self.writes.remove(target);
            return (shown, false);
        }
        // Until then the larger number is in use.
        (shown.max(written.replicas), true)
    }

    /// Drops what belongs to workloads that are gone.
    pub fn keep_only(&mut self, uids: &HashSet<String>) {
        self.intents.retain(|uid, _| uids.contains(uid));
        self.memories.retain(|uid, _| uids.contains(uid));
        self.rests.retain(|uid, _| uids.contains(uid));
        self.pauses.retain(|uid, _| uids.contains(uid));
        self.contests.retain(|uid, _| uids.contains(uid));
        self.ends.retain(|uid, _| uids.contains(uid));
        self.losses.keep_only(uids);
    }
}

/// Versions of one object grow; where they are no numbers, only equality tells.
fn is_as_new(shown: &str, written: &str) -> bool {
    match (shown.parse::<u128>(), written.parse::<u128>()) {
        (Ok(shown), Ok(written)) => shown >= written,
        _ => shown == written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> TargetKey {
        ("demo".into(), "Deployment".into(), "chat".into())
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(1_000_000 + second, 0)
    }

    #[test]
    fn until_the_store_shows_a_write_the_larger_number_counts() {
        let mut recall = Recall::default();
        recall.wrote(key(), 6, "120".into(), at(0));

        assert_eq!(recall.settle(&key(), 4, "119", at(1)), (6, true));
        assert_eq!(recall.settle(&key(), 6, "120", at(2)), (6, false));
        assert_eq!(recall.settle(&key(), 5, "130", at(3)), (5, false));
    }

    /// A night without an operator is a night that nobody looked.
    #[test]
    fn what_began_under_an_earlier_leader_ends_where_nobody_led_for_long() {
        use wellfed_engine::rest::Course;
        use wellfed_engine::rules::RuleName::Underused;
        let policy = wellfed_engine::testing::gate(wellfed_engine::policy::Class::Inference);
        let course = |away: i64| {
            let mut recall = Recall::default();
            recall.another_term(Some(at(-away)));
            recall.rest("u", None, &policy, at(0)).course(Underused, &policy, at(0))
        };

        assert_eq!((course(60), course(3 * 3_600)), (Course::Open, Course::Unknown));
    }

    #[test]
    fn a_write_that_never_shows_is_given_up() {
        let mut recall = Recall::default();
        recall.wrote(key(), 6, "120".into(), at(0));

        assert_eq!(recall.settle(&key(), 4, "119", at(31)), (4, false));
    }
}
