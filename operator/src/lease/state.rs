//! Who may act, decided without a network and without a wall clock.
//!
//! Times are [`Duration`]s since some start of this process. Another holder's `renewTime` is never compared with a clock of
//! ours: a holder is silent when *we* have seen its record unchanged for a whole lease duration. Skewed clocks therefore
//! neither take a Lease from a living holder nor keep one for a dead one.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// What a Lease says, in the parts that matter here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// Who holds it; empty when it was given back.
    pub holder: String,
    /// The holder's own time of its last renewal. Only ever compared for being different.
    pub renew_time: String,
    /// How often the holder changed.
    pub transitions: i32,
    /// How long others must see silence before they take over.
    pub duration: Duration,
    /// The version to name when writing, so that of two writers one fails.
    pub resource_version: String,
}

/// The times of an election. `renew_deadline` must be shorter than `duration`; the difference is the time that writes in
/// flight have to end before another instance may act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Silence after which others take over.
    pub duration: Duration,
    /// Time after the last successful renewal at which the holder stops acting.
    pub renew_deadline: Duration,
    /// Time between renewals, and between looks of those who wait.
    pub retry_period: Duration,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Read the Lease: what is known is too old to act on.
    Look,
    /// There is no Lease: make one.
    Create,
    /// It is ours: renew it over this record.
    Renew(LeaseRecord),
    /// It is free or its holder silent: take it over this record.
    TakeOver(LeaseRecord),
    /// Nothing until then.
    Wait(Duration),
}

/// Whether this instance may act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may, until then.
    Leader {
        /// The renew deadline, counted from when the last successful write was *sent*.
        until: Duration,
    },
    /// It may not.
    Follower {
        /// Who may, as far as was seen; nobody if the Lease is absent, empty or unread.
        holder: Option<String>,
    },
}

/// The state of one instance's candidacy.
#[derive(Clone, Debug)]
pub struct Elector {
    identity: String,
    terms: Terms,
    known: Known,
    held_until: Option<Duration>,
    renew_at: Duration,
}

/// What is known of the Lease.
#[derive(Clone, Debug)]
enum Known {
    /// Nothing that may be acted on.
    Unread { before: Option<Seen> },
    /// It does not exist.
    Absent,
    /// It reads so.
    Present(Seen),
}

#[derive(Clone, Debug)]
struct Seen {
    record: LeaseRecord,
    /// When this instance first saw the record as it is.
    since: Duration,
    /// When it last looked.
    looked: Duration,
}

impl Elector {
    /// A candidate that knows nothing yet. `identity` must differ between any two processes that ever live at once: a
    /// record with our own name is taken for ours.
    pub fn new(identity: impl Into<String>, terms: Terms) -> Self {
        let known = Known::Unread { before: None };
        Self { identity: identity.into(), terms, known, held_until: None, renew_at: Duration::ZERO }
    }

    /// What to do at `now`.
    pub fn next(&self, now: Duration) -> Act {
        match &self.known {
            Known::Unread { .. } => Act::Look,
            Known::Absent => Act::Create,
            Known::Present(seen) if seen.record.holder == self.identity => self.renew(seen, now),
            Known::Present(seen) if seen.record.holder.is_empty() => Act::TakeOver(seen.record.clone()),
            Known::Present(seen) => self.watch(seen, now),
        }
    }

    /// The record to empty when this instance leaves at `now` and its work has ended; nothing if the Lease is not ours.
    pub fn release(&self, now: Duration) -> Option<LeaseRecord> {
        let seen = self.seen().filter(|seen| seen.record.holder == self.identity && self.is_held(now));
        seen.map(|seen| seen.record.clone())
    }

    /// Takes in what the API server answered to a look at `answered`: the record, or that there is no Lease.
    pub fn looked(&mut self, answered: Duration, observed: Option<LeaseRecord>) {
        self.known = match observed {
            None => Known::Absent,
            Some(record) => {
                let before = self.seen().filter(|seen| same(&seen.record, &record));
                let since = before.map_or(answered, |seen| seen.since);
                Known::Present(Seen { record, since, looked: answered })
            }
        };
        if self.seen().is_none_or(|seen| seen.record.holder != self.identity) {
            self.held_until = None;
        }
    }

    /// A create, renewal or takeover succeeded. `sent` is when it was *sent*: others may count from any later moment.
    pub fn wrote(&mut self, sent: Duration, record: LeaseRecord) {
        self.held_until = Some(sent + self.terms.renew_deadline);
        self.renew_at = sent + self.terms.retry_period;
        self.known = Known::Present(Seen { record, since: sent, looked: sent });
    }

    /// The Lease was given back.
    pub fn released(&mut self) {
        self.held_until = None;
        self.known = Known::Unread { before: None };
    }

    /// A call failed, perhaps after it took effect. Nothing is gained, and nothing lost before the deadline.
    pub fn failed(&mut self) {
        let before = self.seen().cloned();
        self.known = Known::Unread { before };
    }

    /// Whether this instance may act at `now`.
    pub fn is_held(&self, now: Duration) -> bool {
        self.held_until.is_some_and(|until| now < until)
    }

    /// Whether this instance may act at `now`, and else who may.
    pub fn standing(&self, now: Duration) -> Standing {
        match self.held_until {
            Some(until) if now < until => Standing::Leader { until },
            _ => Standing::Follower { holder: self.seen().map(|s| s.record.holder.clone()).filter(|h| !h.is_empty()) },
        }
    }

    fn renew(&self, seen: &Seen, now: Duration) -> Act {
        // Not held although ours: an earlier life's, or one whose deadline passed. The sooner renewed the better.
        if now < self.renew_at && self.is_held(now) {
            Act::Wait(self.renew_at)
        } else {
            Act::Renew(seen.record.clone())
        }
    }

    /// Another holds it. Its record may ask for a longer silence than our own terms, never for a shorter one.
    fn watch(&self, seen: &Seen, now: Duration) -> Act {
        let silent_at = seen.since + self.terms.duration.max(seen.record.duration);
        let look_at = (seen.looked + self.terms.retry_period).min(silent_at.max(seen.looked));
        match () {
            () if seen.looked >= silent_at => Act::TakeOver(seen.record.clone()),
            () if now >= look_at => Act::Look,
            () => Act::Wait(look_at),
        }
    }

    fn seen(&self) -> Option<&Seen> {
        match &self.known {
            Known::Present(seen) => Some(seen),
            Known::Unread { before } => before.as_ref(),
            Known::Absent => None,
        }
    }
}

/// Whether the holder gave no sign between two records. The version is left out: a label put on the Lease is no sign.
fn same(one: &LeaseRecord, other: &LeaseRecord) -> bool {
    one.holder == other.holder
        && one.renew_time == other.renew_time
        && one.transitions == other.transitions
        && one.duration == other.duration
}
