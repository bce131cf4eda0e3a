//! A rule that its workload's owner overruled holds nothing any more, whatever was counted of it.

use super::GateMemory;
use crate::opinion::{Lean, Weight};
use crate::stance::Stances;

impl GateMemory {
    /// Forgets what was counted, remembered or is tested again of rules as far as `stances` takes it from them.
    pub(super) fn obey(&mut self, stances: Stances) {
        if stances == Stances::default() {
            return;
        }
        self.counts.retain(|count| stances.leaves(count.rule, count.weight));
        if let Some(retest) = &mut self.retest {
            retest.lives.retain(|life| stances.leaves(life.rule, life.weight));
        }
        self.cause.take_if(|cause| !stances.leaves(cause.rule, Weight::Veto));
        self.lean.take_if(|lean| matches!(lean, Lean::Refuse(rule) if !stances.leaves(*rule, Weight::Veto)));
    }
}
