//! Processes that end again and again, and are started anew ever later.

use crate::scenario::{Crash, End, Training};

/// The kubelet starts an ended container again after this, twice as long each time, seconds.
const BACK_OFF: f64 = 10.0;
/// The longest that it waits, seconds.
const LONGEST: f64 = 300.0;
/// What has run for this long begins anew with the shortest wait, seconds.
const FORGIVEN: f64 = 600.0;

/// One process that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The uid of its pod.
    pub uid: String,
    /// When, on the models' clock.
    pub at: f64,
    /// Of what.
    pub of: End,
}

/// A stretch in which no process runs, on the models' clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// Its start.
    pub from: f64,
    /// Its end.
    pub until: f64,
}

/// The processes of a group: all of them live and end together.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub ends: Vec<Ended>,
    pub outage: Option<Outage>,
    /// Ends in a row.
    row: i32,
}

impl Process {
    pub fn is_down(&self, now: f64) -> bool {
        self.outage.is_some_and(|outage| now < outage.until)
    }

    /// Whether the processes end `now`; those of `uids`, the last of which is Ready since `started`.
    pub fn ends<'a>(&mut self, crash: Crash, started: f64, now: f64, uids: impl Iterator<Item = &'a str>) -> bool {
        let began = self.outage.map_or(started, |outage| outage.until.max(started));
        if self.is_down(now) || now < began + crash.after.seconds() {
            return false;
        }
        self.ends.extend(uids.map(|uid| Ended { uid: uid.to_owned(), at: now, of: crash.of }));
        self.row = if now - began >= FORGIVEN { 0 } else { self.row };
        let wait = (BACK_OFF * 2.0_f64.powi(self.row)).min(LONGEST);
        self.row += 1;
        self.outage = Some(Outage { from: now, until: now + wait });
        true
    }
}

/// What ends the processes of `count` replicas, if anything does.
pub(super) fn due(training: &Training, count: u32) -> Option<Crash> {
    let count = f64::from(count.max(1));
    let samples = training.global_batch.map_or(training.samples_per_step, |batch| batch / count);
    let fits = |memory: &crate::scenario::Footprint| memory.at_once(samples, count).is_some();
    let memory = training.memory.as_ref().filter(|memory| !fits(memory));
    memory.map(|memory| Crash { after: memory.reached, of: End::GpuMemory }).or(training.crash)
}
