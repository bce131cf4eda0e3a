//! What a later decision needs, kept in `status.memory`: versioned and small.

use crate::figures::Figures;
use crate::gate::{GateMemory, Retest};
use crate::units::{PoolName, SignalName};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use crate::changes::Change;
pub use crate::desires::Desires;
pub use crate::growth::Growth;

/// The version that this code writes.
pub const VERSION: u32 = 3;

/// The oldest version that it reads. In version 1 the counts of the gate carried what was measured. Until version 2 memory in
/// use was a mean, and units of work were mixed up: what was measured then is not compared with what is now.
pub const OLDEST: u32 = 1;

/// One workload's memory. A version that is not known here is forgotten: the workload is adopted anew, which never shrinks it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// [`VERSION`].
    pub version: u32,
    /// Whether it may shrink yet.
    pub adoption: Adoption,
    /// Recent raw desires.
    #[serde(default, skip_serializing_if = "Desires::is_empty")]
    pub desires: Desires,
    /// Recent growth, for rate policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ups: Vec<Change>,
    /// Recent shrinkage, for rate policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downs: Vec<Change>,
    /// Since when demand has not been below its target, having exceeded it: what is seen from then on is evidence.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "jiff::fmt::serde::timestamp::millisecond::optional"
    )]
    pub demand_above_since: Option<Timestamp>,
    /// Since when demand exceeds the replicas, without a pause.
    #[serde(default, rename = "backlog", skip_serializing_if = "Option::is_none")]
    pub backlog_since: Option<Moment>,
    /// The last growth, until its replicas are Ready or late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// Latency objectives that are exceeded while no replicas are waited for, and since when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub breached: BTreeMap<SignalName, Moment>,
    /// What the gate has counted.
    #[serde(default)]
    pub gate: GateMemory,
    /// Pools with fewer pods than asked for, and since when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub short: BTreeMap<PoolName, Moment>,
    /// Pools whose replicas did not start and were placed elsewhere, and when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spilled: BTreeMap<PoolName, Moment>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            version: VERSION,
            adoption: Adoption::Watching { known_since: None },
            desires: Desires::default(),
            ups: Vec::new(),
            downs: Vec::new(),
            demand_above_since: None,
            backlog_since: None,
            growth: None,
            breached: BTreeMap::new(),
            gate: GateMemory::default(),
            short: BTreeMap::new(),
            spilled: BTreeMap::new(),
        }
    }
}

/// A timestamp, written as milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(#[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")] pub Timestamp);

impl Moment {
    /// `at` without what is finer than a millisecond, so that it reads back as it was written.
    pub fn of(at: Timestamp) -> Self {
        Self(Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at))
    }

    /// This much later, or the end of time.
    pub fn plus(self, duration: SignedDuration) -> Timestamp {
        self.0.saturating_add(duration).unwrap_or(Timestamp::MAX)
    }
}

/// A new workload does not shrink before one whole scale-down window of known readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adoption {
    /// Not yet.
    Watching {
        /// Since when every signal is known without a pause.
        known_since: Option<Moment>,
    },
    /// It may.
    Done,
}

impl Memory {
    /// From `status.memory`; none when it is absent, damaged or of an unknown version.
    pub fn parse(text: &str, read: impl Fn(&str) -> Option<Self>) -> Option<Self> {
        let known = read(text).filter(|memory| (OLDEST..=VERSION).contains(&memory.version));
        known.map(|memory| Self { version: VERSION, gate: current(memory.gate, memory.version), ..memory })
    }
}

/// Without what an earlier version measured otherwise.
fn current(gate: GateMemory, version: u32) -> GateMemory {
    if version == VERSION {
        return gate;
    }
    let comparable = |figures: Figures| Figures { throughput: None, memory: None, ..figures };
    let retest = gate.retest.map(|retest| Retest { before: comparable(retest.before), ..retest });
    GateMemory { figures: gate.figures.map(comparable), retest, trial: None, ..gate }
}
