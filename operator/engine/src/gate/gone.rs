//! Why a finding is shown no more, where that was no step of its life.

use super::{GateMemory, MOST};
use crate::memory::Moment;
use crate::rest::Rest;

/// Why it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It was looked for since, and did not show.
    NotShown,
    /// Nobody looked since, and a finding does not stand for longer by itself.
    NotLookedFor,
    /// Others took its place.
    Displaced,
}

impl GateMemory {
    /// Why the finding `rule` went that last showed at `last`.
    pub fn gone(&self, rule: &str, last: Moment, rest: &Rest) -> Gone {
        match self.counted {
            Some(counted) if counted > last => Gone::NotShown,
            _ if rest.disproves(rule, last) => Gone::NotShown,
            _ if self.of_demand() >= MOST => Gone::Displaced,
            _ => Gone::NotLookedFor,
        }
    }
}
