//! One cycle, for the whole cluster: look, decide, write what differs, remember, tell.

use crate::apply::{ApplyError, Job, Outcome, apply};
use crate::catalog::Catalog;
use crate::due::Due;
use crate::evidence::{Verdicts, Watched};
use crate::health::Probes;
use crate::intent::Settings;
use crate::lease::LeaseView;
use crate::metrics::Metrics;
use crate::observe::{Lookout, Observed, Ready, Subject, SubjectState, observe};
use crate::orders::job;
use crate::outlook::{numbers, signal_times, watched};
use crate::recall::Recall;
use crate::report::Reporter;
use crate::signals::{Asks, Board};
use crate::told::Told;
use crate::watch::Stores;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use wellfed_engine::decide::Decided;
use wellfed_engine::decision::Decision;
use wellfed_engine::policy::Behavior;
use wellfed_engine::world::World;
use wellfed_engine::{decide, remember};

/// Everything that a cycle works with.
pub struct Cycle {
    /// The API server.
    pub client: Client,
    /// What is watched.
    pub stores: Stores,
    /// The answers about signals.
    pub board: Board,
    /// The opinions of the gate's lane.
    pub verdicts: Verdicts,
    /// Whether we lead.
    pub lease: LeaseView,
    /// Who we are.
    pub identity: String,
    /// The operator's settings.
    pub settings: Settings,
    /// A sample older than this is stale.
    pub stale_after: SignedDuration,
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// For the probes.
    pub probes: Arc<Probes>,
    /// What the collector should ask.
    pub asks: watch::Sender<Arc<Asks>>,
    /// What the gate's lane should judge.
    pub watched: watch::Sender<Arc<Vec<Watched>>>,
    /// Carried over.
    pub recall: Recall,
    /// What was told last.
    pub told: Told,
    /// The term of the Lease that this belongs to.
    pub term: u64,
}

/// Runs cycles until `stop`. Nothing before `apply` waits for the network.
pub async fn run(mut cycle: Cycle, due: Due, stop: CancellationToken) {
    while due.next(&stop).await {
        cycle.probes.cycle_turned();
        if cycle.may_decide() {
            let started = Instant::now();
            cycle.turn(Timestamp::now()).await;
            cycle.metrics.cycled(started.elapsed().as_secs_f64(), seconds(Timestamp::now()));
        }
    }
}

impl Cycle {
    /// Only with every store synced and the Lease held; a new term begins with what the objects say.
    fn may_decide(&mut self) -> bool {
        let troubles = self.stores.troubles();
        let synced = troubles.iter().all(|(_, trouble)| trouble.is_none());
        for (name, trouble) in troubles {
            self.probes.store(name, trouble);
        }
        let holding = self.lease.holding();
        if holding.answered.is_some_and(|at| at.elapsed() < Duration::from_secs(30)) {
            self.probes.api_answered();
        }
        let leads = self.lease.may_write();
        self.metrics.lease(leads);
        if holding.term != self.term {
            self.term = holding.term;
            self.recall.another_term(holding.before);
            self.told.another_term();
        }
        leads && synced
    }

    async fn turn(&mut self, now: Timestamp) {
        // Memory keeps milliseconds, so that it is the same after a restart.
        let now = Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now);
        let (seen, catalog) = self.observe(now);
        let decided = decide(&seen.world);
        let stopped = self.stores.stopped();
        let jobs = self.jobs(&seen, &decided, stopped.as_deref());
        let ahead: Vec<_> = jobs.iter().map(|job| (job.uid(), job.memory.clone())).collect();
        let outcomes = apply(jobs, &self.client, &self.lease).await;
        for (uid, memory) in ahead {
            self.told.memory_written(&uid, &memory, now);
        }
        let decided = self.absorb(&seen.world, decided, &outcomes);
        self.publish(&seen, &decided);
        let reporter = Reporter {
            client: &self.client,
            lease: &self.lease,
            identity: &self.identity,
            stopped: stopped.as_deref(),
            catalog: &catalog,
            now,
        };
        reporter.report(&seen.subjects, &decided, &outcomes, &mut self.told).await;
    }

    fn observe(&mut self, now: Timestamp) -> (Observed, Catalog) {
        let catalog = Catalog::of(&self.stores);
        let answers = self.board.snapshot();
        let opinions = self.verdicts.snapshot();
        let look = Lookout {
            workloads: self.stores.workloads.all(),
            catalog: &catalog,
            answers: &answers,
            opinions: &opinions,
            settings: &self.settings,
            stale_after: self.stale_after,
            now,
        };
        let seen = observe(&look, &mut self.recall);
        self.asks.send_if_modified(|asks| {
            let new = **asks != seen.asks;
            if new {
                *asks = Arc::new(seen.asks.clone());
            }
            new
        });
        (seen, catalog)
    }

    /// What to write: only where nobody else writes, and no write of ours is still on its way.
    fn jobs(&self, seen: &Observed, decided: &[Decided], stopped: Option<&str>) -> Vec<Job> {
        if stopped.is_some() {
            return Vec::new();
        }
        let ready: HashMap<&str, &Ready> = seen.subjects.iter().filter_map(by_uid).collect();
        let decisions = decided.iter().filter_map(|decided| decided.as_ref().ok());
        let decisions = decisions.filter(|decision| !self.recall.pauses(&decision.id.uid, seen.world.now));
        decisions.filter_map(|decision| job(decision, ready.get(decision.id.uid.as_str())?, seen.world.now)).collect()
    }

    /// Keeps what the next cycle needs, and puts the memories to be stored into the decisions.
    fn absorb(&mut self, world: &World, decided: Vec<Decided>, outcomes: &[Outcome]) -> Vec<Decided> {
        for outcome in outcomes {
            match &outcome.result {
                Ok((version, at)) => {
                    self.metrics.wrote("written");
                    self.recall.wrote(outcome.target.clone(), outcome.action.to.0, version.clone(), *at);
                    if let Some(contest) = self.recall.contests.get_mut(&outcome.action.id.uid) {
                        contest.wrote(&outcome.target.2, outcome.action.to.0);
                    }
                }
                Err(error) => {
                    self.metrics.wrote(error.reason());
                    if let (ApplyError::Timeout, Some(contest)) =
                        (error, self.recall.contests.get_mut(&outcome.action.id.uid))
                    {
                        contest.tried(&outcome.target.2, outcome.action.to.0);
                    }
                    if !error.is_transient() {
                        self.recall.refused(&outcome.action.id.uid, world.now);
                    }
                }
            }
        }
        let written: HashSet<&str> =
            outcomes.iter().filter(|one| one.result.is_ok()).map(|one| one.action.id.uid.as_str()).collect();
        let behaviors: HashMap<&str, &Behavior> =
            world.workloads.iter().map(|one| (one.id.uid.as_str(), &one.policy.behavior)).collect();
        decided
            .into_iter()
            .map(|decided| {
                let decision = decided?;
                let uid = decision.id.uid.as_str();
                let Some(behavior) = behaviors.get(uid) else { return Ok(decision) };
                let memory = remember(&decision, written.contains(uid), behavior, world.now);
                self.recall.remember(&decision.id.uid, memory.clone());
                Ok(Decision { memory, ..decision })
            })
            .collect()
    }

    /// Tells the gate's lane whom to judge, and the metrics what is.
    fn publish(&self, seen: &Observed, decided: &[Decided]) {
        let decisions: HashMap<&str, &Decision> =
            decided.iter().filter_map(|one| one.as_ref().ok()).map(|one| (one.id.uid.as_str(), one)).collect();
        let watched = seen.subjects.iter().filter_map(by_uid).filter_map(|(uid, ready)| {
            let pods = || (ready.ready_pods.clone(), ready.exits.clone());
            watched(decisions.get(uid)?, &ready.resolved.policy, seen.world.now, ready.own, pods)
        });
        self.watched.send_replace(Arc::new(watched.collect()));
        for workload in &seen.world.workloads {
            let Some(decision) = decisions.get(workload.id.uid.as_str()) else { continue };
            self.metrics.workload(&workload.id, &numbers(decision));
        }
        self.metrics.signals(seen.world.workloads.iter().flat_map(signal_times), seen.world.now);
        let shown: Vec<_> = decisions.values().map(|decision| (&decision.id, decision.memory.gate.shown())).collect();
        self.metrics.findings(shown.iter().flat_map(|(id, shown)| shown.iter().map(move |one| (*id, one))));
        self.metrics.keep_only(&seen.subjects.iter().map(|subject| &subject.id).collect::<Vec<_>>());
    }
}

fn by_uid(subject: &Subject) -> Option<(&str, &Ready)> {
    match &subject.state {
        SubjectState::Resolved(ready) => Some((&subject.id.uid, ready)),
        SubjectState::Unresolved(_) => None,
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}
