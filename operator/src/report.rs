//! Outcome → status, events, one log line: only what changed.

use crate::advice::advise;
use crate::apply::{AT_ONCE, DEADLINE, Outcome, as_wellfed};
use crate::catalog::Catalog;
use crate::conditions::{self, Aspect, Obstacles};
use crate::events::{self, Happening};
use crate::findings::{self, Sources};
use crate::fit::fit;
use crate::happenings::{SCALE, foreign, overrides, scalings, tells, transitions, turns};
use crate::lease::LeaseView;
use crate::observe::{Subject, SubjectState};
use crate::resolve::Resolved;
use crate::status::{self, Worth};
use crate::told::{Last, Told};
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use kube::api::Patch;
use kube::{Api, Client};
use serde_json::json;
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

/// What to write about one workload.
struct Letter {
    id: WorkloadId,
    status: Option<GpuWorkloadStatus>,
    memory_only: Option<String>,
    happenings: Vec<Happening>,
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
        let failed = stream::iter(letters).map(|letter| self.send(letter)).buffer_unordered(AT_ONCE);
        for uid in failed.filter_map(std::future::ready).collect::<Vec<_>>().await {
            // What was not written is told again by the next cycle.
            told.workloads.remove(&uid);
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
        let worth = Worth::of(&status);
        let mut happenings = scalings(outcomes, decided, failed_before.as_ref());
        if worth != last.worth {
            // A write that failed is told already, with its numbers.
            let turned = transitions(&last.conditions, &status.conditions);
            let new: Vec<_> = turned.into_iter().filter(|turn| !tells(&happenings, &turn.reason)).collect();
            happenings.extend(new);
            happenings.extend(turns(&last.findings, &status.findings));
            happenings.extend(overrides(&last.conditions, &status.conditions));
            happenings.extend(foreign(subject));
            // Kept as it is before it is shortened.
            let findings = status.findings.clone();
            fit(&mut status);
            log(&subject.id, decided, &status);
            *last = Last {
                worth,
                conditions: status.conditions.clone(),
                findings,
                memory,
                memory_at: Some(self.now),
                failure: last.failure.take(),
            };
            return Some(Letter { id: subject.id.clone(), status: Some(status), memory_only: None, happenings });
        }
        let due = last.memory_at.is_none_or(|at| self.now.duration_since(at) >= MEMORY_EVERY);
        let memory_only = memory.filter(|memory| due && last.memory.as_ref() != Some(memory));
        if let Some(memory) = &memory_only {
            last.memory = Some(memory.clone());
            last.memory_at = Some(self.now);
        }
        (memory_only.is_some() || !happenings.is_empty()).then(|| Letter {
            id: subject.id.clone(),
            status: None,
            memory_only,
            happenings,
        })
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
            (SubjectState::Unresolved(why), _) => (kept(object, generation), conditions::unresolved(why)),
            (SubjectState::Resolved(_), Some(Err(Panicked { message, .. }))) => {
                (kept(object, generation), conditions::panicked(message))
            }
            (SubjectState::Resolved(_), None) => (kept(object, generation), Vec::new()),
            (SubjectState::Resolved(ready), Some(Ok(decision))) => {
                let failed = last.failure.as_ref().map(|failure| (failure.reason, failure.message.as_str()));
                let obstacles = Obstacles { stopped: self.stopped, failed };
                let selector = match ready.resolved.targets.as_slice() {
                    [(_, target)] => target.selector.clone(),
                    _ => None,
                };
                let policy = &ready.resolved.policy;
                let mut status = status::decided(decision, &ready.resolved, generation, selector);
                let (opinion, undo) = (ready.opinion.as_ref(), undo(&ready.resolved));
                let better = ready.resolved.better();
                let sources = Sources { opinion, last: &last.findings, policy, better, undo };
                status.findings = findings::findings(decision, &sources);
                (status, conditions::decided(ready, decision, &obstacles))
            }
        }
    }

    /// The uid, if the next cycle has to tell it again.
    async fn send(&self, letter: Letter) -> Option<String> {
        let written = self.write(&letter).await;
        // The next cycle tells again how conditions turned; a scaling it does not know any more.
        let due = |happening: &&Happening| written || happening.action == SCALE;
        for happening in letter.happenings.iter().filter(due) {
            if self.lease.may_write() {
                events::tell(self.client, &letter.id, self.identity, happening).await;
            }
        }
        (!written).then_some(letter.id.uid)
    }

    /// Whether the status stands as the letter says.
    async fn write(&self, letter: &Letter) -> bool {
        let patch: Patch<serde_json::Value> = match (&letter.status, &letter.memory_only) {
            (Some(status), _) => {
                let patch = json!([{ "op": "add", "path": "/status", "value": status }]);
                let Ok(patch) = serde_json::from_value(patch) else { return true };
                Patch::Json(patch)
            }
            (None, Some(memory)) => Patch::Merge(json!({ "status": { "memory": memory } })),
            (None, None) => return true,
        };
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
            Err(_) => false,
        }
    }
}

fn uid(decided: &Decided) -> &str {
    match decided {
        Ok(decision) => &decision.id.uid,
        Err(panicked) => &panicked.id.uid,
    }
}

/// The last good status: bad input loses nothing.
fn kept(object: &GpuWorkload, generation: Option<i64>) -> GpuWorkloadStatus {
    GpuWorkloadStatus { observed_generation: generation, ..object.status.clone().unwrap_or_default() }
}

/// A command that puts the pod template back; none where one would not do.
fn undo(resolved: &Resolved) -> Option<String> {
    let [((namespace, kind, name), _)] = resolved.targets.as_slice() else { return None };
    Some(format!("kubectl -n {namespace} rollout undo {}/{name}", kind.to_lowercase()))
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
