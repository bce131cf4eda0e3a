//! A world over time: look, decide, carry out, remember.

use super::{NOW, WorkloadBuilder, secs};
use crate::decision::Decision;
use crate::evidence::Evidence;
use crate::units::{Gpus, NodeName, PoolName};
use crate::world::{Node, Pool, Workload, World};
use crate::{decide, judge, remember};
use std::collections::BTreeMap;

/// Built by [`world`].
#[derive(Clone, Debug)]
pub struct Scenario {
    /// As it stands.
    pub world: World,
    evidence: BTreeMap<String, Evidence>,
}

/// An empty world at [`NOW`].
pub fn world() -> Scenario {
    let world = World { now: NOW, workloads: Vec::new(), pools: BTreeMap::new(), nodes: BTreeMap::new() };
    Scenario { world, evidence: BTreeMap::new() }
}

impl Scenario {
    /// One more workload.
    #[must_use]
    pub fn workload(mut self, builder: WorkloadBuilder) -> Self {
        let (workload, seen) = builder.build();
        if let Some(seen) = seen {
            self.evidence.insert(workload.id.name.clone(), seen);
        }
        self.world.workloads.push(workload);
        self
    }

    /// A `GpuPool` whose nodes have so many free GPUs each.
    #[must_use]
    pub fn pool(mut self, name: &str, free: &[u32]) -> Self {
        let names: Vec<_> = (0..free.len()).map(|number| NodeName(format!("{name}-{number}"))).collect();
        self.world.nodes.extend(names.iter().cloned().zip(free.iter().map(|free| Node { free: Gpus(*free) })));
        self.world.pools.insert(PoolName::from(name), Pool { nodes: names, limit: None, price: None });
        self
    }

    /// The most GPUs that may be asked for in a pool.
    #[must_use]
    pub fn limit(mut self, pool: &str, gpus: u32) -> Self {
        if let Some(pool) = self.world.pools.get_mut(&PoolName::from(pool)) {
            pool.limit = Some(Gpus(gpus));
        }
        self
    }

    /// So many evaluations of the evidence, a minute apart; nothing is written.
    #[must_use]
    pub fn after(mut self, evaluations: u32) -> Self {
        for _ in 0..evaluations {
            self = self.later(60).evaluated().remembered(false);
        }
        self
    }

    /// So many seconds later.
    #[must_use]
    pub fn later(mut self, seconds: i64) -> Self {
        self.world.now = self.world.now.saturating_add(secs(seconds)).unwrap_or(NOW);
        self
    }

    /// The judge has looked at evidence that ends now.
    #[must_use]
    pub fn evaluated(mut self) -> Self {
        let now = self.world.now;
        for workload in &mut self.world.workloads {
            let seen = self.evidence.get(&workload.id.name);
            workload.opinion = seen.map(|seen| judge(&Evidence { at: now, ..seen.clone() }));
            workload.rest.see(workload.opinion.as_ref(), &workload.policy.gate, now);
        }
        self
    }

    /// Decided and remembered; `written` says whether the numbers were asked for too.
    #[must_use]
    pub fn remembered(mut self, written: bool) -> Self {
        let now = self.world.now;
        let decided = decide(&self.world).into_iter().flatten();
        let mut decided: BTreeMap<_, _> = decided.map(|decision| (decision.id.clone(), decision)).collect();
        for workload in &mut self.world.workloads {
            let Some(decision) = decided.remove(&workload.id) else { continue };
            workload.memory = remember(&decision, written, &workload.policy.behavior, now);
            if written {
                for (state, number) in workload.pools.iter_mut().zip(&decision.pools) {
                    state.asked = number.to;
                }
            }
        }
        self
    }

    /// Changes one workload: what happens to it.
    #[must_use]
    pub fn change(mut self, name: &str, change: impl FnOnce(&mut Workload)) -> Self {
        if let Some(workload) = self.find_mut(name) {
            change(workload);
        }
        self
    }

    /// Replaces what a workload is and what is seen of it; it keeps its memory.
    #[must_use]
    pub fn becomes(mut self, builder: WorkloadBuilder) -> Self {
        let (mut new, seen) = builder.build();
        let name = new.id.name.clone();
        self.evidence.remove(&name);
        self.evidence.extend(seen.map(|seen| (name.clone(), seen)));
        if let Some(old) = self.find_mut(&name) {
            new.memory = old.memory.clone();
            new.opinion.clone_from(&old.opinion);
            new.rest.clone_from(&old.rest);
            *old = new;
        }
        self
    }

    /// The workload of this name.
    pub fn find(&self, name: &str) -> Option<&Workload> {
        self.world.workloads.iter().find(|workload| workload.id.name == name)
    }

    fn find_mut(&mut self, name: &str) -> Option<&mut Workload> {
        self.world.workloads.iter_mut().find(|workload| workload.id.name == name)
    }

    /// The decision for one workload.
    ///
    /// # Panics
    /// If there is none of this name, or deciding it panicked.
    #[allow(clippy::panic)] // a builder for tests
    pub fn decision(&self, name: &str) -> Decision {
        let decided = decide(&self.world).into_iter().flatten().find(|decision| decision.id.name == name);
        decided.unwrap_or_else(|| panic!("no decision for {name:?}"))
    }
}
