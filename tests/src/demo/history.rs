//! What really happened, by the API server and its audit log alone.

use super::stage::{NAMESPACE, WORKLOADS};
use crate::plane::Plane;
use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use std::collections::BTreeMap;
use wellfed_crds::{GpuWorkload, GpuWorkloadStatus};

/// What happened to each workload.
pub struct History {
    /// By name.
    pub workloads: BTreeMap<&'static str, Past>,
    /// Writes of the operator to objects other than those that it should write.
    pub strays: Vec<String>,
}

/// One workload's past.
pub struct Past {
    /// What the operator said at the end.
    pub status: GpuWorkloadStatus,
    /// Each pool's Deployment: how its replicas went.
    pub pools: BTreeMap<String, Course>,
    /// The largest sum of replicas at any time.
    pub peak: i64,
    /// When the number was first written.
    pub first_written: Option<Timestamp>,
    /// What became of its findings: when, and the event's reason and text.
    pub turns: Vec<(Timestamp, String, String)>,
}

/// How one Deployment's replicas went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// At first.
    pub initial: i64,
    /// At most.
    pub peak: i64,
    /// At last.
    pub last: i64,
}

/// What the operator may write.
const ITS_OWN: [(&str, &str); 5] =
    [("deployments", "scale"), ("gpuworkloads", "status"), ("leases", ""), ("events", ""), ("statefulsets", "scale")];

impl History {
    /// Reads the API server and the audit log of `user`'s writes.
    pub async fn read(plane: &Plane, user: &str) -> Result<Self> {
        let client = plane.client().await?;
        let audit = plane.audit()?.by_user(user).writes();
        let stray = |event: &&crate::audit::Event| {
            let object = &event.object_ref;
            !ITS_OWN.contains(&(object.resource.as_str(), object.subresource.as_str()))
        };
        let strays = audit.events().iter().filter(stray).map(crate::audit::Event::summary).collect();
        let scalings = audit.on("deployments", "scale").in_namespace(NAMESPACE);
        let workloads: Api<GpuWorkload> = Api::namespaced(client.clone(), NAMESPACE);
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
        let told = Api::<Event>::namespaced(client, NAMESPACE).list(&ListParams::default()).await?.items;
        let mut past = BTreeMap::new();
        for name in WORKLOADS {
            let workload = workloads.get(name).await?;
            let mut steps: Vec<(String, i64, i64)> = Vec::new();
            let mut written = Vec::new();
            for event in scalings.events().iter().filter(|event| event.response_status.code == 200) {
                let (from, to) = numbers(&event.request_object).context("a write of /scale without numbers")?;
                steps.push((event.object_ref.name.clone(), from, to));
                written.push((event.object_ref.name.as_str(), event.at));
            }
            let targets = targets(&workload);
            let mut last = BTreeMap::new();
            for (_, target) in &targets {
                let deployment = deployments.get(target).await?;
                last.insert(target.clone(), i64::from(deployment.spec.and_then(|spec| spec.replicas).unwrap_or(1)));
            }
            let own = |target: &str| last.contains_key(target);
            let first_written = written.iter().filter(|(target, _)| own(target)).map(|(_, at)| *at).min();
            let one = Past::of(workload.status.unwrap_or_default(), &targets, &steps, &last);
            past.insert(name, Past { first_written, turns: turns(&told, name), ..one });
        }
        Ok(Self { workloads: past, strays })
    }
}

/// What became of the findings of `workload`, oldest first.
fn turns(events: &[Event], workload: &str) -> Vec<(Timestamp, String, String)> {
    let of_it = |event: &&Event| event.regarding.as_ref().and_then(|it| it.name.as_deref()) == Some(workload);
    let turn = |event: &Event| {
        let reason = event.reason.clone().filter(|reason| reason.starts_with("Finding"))?;
        Some((event.event_time.as_ref()?.0, reason, event.note.clone().unwrap_or_default()))
    };
    let mut turns: Vec<_> = events.iter().filter(of_it).filter_map(turn).collect();
    turns.sort();
    turns
}

/// Pool and Deployment.
fn targets(workload: &GpuWorkload) -> Vec<(String, String)> {
    let spec = &workload.spec;
    let pooled =
        spec.pools.iter().filter_map(|pool| Some((pool.name.clone(), pool.scale_target_ref.as_ref()?.name.clone())));
    let single = spec.scale_target_ref.iter().map(|target| ("default".to_owned(), target.name.clone()));
    pooled.chain(single).collect()
}

/// The tested old value and the new one of a JSON Patch on `/scale`; zero is tested as an empty spec.
fn numbers(patch: &serde_json::Value) -> Option<(i64, i64)> {
    let of = |op: &str| Some(&patch.as_array()?.iter().find(|one| one["op"] == op)?["value"]);
    let from = of("test")?;
    let from = if from.as_object().is_some_and(serde_json::Map::is_empty) { 0 } else { from.as_i64()? };
    Some((from, of("add")?.as_i64()?))
}

impl Past {
    fn of(
        status: GpuWorkloadStatus,
        targets: &[(String, String)],
        steps: &[(String, i64, i64)],
        last: &BTreeMap<String, i64>,
    ) -> Self {
        let own: Vec<_> = steps.iter().filter(|(name, _, _)| last.contains_key(name)).collect();
        let initial =
            |target: &str| own.iter().find(|(name, _, _)| name == target).map_or(last[target], |(_, from, _)| *from);
        let mut now: BTreeMap<&str, i64> = last.keys().map(|target| (target.as_str(), initial(target))).collect();
        let mut peak: i64 = now.values().sum();
        let mut peaks = now.clone();
        for (name, _, to) in &own {
            now.insert(name, *to);
            peak = peak.max(now.values().sum());
            peaks.entry(name).and_modify(|peak| *peak = (*peak).max(*to));
        }
        let course = |target: &str| Course { initial: initial(target), peak: peaks[target], last: last[target] };
        let pools = targets.iter().map(|(pool, target)| (pool.clone(), course(target))).collect();
        Self { status, pools, peak, first_written: None, turns: Vec::new() }
    }

    /// The sum over the pools.
    pub fn initial(&self) -> i64 {
        self.pools.values().map(|course| course.initial).sum()
    }

    /// The sum over the pools.
    pub fn last(&self) -> i64 {
        self.pools.values().map(|course| course.last).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_of_the_sum_is_found_between_the_writes() {
        let targets = [("od".to_owned(), "chat-od".to_owned()), ("spot".to_owned(), "chat-spot".to_owned())];
        let step = |name: &str, from, to| (name.to_owned(), from, to);
        let steps = [step("chat-spot", 0, 4), step("chat-od", 2, 3), step("chat-spot", 4, 1), step("other", 1, 90)];
        let last = BTreeMap::from([("chat-od".to_owned(), 3), ("chat-spot".to_owned(), 1)]);

        let past = Past::of(GpuWorkloadStatus::default(), &targets, &steps, &last);

        assert_eq!((past.initial(), past.peak, past.last()), (2, 7, 4));
        assert_eq!(past.pools["spot"], Course { initial: 0, peak: 4, last: 1 });
    }
}
