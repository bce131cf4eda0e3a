//! A finding under test as it is kept in status: a short list.

use super::life::{Fate, Life};
use crate::figures::Worse;
use crate::memory::Moment;
use crate::opinion::Weight;
use crate::rules::RuleName;
use serde::{Deserialize, Serialize};

/// Rule, weight, first, when its fate changed, which fate, last.
pub type Listed = (RuleName, Weight, Moment, Option<Moment>, Mark, Moment);

/// Before the last time was kept.
type Undated = (RuleName, Weight, Moment, Option<Moment>, Mark);

/// What is read.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Written {
    /// As it is written now.
    Now(Listed),
    /// As it was written before.
    Undated(Undated),
}

/// A fate without its moment.
#[derive(Serialize, Deserialize)]
pub enum Mark {
    Retesting,
    Resolved,
    Again,
    Throughput,
    Latency,
    Memory,
    Quality,
    Unseen,
}

impl From<Written> for Life {
    fn from(written: Written) -> Self {
        let (rule, weight, first, at, mark, last) = match written {
            Written::Now(listed) => listed,
            Written::Undated((rule, weight, first, at, mark)) => (rule, weight, first, at, mark, first),
        };
        let (then, worse) = (at.unwrap_or(first), |what| Fate::Worse(at.unwrap_or(first), what));
        let fate = match mark {
            Mark::Retesting => Fate::Retesting(at),
            Mark::Resolved => Fate::Resolved(then),
            Mark::Unseen => Fate::Unseen(then),
            Mark::Again => Fate::Again(then),
            Mark::Throughput => worse(Worse::Throughput),
            Mark::Latency => worse(Worse::Latency),
            Mark::Memory => worse(Worse::Memory),
            Mark::Quality => worse(Worse::Quality),
        };
        Self { rule, weight, first, last, fate }
    }
}

impl From<Life> for Listed {
    fn from(life: Life) -> Self {
        let (at, mark) = match life.fate {
            Fate::Retesting(quiet) => (quiet, Mark::Retesting),
            Fate::Resolved(at) => (Some(at), Mark::Resolved),
            Fate::Unseen(at) => (Some(at), Mark::Unseen),
            Fate::Again(at) => (Some(at), Mark::Again),
            Fate::Worse(at, Worse::Throughput) => (Some(at), Mark::Throughput),
            Fate::Worse(at, Worse::Latency) => (Some(at), Mark::Latency),
            Fate::Worse(at, Worse::Memory) => (Some(at), Mark::Memory),
            Fate::Worse(at, Worse::Quality) => (Some(at), Mark::Quality),
        };
        (life.rule, life.weight, life.first, at, mark, life.last)
    }
}
