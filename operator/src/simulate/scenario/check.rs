//! What the types cannot say: positive numbers, names that exist, manifests that the operator accepts.

use super::file::{Entry, File, PoolShape};
use super::{Reader, Subject, manifest};
use crate::refusal::did_you_mean;
use std::collections::{BTreeMap, BTreeSet};
use wellfed_crds::{Signal, SignalRole};
use wellfed_engine::policy::{Mode, Policy};
use wellfed_engine::units::{Gpus, WorkloadId};
use wellfed_sim::scenario::{Change, Model, Selector, Workload};

/// The path of a field, and what is wrong with it and what to do.
pub type Problem = (String, String);

/// What the checks made of the file.
pub struct Checked {
    /// Every workload, resolved.
    pub workloads: Vec<Subject>,
}

impl File {
    /// Checks everything; the first problem is returned.
    pub fn check(&self) -> Result<Checked, Problem> {
        within("for", self.length.seconds(), 1.0, 366.0 * 86_400.0)?;
        within("cycle", self.cycle.seconds(), 1.0, 300.0)?;
        within("tick", self.tick.seconds(), 0.01, self.cycle.seconds())?;
        within("startUp", self.start_up.seconds(), 0.0, 86_400.0)?;
        unique("pools", self.pools.iter().map(|pool| pool.name.clone()))?;
        for (at, pool) in self.pools.iter().enumerate() {
            pool.check().map_err(|problem| under(&format!("pools[{at}]"), problem))?;
        }
        let subjects =
            self.workloads.iter().enumerate().map(|(at, entry)| {
                self.subject(at, entry).map_err(|problem| under(&format!("workloads[{at}]"), problem))
            });
        let workloads: Vec<_> = subjects.collect::<Result<_, _>>()?;
        unique("workloads", workloads.iter().map(|one| one.id.name.clone()))?;
        let targets = workloads.iter().flat_map(|one| one.targets.iter().map(|(_, target)| target.clone()));
        unique("workloads: scaleTargetRef", targets)?;
        check_changes(&self.changes, &workloads, self.length.seconds())?;
        Ok(Checked { workloads })
    }

    fn subject(&self, at: usize, entry: &Entry) -> Result<Subject, Problem> {
        let object = manifest::parse(&entry.manifest)?;
        let name = object.metadata.name.clone().unwrap_or_default();
        let namespace = object.metadata.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let intent = manifest::resolve(&object, &namespace)?;
        entry.check()?;
        let asks = |signal: &Signal| matches!(signal.role, None | Some(SignalRole::Demand | SignalRole::Latency));
        let signals = object.spec.signals.iter().enumerate().filter(|(_, signal)| asks(signal));
        let readers = signals.map(|(at, signal)| Reader::of(entry, at, signal, intent.replicas));
        let readers: Vec<_> = readers.collect::<Result<_, _>>()?;
        self.check_names(entry, &intent.policy)?;
        let bounds = (intent.policy.min.0, intent.policy.max.0);
        entry.replicas.map_or(Ok(()), |replicas| check_replicas(replicas, bounds))?;
        // What only recommends would change nothing here.
        let mode = if intent.policy.mode == Mode::Paused { Mode::Paused } else { Mode::Auto };
        let policy = Policy { gpus_per_replica: Gpus(entry.pods.gpus), mode, ..intent.policy };
        let targets = policy.pools.iter().zip(&intent.targets);
        let targets = targets.map(|(pool, target)| {
            (self.pool_named(pool.pool.as_ref().map(|name| name.0.as_str())), target.name.clone())
        });
        let targets: Vec<_> = targets.collect();
        targets.iter().try_for_each(|(pool, _)| self.pools[*pool].check_fits(entry.pods.gpus))?;
        let work = Workload {
            selector: Selector { match_labels: BTreeMap::from([("app".to_owned(), name.clone())]) },
            name: name.clone(),
            namespace: namespace.clone(),
            model: entry.model.clone(),
            arrivals: entry.arrivals.clone(),
            telemetry: entry.telemetry,
        };
        work.check()?;
        Ok(Subject {
            id: WorkloadId { namespace, name: name.clone(), uid: format!("{name}-{at}") },
            targets,
            readers,
            measures: intent.measures.iter().map(|(what, _)| *what).collect(),
            replicas: entry.replicas.unwrap_or(policy.min.0),
            policy,
            pod: entry.pods.clone(),
            rivals: entry.rivals,
            slo: entry.slo.map(wellfed_sim::scenario::Span::seconds),
            work,
        })
    }

    /// The implicit pool of a workload is the scenario's first.
    fn pool_named(&self, name: Option<&str>) -> usize {
        name.and_then(|name| self.pools.iter().position(|pool| pool.name == name)).unwrap_or(0)
    }

    fn check_names(&self, entry: &Entry, policy: &Policy) -> Result<(), Problem> {
        for (at, pool) in policy.pools.iter().enumerate() {
            let Some(name) = &pool.pool else { continue };
            if self.pools.iter().all(|known| known.name != name.0) {
                let path = format!("manifest.spec.pools[{at}].name");
                return Err((path, unknown(&name.0, self.pools.iter().map(|pool| pool.name.as_str()))));
            }
        }
        for name in entry.signals.keys() {
            if policy.signals.iter().all(|known| known.name.0 != *name) {
                let known = policy.signals.iter().map(|signal| signal.name.0.as_str());
                return Err((format!("signals.{name}"), unknown(name, known)));
            }
        }
        Ok(())
    }
}

impl Entry {
    fn check(&self) -> Result<(), Problem> {
        within("pods.gpus", f64::from(self.pods.gpus), 1.0, 16.0)?;
        self.pods.cpu_limit.map_or(Ok(()), |cores| within("pods.cpuLimit", cores, 0.01, 1024.0))?;
        self.slo.map_or(Ok(()), |slo| within("slo", slo.seconds(), 0.001, 86_400.0))?;
        within("rivals.utilisation", self.rivals.utilisation, 0.01, 1.0)?;
        self.rivals.waiting.map_or(Ok(()), |waiting| within("rivals.waiting", waiting, 0.001, 1e12))?;
        if self.slo.is_some() && matches!(self.model, Model::Training(_)) {
            return Err(("slo".into(), "training answers no requests: leave slo out".into()));
        }
        Ok(())
    }
}

impl PoolShape {
    fn check(&self) -> Result<(), Problem> {
        within("gpusPerNode", f64::from(self.gpus_per_node), 1.0, 16.0)?;
        within("nodes", f64::from(self.nodes), 0.0, 10_000.0)?;
        if self.nodes == 0 && self.max_nodes.is_none() {
            let problem = "is 0 without maxNodes, so that no replica could ever run there; raise nodes, set maxNodes, or \
                           leave the pool out";
            return Err(("nodes".into(), problem.into()));
        }
        within("pricePerGpuHour", self.price_per_gpu_hour, 0.0, 1_000_000.0)?;
        self.max_nodes
            .map_or(Ok(()), |most| within("maxNodes", f64::from(most), f64::from(self.nodes.max(1)), 10_000.0))?;
        self.reclaimed_every.map_or(Ok(()), |mean| within("reclaimedEvery", mean.seconds(), 60.0, 366.0 * 86_400.0))
    }

    /// A pod that no node can hold would wait for ever.
    fn check_fits(&self, gpus: u32) -> Result<(), Problem> {
        if gpus <= self.gpus_per_node {
            return Ok(());
        }
        let problem = format!(
            "is {gpus}, and a node of pool \"{}\" has {}; lower it, raise the pool's gpusPerNode, or name another pool",
            self.name, self.gpus_per_node
        );
        Err(("pods.gpus".into(), problem))
    }
}

/// Plays all changes in order, so that a wrong path is found at the start and not after a simulated week.
fn check_changes(changes: &[Change], workloads: &[Subject], length: f64) -> Result<(), Problem> {
    let mut played: Vec<Workload> = workloads.iter().map(|one| one.work.clone()).collect();
    for (at, change) in changes.iter().enumerate() {
        let Some(workload) = played.iter_mut().find(|one| one.name == change.workload) else {
            let known = workloads.iter().map(|one| one.id.name.as_str());
            return Err((format!("changes[{at}].workload"), unknown(&change.workload, known)));
        };
        if change.at.seconds() >= length {
            let at_seconds = change.at.seconds();
            let problem = format!(
                "is {at_seconds} s, and the simulation is over after {length} s; set it earlier, or lengthen for"
            );
            return Err((format!("changes[{at}].at"), problem));
        }
        for (path, value) in &change.set {
            let problem = |error: &dyn std::fmt::Display| (format!("changes[{at}].set.{path}"), error.to_string());
            *workload = workload.with(path, value).map_err(|error| problem(&error))?;
        }
    }
    Ok(())
}

fn check_replicas(replicas: u32, (min, max): (u32, u32)) -> Result<(), Problem> {
    if (min..=max).contains(&replicas) {
        return Ok(());
    }
    let problem = format!("is {replicas}; it must be from {min} to {max}, the manifest's minReplicas and maxReplicas");
    Err(("replicas".into(), problem))
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match did_you_mean(name, known.clone()) {
        Some(near) => format!("there is no \"{name}\"; did you mean \"{near}\"?"),
        None => format!("there is no \"{name}\"; there is {}", known.collect::<Vec<_>>().join(", ")),
    }
}

fn within(path: &str, value: f64, least: f64, most: f64) -> Result<(), Problem> {
    if value.is_finite() && (least..=most).contains(&value) {
        return Ok(());
    }
    Err((path.into(), format!("is {value}; it must be from {least} to {most}")))
}

fn unique(path: &str, names: impl Iterator<Item = String>) -> Result<(), Problem> {
    let mut seen = BTreeSet::new();
    for name in names {
        if seen.contains(&name) {
            return Err((path.into(), format!("\"{name}\" is there twice; give each a name of its own")));
        }
        seen.insert(name);
    }
    if seen.is_empty() { Err((path.into(), "is empty; name at least one".into())) } else { Ok(()) }
}

fn under(path: &str, (field, problem): Problem) -> Problem {
    (format!("{path}.{field}"), problem)
}
