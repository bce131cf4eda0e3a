//! What was told last about each workload, so that only what is new is told.

use crate::apply::Outcome;
use crate::events::{Happening, Untold};
use crate::status::Worth;
use jiff::{SignedDuration, Timestamp};
use std::collections::{HashMap, HashSet};
use wellfed_crds::{Condition, FindingStatus, GpuWorkloadStatus};

/// What was told last, by uid.
#[derive(Default)]
pub struct Told {
    pub(crate) workloads: HashMap<String, Last>,
    /// Objects that can't be read, told once.
    pub(crate) unreadable: HashSet<String>,
}

/// About one workload.
pub(crate) struct Last {
    pub(crate) worth: Worth,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) findings: Vec<FindingStatus>,
    pub(crate) memory: Option<String>,
    pub(crate) memory_at: Option<Timestamp>,
    pub(crate) failure: Option<Failure>,
    /// Whether the status stands as it was told is not known: no answer came, or a failure.
    pub(crate) unwritten: bool,
    /// What happened and did not reach the API server yet, oldest first.
    pub(crate) untold: Vec<Untold>,
}

/// So much that was not told is kept, the latest: an API server that is gone for long is not flooded when it is back.
const MOST_UNTOLD: usize = 32;

/// Why the last write did not go through.
#[derive(Clone)]
pub(crate) struct Failure {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// It is over once there is nothing to write any more.
    transient: bool,
}

impl Told {
    /// Forgets everything: what another instance told stands in the objects.
    pub fn another_term(&mut self) {
        self.workloads.clear();
    }

    /// The memory was written ahead of a scale.
    pub fn memory_written(&mut self, uid: &str, memory: &str, now: Timestamp) {
        if let Some(last) = self.workloads.get_mut(uid) {
            last.memory = Some(memory.to_owned());
            last.memory_at = Some(now);
        }
    }
}

impl Last {
    /// What the object itself says.
    pub(crate) fn of(status: Option<&GpuWorkloadStatus>) -> Self {
        let status = status.cloned().unwrap_or_default();
        Self {
            worth: Worth::of(&status),
            conditions: status.conditions,
            findings: status.findings,
            memory: status.memory,
            memory_at: None,
            failure: None,
            unwritten: false,
            untold: Vec::new(),
        }
    }

    /// What happened `now`, after what was not told before.
    pub(crate) fn happened(&mut self, happenings: Vec<Happening>, now: Timestamp) {
        let each = happenings.into_iter().zip(0_i64..).map(|(happening, nanosecond)| {
            let at = now.saturating_add(SignedDuration::from_nanos(nanosecond)).unwrap_or(now);
            Untold { at, happening }
        });
        self.untold.extend(each);
        let too_many = self.untold.len().saturating_sub(MOST_UNTOLD);
        self.untold.drain(..too_many);
    }

    /// The latest writes decide whether writing works; without a write what does not pass by itself stays as it was.
    pub(crate) fn note(&mut self, outcomes: &[&Outcome]) {
        if outcomes.is_empty() {
            self.failure.take_if(|failure| failure.transient);
            return;
        }
        let failed = outcomes.iter().find_map(|outcome| outcome.result.as_ref().err());
        self.failure = failed.map(|error| Failure {
            reason: error.reason(),
            message: error.to_string(),
            transient: error.is_transient(),
        });
    }
}
