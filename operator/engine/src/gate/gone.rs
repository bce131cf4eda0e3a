//! Why a finding is shown no more, where that was no step of its life.

use super::{GateMemory, MOST};
use crate::memory::Moment;

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
    /// Why a finding went that last showed at `last`.
    pub fn gone(&self, last: Moment) -> Gone {
        let lives = self.retest.as_ref().map_or(0, |retest| retest.lives.len());
        match self.counted {
            Some(counted) if counted > last => Gone::NotShown,
            _ if self.counts.len() + lives >= MOST => Gone::Displaced,
            _ => Gone::NotLookedFor,
        }
    }
}
