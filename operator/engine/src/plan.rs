//! Decision → ordered writes, each of which explains itself and can be repeated.

use crate::decision::Decision;
use crate::policy::Mode;
use crate::units::{PoolName, Replicas, WorkloadId};
use serde::{Deserialize, Serialize};

/// What to write, decreases first: they make the room that increases use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// In order.
    pub actions: Vec<Action>,
}

/// One target's new number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Whose target.
    pub id: WorkloadId,
    /// Which pool of it.
    pub pool: PoolName,
    /// The old value, which the write tests.
    pub from: Replicas,
    /// The new value.
    pub to: Replicas,
}

impl Action {
    const fn grows(&self) -> bool {
        self.to.0 > self.from.0
    }
}

/// The writes of one workload; none unless its mode lets wellfed write.
pub fn plan(decision: &Decision, mode: Mode) -> Plan {
    match mode {
        Mode::Recommend | Mode::Paused => Plan::default(),
        Mode::Auto => {
            let changed = decision.pools.iter().filter(|pool| pool.from != pool.to);
            let mut actions: Vec<_> = changed
                .map(|pool| Action { id: decision.id.clone(), pool: pool.pool.clone(), from: pool.from, to: pool.to })
                .collect();
            actions.sort_by_key(Action::grows);
            Plan { actions }
        }
    }
}
