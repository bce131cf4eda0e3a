//! Streams → trimmed stores. Each watch has its own backoff; a broken object is skipped, not fatal.

use crate::failing::Failing;
use crate::pauses::Pauses;
use crate::slim::{
    REVISION, SlimConfigMap, SlimDeployment, SlimHpa, SlimNamespace, SlimNode, SlimPod, SlimStatefulSet,
    StatusCondition,
};
use futures::{FutureExt, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{Lookup, Store, store};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use wellfed_crds::{GpuPool, GpuWorkload};
use wellfed_engine::hash::fnv1a;

/// Annotations that a decision reads begin with this; the others are not kept.
const ANNOTATIONS: &str = "wellfed.dev/";

/// Everything that is watched.
pub struct Stores {
    /// One store a watched namespace, or one for all.
    pub workloads: Many<DeserializeGuard<GpuWorkload>>,
    /// Pools.
    pub pools: Many<DeserializeGuard<GpuPool>>,
    /// Targets.
    pub deployments: Many<SlimDeployment>,
    /// Targets.
    pub stateful_sets: Many<SlimStatefulSet>,
    /// Others that may drive targets.
    pub hpas: Many<SlimHpa>,
    /// All pods of the cluster: those of others use GPUs too.
    pub pods: Many<SlimPod>,
    /// Nodes.
    pub nodes: Many<SlimNode>,
    /// Namespaces, for the pools' selectors.
    pub namespaces: Many<SlimNamespace>,
    /// The kill switch.
    pub switch: Many<SlimConfigMap>,
}

/// What to watch.
pub struct Scope {
    /// Namespaces of workloads; empty means all.
    pub namespaces: Vec<String>,
    /// The namespace of the operator itself.
    pub own: String,
    /// The `ConfigMap` that stops all writes.
    pub kill_switch: String,
}

/// One store a watched namespace.
pub struct Many<K: Lookup + Clone + 'static>(Vec<(Store<K>, Arc<Failing>)>)
where
    K::DynamicType: Eq + std::hash::Hash + Clone;

impl<K: Lookup<DynamicType = ()> + Clone + 'static> Many<K> {
    /// A store that holds just these, without a watch: for tests and benches.
    pub fn holding(objects: Vec<K>) -> Self {
        let (reader, mut writer) = store();
        writer.apply_watcher_event(&Event::Init);
        for object in objects {
            writer.apply_watcher_event(&Event::InitApply(object));
        }
        writer.apply_watcher_event(&Event::InitDone);
        Self(vec![(reader, Arc::default())])
    }

    /// Every object.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.0.iter().flat_map(|(store, _)| store.state()).collect()
    }

    /// Why it can't be decided on; none when the first list has been read, and what came after it.
    fn trouble(&self) -> Option<String>
    where
        K: Send + Sync,
    {
        let synced = |store: &Store<K>| store.wait_until_ready().now_or_never().is_some_and(|ready| ready.is_ok());
        self.0.iter().find_map(|(store, failing)| failing.trouble(synced(store)))
    }
}

impl Stores {
    /// Starts the watches on `tasks`; `due` is told when something that matters changes.
    pub fn start(client: &Client, scope: &Scope, due: &Arc<Notify>, tasks: &mut JoinSet<()>) -> Self {
        let mut watches = Watches { client, namespaces: &scope.namespaces, due, tasks };
        let own: Api<SlimConfigMap> = Api::namespaced(client.clone(), &scope.own);
        let only_switch = Config::default().fields(&format!("metadata.name={}", scope.kill_switch));
        Self {
            workloads: watches.namespaced(Some(wish)),
            pools: watches.cluster(None),
            deployments: watches.namespaced(None),
            stateful_sets: watches.namespaced(None),
            hpas: watches.namespaced(None),
            pods: watches.cluster(Some(readiness)),
            nodes: watches.cluster(None),
            namespaces: watches.cluster(None),
            switch: Many(vec![watches.start(own, only_switch, Some(|map| map.data.len() as u64))]),
        }
    }

    /// Why each store can't be decided on, by name; nothing for those that can.
    pub fn troubles(&self) -> [(&'static str, Option<String>); 9] {
        [
            ("gpuworkloads", self.workloads.trouble()),
            ("gpupools", self.pools.trouble()),
            ("deployments", self.deployments.trouble()),
            ("statefulsets", self.stateful_sets.trouble()),
            ("horizontalpodautoscalers", self.hpas.trouble()),
            ("pods", self.pods.trouble()),
            ("nodes", self.nodes.trouble()),
            ("namespaces", self.namespaces.trouble()),
            ("kill switch", self.switch.trouble()),
        ]
    }

    /// Why all writes are stopped, if they are.
    pub fn stopped(&self) -> Option<String> {
        let switch = self.switch.all();
        let reason = switch.iter().find_map(|map| map.data.get("stop"))?.trim();
        (!reason.is_empty() && reason != "false").then(|| reason.to_owned())
    }
}

/// What about an object makes a cycle due at once when it changes.
type Matters<K> = fn(&K) -> u64;

/// Its spec, and a person's word against the gate.
fn wish(workload: &DeserializeGuard<GpuWorkload>) -> u64 {
    let annotations = workload.meta().annotations.iter().flatten();
    let word = annotations.flat_map(|(name, value)| name.bytes().chain(value.bytes()));
    workload.meta().generation.unwrap_or(0).unsigned_abs() ^ fnv1a(word)
}

fn readiness(pod: &SlimPod) -> u64 {
    u64::from(StatusCondition::holds(&pod.status.conditions, "Ready").is_some())
}

/// Starts watches.
struct Watches<'a> {
    client: &'a Client,
    namespaces: &'a [String],
    due: &'a Arc<Notify>,
    tasks: &'a mut JoinSet<()>,
}

impl Watches<'_> {
    fn namespaced<K>(&mut self, matters: Option<Matters<K>>) -> Many<K>
    where
        K: Watched + Resource<Scope = NamespaceResourceScope>,
    {
        if self.namespaces.is_empty() {
            return self.cluster(matters);
        }
        let namespaces = self.namespaces;
        let start = |namespace: &String| {
            self.start(Api::namespaced(self.client.clone(), namespace), Config::default(), matters)
        };
        Many(namespaces.iter().map(start).collect())
    }

    fn cluster<K: Watched>(&mut self, matters: Option<Matters<K>>) -> Many<K> {
        Many(vec![self.start(Api::all(self.client.clone()), Config::default(), matters)])
    }

    fn start<K: Watched>(
        &mut self,
        api: Api<K>,
        config: Config,
        matters: Option<Matters<K>>,
    ) -> (Store<K>, Arc<Failing>) {
        let (reader, writer) = store();
        let due = Arc::clone(self.due);
        let failing = Arc::new(Failing::default());
        let noted = Arc::clone(&failing);
        let mut seen = HashMap::new();
        let stream = watcher(api, config)
            .backoff(Pauses::default())
            .modify(|object| {
                object.meta_mut().managed_fields = None;
                if let Some(annotations) = &mut object.meta_mut().annotations {
                    annotations.retain(|name, _| name.starts_with(ANNOTATIONS) || name == REVISION);
                }
            })
            .reflect(writer)
            .for_each(move |event| {
                noted.note(&event);
                match event {
                    Ok(event) if matters.is_some_and(|matters| changed(&mut seen, &event, matters)) => due.notify_one(),
                    Ok(_) => {}
                    Err(error) => tracing::warn!(kind = %K::kind(&()), %error, "a watch failed and is tried again"),
                }
                std::future::ready(())
            });
        self.tasks.spawn(stream);
        (reader, failing)
    }
}

/// What can be watched here.
trait Watched: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static {}

impl<K> Watched for K where K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static {}

/// Whether what matters about the object is new.
fn changed<K: Watched>(seen: &mut HashMap<String, u64>, event: &Event<K>, matters: Matters<K>) -> bool {
    let uid = |object: &K| object.meta().uid.clone().unwrap_or_default();
    match event {
        Event::Apply(object) | Event::InitApply(object) => {
            let now = matters(object);
            seen.insert(uid(object), now) != Some(now)
        }
        Event::Delete(object) => seen.remove(&uid(object)).is_some(),
        Event::Init | Event::InitDone => false,
    }
}
