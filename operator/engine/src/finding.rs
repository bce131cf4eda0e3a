//! What a finding is called, how bad it is, and how it is told from others.

use crate::hash::fnv1a;
use crate::opinion::Weight;
use crate::rules::RuleName;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who found it: a rule in the evidence, or the gate by trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FindingName {
    /// A rule.
    Rule(RuleName),
    /// Replicas were added and did not bring what they should.
    ScaleOutIneffective,
}

impl FindingName {
    /// The rule behind it; none where the gate found it by trying.
    pub const fn rule(self) -> Option<RuleName> {
        match self {
            Self::Rule(rule) => Some(rule),
            Self::ScaleOutIneffective => None,
        }
    }
}

impl fmt::Display for FindingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => rule.fmt(f),
            Self::ScaleOutIneffective => f.write_str("ScaleOutIneffective"),
        }
    }
}

/// Whether there is anything to mend: what only says that more GPUs are worth their money is not tested again.
pub fn is_fault(rule: RuleName) -> bool {
    rule != RuleName::AddingJustified
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Work stands still, or is lost.
    High,
    /// GPUs are paid for and wait.
    Medium,
    /// Something could be better.
    Low,
}

/// Rules that find work that stands still or is lost.
const HIGH: [RuleName; 4] =
    [RuleName::GpuOutOfMemory, RuleName::RunNotProgressing, RuleName::Stalled, RuleName::Straggler];

/// By what it is, then by what it does: what speaks against more GPUs has GPUs waiting.
pub fn severity(name: FindingName, weight: Weight) -> Severity {
    if name.rule().is_some_and(|rule| HIGH.contains(&rule)) {
        return Severity::High;
    }
    match weight {
        Weight::Veto => Severity::Medium,
        Weight::Support | Weight::Either | Weight::Advice => Severity::Low,
    }
}

/// Eight hexadecimal digits over the workload's uid and the finding's name: the same over restarts and repetitions, another
/// once the workload is made anew.
pub fn id(uid: &str, name: FindingName) -> String {
    let hash = fnv1a(format!("{uid}/{name}").into_bytes());
    format!("{:08x}", hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOADER: FindingName = FindingName::Rule(RuleName::DataLoader);

    #[test]
    fn an_id_belongs_to_one_workload_and_one_rule() {
        assert_eq!(id("uid-1", LOADER), id("uid-1", LOADER));
        assert_ne!(id("uid-1", LOADER), id("uid-2", LOADER));
        assert_ne!(id("uid-1", LOADER), id("uid-1", FindingName::ScaleOutIneffective));
        assert_eq!(id("uid-1", LOADER).len(), 8);
    }

    #[test]
    fn a_hang_is_worse_than_a_wait_and_a_wait_worse_than_advice() {
        let stalled = FindingName::Rule(RuleName::Stalled);

        assert_eq!(severity(stalled, Weight::Advice), Severity::High);
        assert_eq!(severity(LOADER, Weight::Veto), Severity::Medium);
        assert_eq!(severity(LOADER, Weight::Advice), Severity::Low);
    }
}
