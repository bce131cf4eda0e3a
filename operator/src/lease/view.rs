//! What the rest of the operator sees of the Lease.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::watch;

/// Whether this instance holds the Lease, and until when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The renew deadline, if held. It lies in the past when renewals fail: compare it with the clock, always.
    pub until: Option<Instant>,
    /// Counts the times that this instance began to hold, from 1. A new term means that another instance may have acted
    /// in between: read again what was remembered.
    pub term: u64,
    /// Who holds it as far as is known; this instance's identity when `until` is set.
    pub holder: Option<String>,
    /// When it was last renewed before this term began, by the clock of whoever did; none where it had never been held.
    pub before: Option<Timestamp>,
    /// When the API server last answered a call for the Lease, whatever it said.
    pub answered: Option<Instant>,
}

/// A handle on the present [`Holding`], cheap to clone and to ask.
#[derive(Clone, Debug)]
pub struct LeaseView {
    holding: watch::Receiver<Holding>,
}

impl LeaseView {
    /// The view of what `hold` reports through the other end of the channel.
    pub fn new(holding: watch::Receiver<Holding>) -> Self {
        Self { holding }
    }

    /// A view that always may write, for tools and tests that run alone.
    pub fn alone() -> Self {
        let forever = Instant::now() + Duration::from_hours(24 * 365);
        let holding = Holding { until: Some(forever), term: 1, ..Holding::default() };
        Self { holding: watch::channel(holding).1 }
    }

    /// Whether a write may begin at this moment. Ask before each one: the deadline passes on its own, without a message.
    pub fn may_write(&self) -> bool {
        self.holding.borrow().until.is_some_and(|until| Instant::now() < until)
    }

    /// What is known now.
    pub fn holding(&self) -> Holding {
        self.holding.borrow().clone()
    }

    /// Waits until the Lease is gained, lost to another, or its term changes. `false` when the election has ended.
    ///
    /// A renewal wakes nobody. A deadline that passes does neither, so that a waiter must still ask [`Self::may_write`].
    pub async fn changed(&mut self) -> bool {
        self.holding.changed().await.is_ok()
    }
}
