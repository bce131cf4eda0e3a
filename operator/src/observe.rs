//! Stores and readings → World: one instant of everything, as plain data.

mod ready;
#[cfg(test)]
mod tests;

use crate::catalog::{Catalog, Target, TargetKey, is_over};
use crate::contest::Foreign;
use crate::evidence::{Exit, OwnSaid, WatchedPod};
use crate::gate_override::Word;
use crate::intent::Settings;
use crate::measures::measures;
use crate::recall::Recall;
use crate::refusal::{Refusal, RefusalReason};
use crate::resolve::{Resolved, Unresolved, resolve};
use crate::signals::{Ask, Asks, Latest, Seen};
use crate::slim::{SlimPod, StatusCondition};
use crate::stuck::{Stuck, stuck};
use crate::templates;
use crate::undo;
use jiff::{SignedDuration, Timestamp};
use kube::core::DeserializeGuard;
use kube::{Resource, ResourceExt};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wellfed_crds::GpuWorkload;
use wellfed_engine::opinion::{Opinion, Opinions};
use wellfed_engine::units::{PodName, Replicas, WorkloadId};
use wellfed_engine::world::{Pod, PodState, PoolState, SignalState, SignalValue, Template, Workload, World};

/// The latest answers by question.
pub type Answers = HashMap<Ask, Arc<Latest>>;

/// What one look gave.
pub struct Observed {
    /// For the engine.
    pub world: World,
    /// Every workload, those that can't be decided too.
    pub subjects: Vec<Subject>,
    /// What the collector should ask.
    pub asks: Asks,
}

/// One workload as it was looked at.
pub struct Subject {
    /// Which.
    pub id: WorkloadId,
    /// The object; none where it can't be read.
    pub object: Option<Arc<DeserializeGuard<GpuWorkload>>>,
    /// Whether it can be decided.
    pub state: SubjectState,
}

/// Whether a workload can be decided.
pub enum SubjectState {
    /// It can.
    Resolved(Box<Ready>),
    /// It can't.
    Unresolved(Unresolved),
}

/// A workload that can be decided, and what is known of its targets.
pub struct Ready {
    /// What is wanted, and of what.
    pub resolved: Resolved,
    /// A write of ours has not reached the store yet.
    pub settling: bool,
    /// Somebody else keeps changing its targets.
    pub contested: bool,
    /// Changes of its targets by others since the last look.
    pub foreign: Vec<Foreign>,
    /// Why its pods can't run, if some can't.
    pub stuck: Option<Stuck>,
    /// Its Ready pods.
    pub ready_pods: Vec<WatchedPod>,
    /// What its own signals say of its work.
    pub own: OwnSaid,
    /// What a person says against the gate, if anything.
    pub gate_override: Option<Word>,
    /// The latest opinion, if it found anything: what was measured.
    pub opinion: Option<Arc<Opinion>>,
    /// How the GPU containers of its pods ended within the longest window, as far as it was seen.
    pub exits: Vec<Exit>,
}

/// What is looked at.
pub struct Lookout<'a> {
    /// Every workload.
    pub workloads: Vec<Arc<DeserializeGuard<GpuWorkload>>>,
    /// Everything else in the cluster.
    pub catalog: &'a Catalog,
    /// The latest answers.
    pub answers: &'a Answers,
    /// The latest opinions.
    pub opinions: &'a Opinions,
    /// The operator's settings.
    pub settings: &'a Settings,
    /// A sample older than this is stale.
    pub stale_after: SignedDuration,
    /// Now.
    pub now: Timestamp,
}

/// One look. Nothing in it waits.
pub fn observe(look: &Lookout<'_>, recall: &mut Recall) -> Observed {
    recall.sharing.see(look.catalog, look.now);
    let mut workloads = Vec::with_capacity(look.workloads.len());
    let mut subjects = Vec::with_capacity(look.workloads.len());
    let mut asks = Asks::new();
    let mut claimed: HashMap<TargetKey, String> = HashMap::new();
    let mut objects = look.workloads.clone();
    objects
        .sort_by_cached_key(|object| (object.meta().creation_timestamp.clone(), object.namespace(), object.name_any()));
    for object in objects {
        let id = id(&object);
        let state = match subject(&object, &id, look, recall, &mut claimed) {
            Ok((ready, workload)) => {
                let measures = ready.resolved.measures.iter().map(|(_, source)| source);
                let sources = ready.resolved.sources.iter().chain(measures);
                asks.extend(sources.filter_map(|source| source.ask()).cloned());
                workloads.push(workload);
                SubjectState::Resolved(Box::new(ready))
            }
            Err(unresolved) => SubjectState::Unresolved(unresolved),
        };
        subjects.push(Subject { id, object: Some(object), state });
    }
    recall.keep_only(&subjects.iter().map(|subject| subject.id.uid.clone()).collect::<HashSet<_>>());
    let world =
        World { now: look.now, workloads, pools: look.catalog.capacity.clone(), nodes: look.catalog.nodes.clone() };
    Observed { world, subjects, asks }
}

fn id(object: &DeserializeGuard<GpuWorkload>) -> WorkloadId {
    WorkloadId {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
    }
}

fn subject(
    object: &DeserializeGuard<GpuWorkload>,
    id: &WorkloadId,
    look: &Lookout<'_>,
    recall: &mut Recall,
    claimed: &mut HashMap<TargetKey, String>,
) -> Result<(Ready, Workload), Unresolved> {
    let workload = object.0.as_ref().map_err(|invalid| {
        let message = format!("the object can't be read: {}", invalid.error);
        Unresolved::Refused(vec![Refusal::at("spec", RefusalReason::Malformed, message)])
    })?;
    let parsed = recall.intent(&id.uid, workload, look.settings);
    let intent = parsed.as_ref().as_ref().map_err(|refusals| Unresolved::Refused(refusals.clone()))?;
    let peak = intent.policy.model.and_then(|_| recall.peak(&id.uid, workload));
    let resolved = resolve(intent, &id.namespace, look.catalog, peak)?;
    claim(id, &resolved, claimed)?;
    Ok(looked_at(id, workload, resolved, look, recall))
}

/// One target has one workload: the older one.
fn claim(id: &WorkloadId, resolved: &Resolved, claimed: &mut HashMap<TargetKey, String>) -> Result<(), Unresolved> {
    for (key, _) in &resolved.targets {
        if let Some(other) = claimed.get(key) {
            let message = format!(
                "{} \"{}\" is the target of GpuWorkload \"{other}\" already, which is older: delete one of the two",
                key.1, key.2
            );
            let refusal = Refusal::at("spec.scaleTargetRef", RefusalReason::DuplicateTarget, message);
            return Err(Unresolved::Refused(vec![refusal]));
        }
    }
    for (key, _) in &resolved.targets {
        claimed.insert(key.clone(), id.name.clone());
    }
    Ok(())
}

fn looked_at(
    id: &WorkloadId,
    workload: &GpuWorkload,
    resolved: Resolved,
    look: &Lookout<'_>,
    recall: &mut Recall,
) -> (Ready, Workload) {
    let mut settling = false;
    let mut foreign = Vec::new();
    let mut pools = Vec::with_capacity(resolved.targets.len());
    for (key, target) in &resolved.targets {
        let (asked, on_its_way) = recall.settle(key, target.replicas, &target.resource_version, look.now);
        settling |= on_its_way;
        if !on_its_way {
            let contest = recall.contests.entry(id.uid.clone()).or_default();
            foreign.extend(contest.observe(&key.2, target.replicas, look.now));
        }
        pools.push(PoolState { asked: Replicas(asked), pods: pods(key, look) });
    }
    let contested = recall.contests.get_mut(&id.uid).is_some_and(|contest| contest.is_contested(look.now));
    let signals = signals(id, &resolved, &pools, look, recall);
    let ready_pods = ready::pods(&resolved.targets, look, &recall.sharing);
    let gate_override = Word::of(workload, look.now);
    let template = template(&resolved.targets);
    let mut memory = recall.memory(&id.uid, workload);
    templates::keep_up(&mut memory.gate.template, &template.digest);
    let (figures, own) = measures(id, &resolved, &signals, look);
    let opinion = look.opinions.get(&id.uid);
    let state = Workload {
        id: id.clone(),
        created: workload.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        policy: resolved.policy.clone(),
        pools,
        measures: figures,
        signals,
        opinion: opinion.map(|opinion| Opinion::clone(opinion)),
        template: Some(template),
        gate_override: gate_override.as_ref().and_then(Word::in_force).cloned(),
        memory,
    };
    let stuck = stuck(&resolved.targets, &state, look.catalog, look.now);
    let exits =
        recall.ends.entry(id.uid.clone()).or_default().see(&resolved.targets, look.catalog, &recall.sharing, look.now);
    let opinion = opinion.filter(|opinion| !opinion.findings.is_empty()).cloned();
    let ready = Ready { resolved, settling, contested, foreign, stuck, ready_pods, own, gate_override, opinion, exits };
    (ready, state)
}

/// The pod templates of all targets as one.
fn template(targets: &[(TargetKey, Target)]) -> Template {
    let rolled_out = targets.iter().all(|(_, target)| target.rolled_out);
    Template { digest: templates::word(targets), rolled_out, revisions: undo::revisions(targets) }
}

/// How many GPUs, and parts of GPUs, the pods of these targets ask for on each node.
fn asked_by<'a>(targets: &[(TargetKey, Target)], catalog: &'a Catalog) -> HashMap<&'a str, u32> {
    let mut asked: HashMap<&str, u32> = HashMap::new();
    let pods = targets.iter().filter_map(|(key, _)| catalog.pods.get(key)).flatten();
    for pod in pods.filter(|pod| !is_over(pod)) {
        if let Some(node) = &pod.spec.node_name {
            let asked = asked.entry(node).or_default();
            *asked = asked.saturating_add(pod.spec.gpus());
        }
    }
    asked
}

fn signals(
    id: &WorkloadId,
    resolved: &Resolved,
    pools: &[PoolState],
    look: &Lookout<'_>,
    recall: &mut Recall,
) -> Vec<SignalState> {
    let live = pools.iter().flat_map(|pool| &pool.pods).filter(|pod| pod.is_live());
    let names: Vec<&str> = live.clone().map(|pod| pod.name.0.as_str()).collect();
    let ready = live.filter(|pod| pod.is_ready()).count();
    resolved
        .sources
        .iter()
        .zip(&resolved.policy.signals)
        .map(|(source, policy)| {
            let latest = source.ask().and_then(|ask| look.answers.get(ask)).map(Arc::as_ref);
            let value = source.read(&Seen {
                latest,
                namespace: &id.namespace,
                pods: &names,
                ready,
                replicas: resolved.replicas,
                now: look.now,
                stale_after: look.stale_after,
                signed: false,
            });
            let usable = usable(&value, pools);
            let lost = |latest: &Latest| recall.losses.note(&id.uid, &policy.name.0, latest.number, usable);
            let failures = latest.map_or(0, lost);
            SignalState { value, failures }
        })
        .collect()
}

/// Whether a read gave anything to go by. Pods that are not Ready are not asked: a model that loads is no lost signal.
fn usable(value: &SignalValue, pools: &[PoolState]) -> bool {
    match value {
        SignalValue::External(reading) | SignalValue::PodsUnread(reading) => reading.believed().is_ok(),
        SignalValue::Pods(rows) => {
            let mut ready = pools.iter().flat_map(|pool| &pool.pods).filter(|pod| pod.is_ready()).peekable();
            let known = |pod: &Pod| rows.get(&pod.name).is_some_and(|reading| reading.believed().is_ok());
            ready.peek().is_none() || ready.any(known)
        }
    }
}

fn pods(key: &TargetKey, look: &Lookout<'_>) -> Vec<Pod> {
    look.catalog.pods.get(key).into_iter().flatten().map(|pod| seen_pod(pod, look.now)).collect()
}

fn seen_pod(pod: &SlimPod, now: Timestamp) -> Pod {
    let made = pod.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let ready = StatusCondition::holds(&pod.status.conditions, "Ready");
    // What was Ready once and is not any more is waited for since then.
    let unready = pod.status.conditions.iter().find(|one| one.kind == "Ready" && one.status != "True");
    let unready = unready.and_then(|condition| condition.last_transition_time.as_ref()).map(|time| time.0);
    let over = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") || pod.metadata.deletion_timestamp.is_some();
    let state = if over {
        PodState::Ended
    } else if let Some(ready) = ready {
        PodState::Ready { since: ready.last_transition_time.as_ref().map_or(made, |time| time.0) }
    } else if pod.status.phase == "Running" {
        PodState::Starting { since: unready.unwrap_or(made).max(made) }
    } else {
        PodState::Pending { since: made }
    };
    Pod { name: PodName(pod.metadata.name.clone().unwrap_or_default()), state, bound: pod.spec.node_name.is_some() }
}
