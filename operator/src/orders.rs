//! Decision → what to write, and for whom it may be written.

use crate::apply::Job;
use crate::observe::Ready;
use jiff::Timestamp;
use std::collections::HashMap;
use wellfed_engine::decision::Decision;
use wellfed_engine::{plan, remember};

/// The writes of one workload: none where somebody else writes, or while a write of ours is still on its way.
pub fn job(decision: &Decision, ready: &Ready, now: Timestamp) -> Option<Job> {
    if ready.settling || ready.contested || ready.resolved.driven.is_some() {
        return None;
    }
    let policy = &ready.resolved.policy;
    let targets: HashMap<_, _> =
        policy.pools.iter().zip(&ready.resolved.targets).map(|(pool, (key, _))| (pool.name(), key)).collect();
    let actions = plan(decision, policy.mode).actions;
    let actions: Vec<_> = actions
        .into_iter()
        .filter_map(|action| Some((action.clone(), (*targets.get(&action.pool)?).clone())))
        .collect();
    if actions.is_empty() {
        return None;
    }
    let memory = serde_json::to_string(&remember(decision, true, &policy.behavior, now)).ok()?;
    Some(Job { namespace: decision.id.namespace.clone(), name: decision.id.name.clone(), memory, actions })
}

impl Job {
    /// Whose writes they are.
    pub fn uid(&self) -> String {
        self.actions.first().map(|(action, _)| action.id.uid.clone()).unwrap_or_default()
    }
}
