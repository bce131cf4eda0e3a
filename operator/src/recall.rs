//! What the operator carries from one cycle to the next, besides the stores: caches, memories, and writes not seen yet.

use crate::catalog::TargetKey;
use crate::contest::Contest;
use crate::exits::Ends;
use crate::intent::{Intent, Settings, intent};
use crate::losses::Losses;
use crate::refusal::Refusal;
use jiff::{SignedDuration, Timestamp};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wellfed_crds::GpuWorkload;
use wellfed_engine::memory::Memory;

/// After this a write that the store never showed is given up: the store is believed again.
const GIVE_UP_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// The pause after a write that was refused.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// Carried over.
#[derive(Default)]
pub struct Recall {
    intents: HashMap<String, (i64, Parsed)>,
    memories: HashMap<String, Memory>,
    writes: HashMap<TargetKey, Written>,
    pauses: HashMap<String, Timestamp>,
    /// Changes by others, a workload's uid.
    pub contests: HashMap<String, Contest>,
    /// How GPU containers ended, a workload's uid.
    pub ends: HashMap<String, Ends>,
    /// Reads in a row that could not be used.
    pub losses: Losses,
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

    /// Keeps a memory.
    pub fn remember(&mut self, uid: &str, memory: Memory) {
        self.memories.insert(uid.to_owned(), memory);
    }

    /// Forgets every memory: another instance may have decided in between, and left its own in the status.
    pub fn another_term(&mut self) {
        self.memories.clear();
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

    #[test]
    fn a_write_that_never_shows_is_given_up() {
        let mut recall = Recall::default();
        recall.wrote(key(), 6, "120".into(), at(0));

        assert_eq!(recall.settle(&key(), 4, "119", at(31)), (4, false));
    }
}
