//! Outcome → status, events, one log line: only what changed.

use crate::advice::advise;
use crate::apply::{AT_ONCE, DEADLINE, Outcome, as_wellfed};
use crate::catalog::Catalog;
use crate::conditions::{self, Aspect, Obstacles};
use crate::events::{self, Happening, Untold};
use crate::findings::{self, Sources};
use crate::fit::fit;
use crate::happenings::{SCALE, foreign, overrides, scalings, tells, transitions};
use crate::lease::LeaseView;
use crate::letter::{self, Letter};
use crate::observe::{Subject, SubjectState};
use crate::status::{self, Worth};
use crate::told::{Last, Told};
use crate::turns::turns;
use crate::undo::undo;
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use kube::{Api, Client};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use wellfed_crds::{GpuWorkload, GpuWorkloadStatus};
use wellfed_engine::decide::{Decided, Panicked};
use wellfed_engine::decision::Decision;
use wellfed_engine::units::WorkloadId;

/// Without a transition a memory is written at most this often.
const MEMORY_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// Tells the API server.
pub struct Reporter<'a> {
    /// Whom.
    pub client: &'a Client,
    /// Only while the Lease is held.
    pub lease: &'a LeaseView,
    /// Who tells.
    pub identity: &'a str,
    /// Why all writes are stopped, if they are.
    pub stopped: Option<&'a str>,
    /// The cluster, for the names and prices of pools.
    pub catalog: &'a Catalog,
    /// Now.
    pub now: Timestamp,
}

/// What became of a letter.
struct Sent {
    uid: String,
    /// Whether the status stands as the letter says.
    written: bool,
    /// What has to be told again.
    untold: Vec<Untold>,
}

impl Reporter<'_> {
    /// Tells what changed since the last time.
    pub async fn report(&self, subjects: &[Subject], decided: &[Decided], outcomes: &[Outcome], told: &mut Told) {
        let decisions: HashMap<&str, &Decided> = decided.iter().map(|one| (uid(one), one)).collect();
        let mut by_uid: HashMap<&str, Vec<&Outcome>> = HashMap::new();
        for outcome in outcomes {
            by_uid.entry(outcome.action.id.uid.as_str()).or_default().push(outcome);
        }
        let present: HashSet<&str> = subjects.iter().map(|subject| subject.id.uid.as_str()).collect();
        told.workloads.retain(|uid, _| present.contains(uid.as_str()));
        told.unreadable.retain(|uid| present.contains(uid.as_str()));
        let mut letters = Vec::new();
        for subject in subjects {
            let decision = decisions.get(subject.id.uid.as_str()).copied();
            let outcomes = by_uid.get(subject.id.uid.as_str()).map_or(&[][..], Vec::as_slice);
            letters.extend(self.letter(subject, decision, outcomes, told));
        }
        let sent = stream::iter(letters).map(|letter| self.send(letter)).buffer_unordered(AT_ONCE);
        for Sent { uid, written, untold } in sent.collect::<Vec<_>>().await {
            if let Some(last) = told.workloads.get_mut(&uid) {
                (last.unwritten, last.untold) = (!written, untold);
            }
        }
    }

    fn letter(
        &self,
        subject: &Subject,
        decided: Option<&Decided>,
        outcomes: &[&Outcome],
        told: &mut Told,
    ) -> Option<Letter> {
        let uid = &subject.id.uid;
        let object = match &subject.object.as_ref()?.0 {
            Ok(object) => object,
            Err(invalid) => {
                // Its status can't be read either, and what can't be read must not be overwritten.
                if told.unreadable.insert(uid.clone()) {
                    let error = &invalid.error;
                    tracing::error!(workload = %subject.id, error, "the object can't be read; do CRD and operator fit together?");
                }
                return None;
            }
        };
        let last = told.workloads.entry(uid.clone()).or_insert_with(|| Last::of(object.status.as_ref()));
        let failed_before = last.failure.clone();
        last.note(outcomes);
        let (mut status, aspects) = self.compose(object, subject, decided, last);
        status.conditions = status::conditions(&aspects, &last.conditions, object.metadata.generation, self.now);
        let memory = memory_text(decided).or_else(|| last.memory.clone());
        status.memory.clone_from(&memory);
        advise(&mut status, subject, decided, self.catalog);
        let new = Worth::of(&status) != last.worth;
        let mut happenings = scalings(outcomes, decided, failed_before.as_ref());
        if new {
            happenings = news(happenings, subject, decided, last, &status);
            log(&subject.id, decided, &status);
        }
        last.happened(happenings, self.now);
        let patch = self.patch(status, memory, new, last);
        (patch.is_some() || !last.untold.is_empty()).then(|| Letter {
            id: subject.id.clone(),
            status: patch,
            untold: std::mem::take(&mut last.untold),
        })
    }

    /// What to write of `status`: all of it if it is `new` or may not stand, else only what moves, once in a while.
    fn patch(
        &self,
        mut status: GpuWorkloadStatus,
        memory: Option<String>,
        new: bool,
        last: &mut Last,
    ) -> Option<Vec<Value>> {
        let findings = status.findings.clone();
        let due = last.memory_at.is_none_or(|at| self.now.duration_since(at) >= MEMORY_EVERY);
        let patch = if new || last.unwritten {
            (last.worth, last.conditions) = (Worth::of(&status), status.conditions.clone());
            fit(&mut status);
            letter::whole(&status)
        } else {
            let moved = memory.as_ref().filter(|memory| due && last.memory.as_ref() != Some(memory))?;
            letter::moved(&status, moved, &last.findings)
        };
        // As they are before they are shortened.
        (last.findings, last.memory, last.memory_at) = (findings, memory, Some(self.now));
        Some(patch)
    }

    fn compose(
        &self,
        object: &GpuWorkload,
        subject: &Subject,
        decided: Option<&Decided>,
        last: &Last,
    ) -> (GpuWorkloadStatus, Vec<Aspect>) {
        let generation = object.metadata.generation;
        match (&subject.state, decided) {
            (SubjectState::Unresolved(why), _) => (kept(object, last), conditions::unresolved(why)),
            (SubjectState::Resolved(_), Some(Err(Panicked { message, .. }))) => {
                (kept(object, last), conditions::panicked(message))
            }
            (SubjectState::Resolved(_), None) => (kept(object, last), Vec::new()),
            (SubjectState::Resolved(ready), Some(Ok(decision))) => {
                let failed = last.failure.as_ref().map(|failure| (failure.reason, failure.message.as_str()));
                let obstacles = Obstacles { stopped: self.stopped, failed };
                let selector = match ready.resolved.targets.as_slice() {
                    [(_, target)] => target.selector.clone(),
                    _ => None,
                };
                let policy = &ready.resolved.policy;
                let mut status = status::decided(decision, &ready.resolved, generation, selector);
                let undo = undo(&ready.resolved.targets, decision.memory.gate.retest.as_ref());
                let (opinion, better) = (ready.opinion.as_deref(), ready.resolved.better());
                let sources = Sources { opinion, last: &last.findings, policy, better, undo };
                status.findings = findings::findings(decision, &sources);
                (status, conditions::decided(ready, decision, &obstacles))
            }
        }
    }

    /// What could not be told is told by the next cycle.
    async fn send(&self, letter: Letter) -> Sent {
        let written = self.write(&letter).await;
        let (mut untold, mut late) = (Vec::new(), false);
        for one in letter.untold {
            // A scaling has happened, whether its status could be written or not. One deadline is enough to wait for.
            let due = (written || one.happening.action == SCALE) && !late && self.lease.may_write();
            let told = due && events::tell(self.client, &letter.id, self.identity, &one).await;
            late |= due && !told;
            if !told {
                untold.push(one);
            }
        }
        Sent { uid: letter.id.uid, written, untold }
    }

    /// Whether the status stands as the letter says.
    async fn write(&self, letter: &Letter) -> bool {
        let Some(patch) = letter.patch() else { return true };
        if !self.lease.may_write() {
            return false;
        }
        let api: Api<GpuWorkload> = Api::namespaced(self.client.clone(), &letter.id.namespace);
        match tokio::time::timeout(DEADLINE, api.patch_status(&letter.id.name, &as_wellfed(), &patch)).await {
            Ok(Ok(_)) => true,
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => true,
            Ok(Err(error)) => {
                tracing::warn!(workload = %letter.id, %error, "a status could not be written and is tried again");
                false
            }
            Err(_) => {
                tracing::warn!(workload = %letter.id, "a status could not be written in time and is tried again");
                false
            }
        }
    }
}

/// What a new status tells, after these.
fn news(
    mut happenings: Vec<Happening>,
    subject: &Subject,
    decided: Option<&Decided>,
    last: &Last,
    status: &GpuWorkloadStatus,
) -> Vec<Happening> {
    // A write that failed is told already, with its numbers.
    let turned = transitions(&last.conditions, &status.conditions);
    let new: Vec<_> = turned.into_iter().filter(|turn| !tells(&happenings, &turn.reason)).collect();
    happenings.extend(new);
    if let (Some(Ok(decision)), SubjectState::Resolved(ready)) = (decided, &subject.state) {
        happenings.extend(turns(&last.findings, &status.findings, &decision.memory.gate, ready.resolved.better()));
    }
    happenings.extend(overrides(&last.conditions, &status.conditions));
    happenings.extend(foreign(subject));
    happenings
}

fn uid(decided: &Decided) -> &str {
    match decided {
        Ok(decision) => &decision.id.uid,
        Err(panicked) => &panicked.id.uid,
    }
}

/// The last good status: bad input loses nothing. The store may not show the latest findings yet.
fn kept(object: &GpuWorkload, last: &Last) -> GpuWorkloadStatus {
    let status = object.status.clone().unwrap_or_default();
    let (observed_generation, findings) = (object.metadata.generation, last.findings.clone());
    GpuWorkloadStatus { observed_generation, findings, ..status }
}

fn memory_text(decided: Option<&Decided>) -> Option<String> {
    let decision = decided?.as_ref().ok()?;
    serde_json::to_string(&decision.memory).ok()
}

fn log(id: &WorkloadId, decided: Option<&Decided>, status: &GpuWorkloadStatus) {
    let decision: Option<&Decision> = decided.and_then(|decided| decided.as_ref().ok());
    let json = decision.and_then(|decision| serde_json::to_string(decision).ok()).unwrap_or_default();
    let summary = status.decision.as_ref().map_or("", |decision| decision.summary.as_str());
    tracing::info!(workload = %id, summary, decision = json, "decision changed");
}

#[cfg(test)]
mod tests;
