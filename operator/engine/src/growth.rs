//! The last growth, while its replicas are on their way.

use crate::memory::Moment;
use crate::steps::{FEW_IN, START_GRACE};
use crate::units::Replicas;
use crate::world::Workload;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Growth that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Moment, Replicas)", into = "(Moment, Replicas)")]
pub struct Growth {
    /// When.
    pub at: Moment,
    /// To how many replicas.
    pub to: Replicas,
}

impl From<(Moment, Replicas)> for Growth {
    fn from((at, to): (Moment, Replicas)) -> Self {
        Self { at, to }
    }
}

impl From<Growth> for (Moment, Replicas) {
    fn from(growth: Growth) -> Self {
        (growth.at, growth.to)
    }
}

impl Growth {
    /// Whether any of it is neither Ready nor late.
    pub fn is_landing(self, workload: &Workload, now: Timestamp) -> bool {
        now < self.at.plus(START_GRACE) && workload.there(now) < self.to
    }
}

impl Workload {
    /// Replicas on their way, neither Ready nor late, will change what is measured: those of the last growth, or more than a
    /// few whoever asked for them.
    pub fn awaits_replicas(&self, now: Timestamp) -> bool {
        let coming = self.current().minus(self.there(now));
        coming.0 > self.current().0 / FEW_IN || self.memory.growth.is_some_and(|growth| growth.is_landing(self, now))
    }

    fn there(&self, now: Timestamp) -> Replicas {
        self.ready().plus(self.late(now, START_GRACE).replicas)
    }
}
