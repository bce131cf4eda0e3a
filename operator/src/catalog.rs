//! The stores of one instant, arranged so that a workload finds its targets, pods and pools without a walk.

use crate::resources::GPU;
use crate::sharing;
use crate::slim::{REVISION, SlimNode, SlimPod, StatusCondition, TargetSpec, TargetStatus};
use crate::watch::Stores;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{Selector, SelectorExt};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use wellfed_crds::{GpuPoolSpec, Quantity, ScaleTargetRef};
use wellfed_engine::money::Money;
use wellfed_engine::units::{Gpus, NodeName, PoolName};
use wellfed_engine::world::{Node, Pool};

/// Which object: namespace, kind and name.
pub type TargetKey = (String, String, String);

/// One instant of the cluster.
#[derive(Default)]
pub struct Catalog {
    /// Everything that can be scaled.
    pub targets: HashMap<TargetKey, Target>,
    /// The pods of each target.
    pub pods: HashMap<TargetKey, Vec<Arc<SlimPod>>>,
    /// The HPA of each target that has one.
    pub hpas: HashMap<TargetKey, Hpa>,
    /// Every pool's spec.
    pub pools: BTreeMap<String, GpuPoolSpec>,
    /// Every namespace's labels.
    pub namespaces: HashMap<String, BTreeMap<String, String>>,
    /// Every GPU node that takes pods.
    pub nodes: BTreeMap<NodeName, Node>,
    /// Every node, whether it takes pods or not.
    pub machines: HashMap<String, Machine>,
    /// GPUs, parts of them and places on them, that pods on each node ask for, whoever they are.
    pub gpus_asked: HashMap<String, u32>,
    /// Every pool's nodes and limit.
    pub capacity: BTreeMap<PoolName, Pool>,
}

/// A node, as its pods see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Cores that its pods may use together; none where it does not say.
    pub cores: Option<f64>,
    /// Whether several pods share each GPU, by resource, as far as its labels say.
    pub sharing: BTreeMap<String, bool>,
}

/// One object that can be scaled.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// `spec.replicas`; unset means one.
    pub replicas: u32,
    /// The version of the object that this was read from.
    pub resource_version: String,
    /// GPUs that one pod asks for.
    pub gpus: u32,
    /// Whether all of them are whole: a part of one, or a place on one, is found on no node's count of free GPUs.
    pub whole: bool,
    /// The GPU container.
    pub container: String,
    /// Who drives it: kind and name of its controller.
    pub owner: Option<(String, String)>,
    /// Why pods can't be made, if they can't.
    pub failure: Option<String>,
    /// Its pods' selector, as text.
    pub selector: Option<String>,
    /// Of its pod template: another one after any change.
    pub template: u64,
    /// No pod of an older template is left.
    pub rolled_out: bool,
    /// The number under which its present pod template can be gone back to; none of what has none, or names it only.
    pub revision: Option<u64>,
}

/// Another autoscaler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hpa {
    /// Its name.
    pub name: String,
    /// Its wish.
    pub desired: Option<i32>,
}

/// The key of what `target` names in `namespace`.
pub fn key(namespace: &str, target: &ScaleTargetRef) -> TargetKey {
    (namespace.to_owned(), target.kind.clone(), target.name.clone())
}

impl Catalog {
    /// From the stores.
    pub fn of(stores: &Stores) -> Self {
        let mut catalog = Self::default();
        for one in stores.deployments.all() {
            catalog.target("Deployment", &one.metadata, &one.spec, &one.status);
        }
        for one in stores.stateful_sets.all() {
            catalog.target("StatefulSet", &one.metadata, &one.spec, &one.status);
        }
        for hpa in stores.hpas.all() {
            let target = &hpa.spec.scale_target_ref;
            let name = |of: &Option<String>| of.clone().unwrap_or_default();
            let key = (name(&hpa.metadata.namespace), target.kind.clone(), target.name.clone());
            catalog.hpas.insert(key, Hpa { name: name(&hpa.metadata.name), desired: hpa.status.desired_replicas });
        }
        for namespace in stores.namespaces.all() {
            let labels = namespace.metadata.labels.clone().unwrap_or_default();
            catalog.namespaces.insert(namespace.metadata.name.clone().unwrap_or_default(), labels);
        }
        for pool in stores.pools.all().iter().filter_map(|pool| pool.0.as_ref().ok()) {
            catalog.pools.insert(pool.metadata.name.clone().unwrap_or_default(), pool.spec.clone());
        }
        let pods = stores.pods.all();
        catalog.nodes(&stores.nodes.all(), &pods);
        catalog.pods(pods);
        catalog
    }

    fn target(&mut self, kind: &str, meta: &ObjectMeta, spec: &TargetSpec, status: &TargetStatus) {
        let container = spec.template.spec.gpu_container();
        let owner = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
        let failure =
            StatusCondition::holds(&status.conditions, "ReplicaFailure").map(|failure| failure.message.clone());
        let target = Target {
            replicas: u32::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
            gpus: spec.template.spec.gpus(),
            whole: spec.template.spec.gpus_by_resource().all(|(resource, _)| resource == GPU),
            container: container.map(|container| container.name.clone()).unwrap_or_default(),
            owner: owner.map(|owner| (owner.kind.clone(), owner.name.clone())),
            failure,
            selector: Selector::try_from(spec.selector.clone()).ok().map(|selector| selector.to_string()),
            template: spec.template.digest,
            rolled_out: status.is_rolled_out(&spec.update_strategy, meta.generation),
            revision: meta.annotations.as_ref().and_then(|all| all.get(REVISION)?.parse().ok()),
        };
        let name = meta.name.clone().unwrap_or_default();
        self.targets.insert((meta.namespace.clone().unwrap_or_default(), kind.to_owned(), name), target);
    }

    fn pods(&mut self, pods: Vec<Arc<SlimPod>>) {
        for pod in pods {
            if let Some(key) = owner_of(&pod) {
                self.pods.entry(key).or_default().push(pod);
            }
        }
    }

    fn nodes(&mut self, nodes: &[Arc<SlimNode>], pods: &[Arc<SlimPod>]) {
        // A part of a GPU takes no whole one, but its pod is on the node too.
        let (mut used, mut asked): (HashMap<&str, u32>, HashMap<String, u32>) = Default::default();
        for pod in pods.iter().filter(|pod| !is_over(pod)) {
            if let Some(node) = &pod.spec.node_name {
                let whole = pod.spec.gpus_by_resource().filter(|(resource, _)| *resource == GPU);
                *used.entry(node).or_default() += whole.map(|(_, count)| count).sum::<u32>();
                if pod.spec.gpus() > 0 {
                    let asked = asked.entry(node.clone()).or_default();
                    *asked = asked.saturating_add(pod.spec.gpus());
                }
            }
        }
        for node in nodes {
            self.machines.insert(node.metadata.name.clone().unwrap_or_default(), Machine::of(node));
        }
        let suitable: Vec<_> = nodes.iter().filter(|node| takes_pods(node)).collect();
        for node in &suitable {
            let name = node.metadata.name.clone().unwrap_or_default();
            let free = allocatable(node).saturating_sub(used.get(name.as_str()).copied().unwrap_or(0));
            self.nodes.insert(NodeName(name), Node { free: Gpus(free) });
        }
        self.gpus_asked = asked;
        for (name, pool) in &self.pools {
            let members = suitable.iter().filter(|node| belongs(node, pool));
            let nodes = members.map(|node| NodeName(node.metadata.name.clone().unwrap_or_default())).collect();
            let limit = pool.limits.as_ref().map(|limits| Gpus(u32::try_from(limits.gpus).unwrap_or(0)));
            self.capacity.insert(PoolName(name.clone()), Pool { nodes, limit, price: price(pool) });
        }
    }

    /// Whether workloads of `namespace` may name `pool`.
    pub fn allows(&self, pool: &GpuPoolSpec, namespace: &str) -> bool {
        let Some(selector) = pool.namespace_selector.clone() else { return true };
        let labels = self.namespaces.get(namespace);
        Selector::try_from(selector).is_ok_and(|selector| labels.is_some_and(|labels| selector.matches(labels)))
    }
}

impl Machine {
    /// What `node` says of itself.
    pub fn of(node: &SlimNode) -> Self {
        let cores = node.status.allocatable.get("cpu").and_then(|cores| Quantity(cores.clone()).to_f64().ok());
        Self { cores, sharing: sharing::said(node) }
    }
}

/// What a GPU of `pool` costs an hour; none where it does not say so in a way that can be read.
pub fn price(pool: &GpuPoolSpec) -> Option<Money> {
    Money::of(pool.price_per_gpu_hour.as_ref()?.to_f64().ok()?)
}

/// The target that a pod belongs to: its `StatefulSet`, or the Deployment of its `ReplicaSet`, whose name ends with the hash
/// that the pod carries too.
fn owner_of(pod: &SlimPod) -> Option<TargetKey> {
    let owner = pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let namespace = pod.metadata.namespace.clone()?;
    match owner.kind.as_str() {
        "StatefulSet" => Some((namespace, owner.kind.clone(), owner.name.clone())),
        "ReplicaSet" => {
            let hash = pod.metadata.labels.as_ref()?.get("pod-template-hash")?;
            let name = owner.name.strip_suffix(hash.as_str())?.strip_suffix('-')?;
            Some((namespace, "Deployment".to_owned(), name.to_owned()))
        }
        _ => None,
    }
}

/// Succeeded or failed: holds no GPU any more. A pod that is being deleted still holds its GPUs.
pub fn is_over(pod: &SlimPod) -> bool {
    matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")
}

fn takes_pods(node: &SlimNode) -> bool {
    let ready = StatusCondition::holds(&node.status.conditions, "Ready").is_some();
    ready && !node.spec.unschedulable && allocatable(node) > 0
}

fn allocatable(node: &SlimNode) -> u32 {
    node.status.allocatable.get(GPU).and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn belongs(node: &SlimNode, pool: &GpuPoolSpec) -> bool {
    let label = |name: &str| node.metadata.labels.as_ref().and_then(|labels| labels.get(name));
    let selected = pool.node_selector.iter().all(|(name, value)| label(name) == Some(value));
    let Some(shape) = &pool.gpus else { return selected };
    let product = shape.product.as_ref().is_none_or(|product| label("nvidia.com/gpu.product") == Some(product));
    let memory = shape.memory.is_none_or(|least| {
        label("nvidia.com/gpu.memory")
            .and_then(|memory| memory.parse::<i64>().ok())
            .is_some_and(|memory| memory >= least)
    });
    let enough = shape.per_node.is_none_or(|least| i64::from(allocatable(node)) >= i64::from(least));
    selected && product && memory && enough
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn node(memory: &str, gpus: &str) -> SlimNode {
        let labels = json!({ "pool": "a", "nvidia.com/gpu.product": "H100", "nvidia.com/gpu.memory": memory });
        let node = json!({ "metadata": { "labels": labels }, "status": { "allocatable": { "nvidia.com/gpu": gpus } } });
        serde_json::from_value(node).unwrap()
    }

    fn pool(gpus: &Value) -> GpuPoolSpec {
        let pool = json!({ "capacityType": "OnDemand", "nodeSelector": { "pool": "a" }, "gpus": gpus });
        serde_json::from_value(pool).unwrap()
    }

    #[test]
    fn a_node_belongs_to_a_pool_only_if_its_gpus_are_of_that_shape() {
        let big = node("81559", "8");

        assert!(belongs(&big, &pool(&json!({ "product": "H100", "memory": 80_000, "perNode": 8 }))));
        assert!(!belongs(&big, &pool(&json!({ "product": "A100" }))));
        assert!(!belongs(&node("40960", "8"), &pool(&json!({ "memory": 80_000 }))));
        assert!(!belongs(&node("81559", "4"), &pool(&json!({ "perNode": 8 }))));
        assert!(!belongs(&node("", "8"), &pool(&json!({ "memory": 1 }))), "an unknown memory is not enough");
    }

    fn asking(resource: &str, count: &str) -> Value {
        json!({ "containers": [{ "name": "log" }, { "name": "main", "resources": { "limits": { resource: count } } }] })
    }

    #[test]
    fn parts_of_gpus_are_accepted_and_take_no_whole_gpu_of_their_node() {
        let asked = |resource: &str| {
            let spec = json!({ "template": { "spec": asking(resource, "2") } });
            let meta = ObjectMeta { name: Some("a".into()), namespace: Some("demo".into()), ..ObjectMeta::default() };
            let mut catalog = Catalog::default();
            catalog.target("Deployment", &meta, &serde_json::from_value(spec).unwrap(), &TargetStatus::default());
            let target = catalog.targets.values().next().unwrap();
            (target.gpus, target.whole, target.container.clone())
        };
        let free = |resource: &str| {
            let mut node = node("81559", "8");
            node.metadata.name = Some("n".into());
            node.status.conditions.push(serde_json::from_value(json!({ "type": "Ready", "status": "True" })).unwrap());
            let mut spec = asking(resource, "2");
            spec["nodeName"] = "n".into();
            let pod = serde_json::from_value(json!({ "metadata": {}, "spec": spec })).unwrap();
            let mut catalog = Catalog::default();
            catalog.nodes(&[Arc::new(node)], &[Arc::new(pod)]);
            (catalog.nodes[&NodeName("n".into())].free, catalog.gpus_asked["n"])
        };

        assert_eq!((asked("nvidia.com/gpu"), free("nvidia.com/gpu")), ((2, true, "main".into()), (Gpus(6), 2)));
        for part in ["nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"] {
            assert_eq!((asked(part), free(part)), ((2, false, "main".into()), (Gpus(8), 2)), "{part}");
        }
    }

    #[test]
    fn a_pod_belongs_to_the_deployment_of_its_replica_set_not_to_one_with_a_longer_name() {
        let pod = json!({ "metadata": { "namespace": "demo", "labels": { "pod-template-hash": "5d" },
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "train-2-5d", "uid": "u", "controller": true }] } });
        let owner = owner_of(&serde_json::from_value(pod).unwrap());

        assert_eq!(owner, Some(("demo".to_owned(), "Deployment".to_owned(), "train-2".to_owned())));
    }
}
