//! The cluster as the world needs it: nodes with GPUs and the pods bound to them.

use crate::sim::{Replica, Stage};
use k8s_openapi::{
    api::core::v1::{Container, Node, Pod},
    apimachinery::pkg::api::resource::Quantity,
};
use std::collections::BTreeMap;

/// The resource that pods ask for.
pub const GPU: &str = "nvidia.com/gpu";

/// Nodes with GPUs and the live pods bound to them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterView {
    /// By name.
    pub nodes: BTreeMap<String, NodeView>,
    /// In order of start, then name.
    pub pods: Vec<PodView>,
}

/// A node with GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeView {
    /// GPUs.
    pub gpus: u32,
    /// GFD's product name.
    pub product: String,
    /// Memory of each GPU, MiB.
    pub memory_mib: f64,
    /// CPUs.
    pub cpus: u32,
}

/// A live pod bound to a node.
#[derive(Clone, Debug, PartialEq)]
pub struct PodView {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Its node.
    pub node: String,
    /// The container with the GPUs, else the first.
    pub container: String,
    /// That container's image.
    pub image: String,
    /// Whether its containers run.
    pub running: bool,
    /// Seconds since the epoch at which it was started or made.
    pub started: i64,
    /// How the models see it.
    pub replica: Replica,
}

impl ClusterView {
    /// The view of what a watch holds; nodes without all of `node_selector` and pods elsewhere are left out.
    pub fn of<'a>(
        nodes: impl Iterator<Item = &'a Node>,
        pods: impl Iterator<Item = &'a Pod>,
        node_selector: &BTreeMap<String, String>,
    ) -> Self {
        let chosen = |node: &&Node| {
            let labels = node.metadata.labels.as_ref();
            node_selector.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
        };
        let nodes: BTreeMap<String, NodeView> =
            nodes.filter(chosen).filter_map(|node| Some((node.metadata.name.clone()?, NodeView::of(node)?))).collect();
        let mut pods: Vec<PodView> = pods.filter_map(PodView::of).filter(|pod| nodes.contains_key(&pod.node)).collect();
        pods.sort_by(|one, other| (one.started, &one.name).cmp(&(other.started, &other.name)));
        Self { nodes, pods }
    }
}

impl NodeView {
    /// `None` for a node without GPUs.
    fn of(node: &Node) -> Option<Self> {
        let capacity = node.status.as_ref()?.capacity.as_ref()?;
        let gpus = capacity.get(GPU).and_then(amount).filter(|gpus| *gpus >= 1.0)?;
        let label = |key: &str| node.metadata.labels.as_ref().and_then(|labels| labels.get(key));
        Some(Self {
            gpus: gpus as u32,
            product: label("nvidia.com/gpu.product").map_or("NVIDIA-H100-80GB-HBM3", String::as_str).into(),
            memory_mib: label("nvidia.com/gpu.memory").and_then(|text| text.parse().ok()).unwrap_or(81_559.0),
            cpus: capacity.get("cpu").and_then(amount).map_or(1, |cpus| cpus.max(1.0) as u32),
        })
    }
}

impl PodView {
    /// One that runs on `n1` since the epoch, for tests.
    #[cfg(test)]
    pub(crate) fn running(replica: Replica) -> Self {
        Self {
            namespace: "demo".into(),
            name: replica.uid.clone(),
            labels: BTreeMap::new(),
            node: "n1".into(),
            container: "main".into(),
            image: "image".into(),
            running: true,
            started: 0,
            replica,
        }
    }

    /// `None` for a pod that is not bound or has ended.
    fn of(pod: &Pod) -> Option<Self> {
        let (spec, status) = (pod.spec.as_ref()?, pod.status.as_ref());
        let phase = status.and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
        if matches!(phase, "Succeeded" | "Failed") {
            return None;
        }
        let main = spec.containers.iter().find(|container| gpus(container) > 0).or(spec.containers.first())?;
        let started = status.and_then(|status| status.start_time.as_ref()).or(pod.metadata.creation_timestamp.as_ref());
        Some(Self {
            namespace: pod.metadata.namespace.clone()?,
            name: pod.metadata.name.clone()?,
            labels: pod.metadata.labels.clone().unwrap_or_default(),
            node: spec.node_name.clone()?,
            container: main.name.clone(),
            image: main.image.clone().unwrap_or_default(),
            running: phase == "Running",
            started: started.map_or(0, |time| time.0.as_second()),
            replica: Replica {
                uid: pod.metadata.uid.clone()?,
                stage: stage(pod),
                gpus: spec.containers.iter().map(gpus).sum(),
                cpu_limit: limit(main, "cpu"),
            },
        })
    }
}

fn stage(pod: &Pod) -> Stage {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
    match (pod.metadata.deletion_timestamp.is_some(), ready) {
        (true, _) => Stage::Draining,
        (false, true) => Stage::Ready,
        (false, false) => Stage::Starting,
    }
}

fn gpus(container: &Container) -> u32 {
    limit(container, GPU).map_or(0, |gpus| gpus as u32)
}

fn limit(container: &Container, resource: &str) -> Option<f64> {
    amount(container.resources.as_ref()?.limits.as_ref()?.get(resource)?)
}

/// A Kubernetes quantity as a number: `8`, `500m`, `2k`, `1e3`, `4Gi`.
fn amount(quantity: &Quantity) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 10] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("", 1.0),
    ];
    let (digits, factor) =
        SUFFIXES.iter().find_map(|(suffix, factor)| Some((quantity.0.strip_suffix(suffix)?, factor)))?;
    Some(digits.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(status: &serde_json::Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "chat-0", "namespace": "demo", "uid": "u1", "labels": {"app": "chat"}},
            "spec": {"nodeName": "n1", "containers": [
                {"name": "sidecar", "image": "log"},
                {"name": "vllm", "image": "vllm:v1", "resources": {"limits": {"nvidia.com/gpu": "2", "cpu": "7500m"}}}]},
            "status": status
        }))
        .unwrap()
    }

    fn node() -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n1", "labels": {"nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.memory": "23034"}},
            "status": {"capacity": {"nvidia.com/gpu": "8", "cpu": "48"}}
        }))
        .unwrap()
    }

    #[test]
    fn a_ready_pod_is_seen_by_the_container_that_has_the_gpus() {
        let ready = pod(&json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}));

        let view = ClusterView::of([node()].iter(), [ready].iter(), &BTreeMap::new());

        assert_eq!(view.nodes["n1"], NodeView { gpus: 8, product: "NVIDIA-L4".into(), memory_mib: 23034.0, cpus: 48 });
        assert_eq!(view.pods[0].container, "vllm");
        assert_eq!(view.pods[0].replica, Replica::ready("u1", 2, Some(7.5)));
    }

    #[test]
    fn a_pod_that_ended_or_runs_elsewhere_is_not_seen() {
        let ended = pod(&json!({"phase": "Succeeded"}));
        let elsewhere = pod(&json!({"phase": "Running"}));

        assert_eq!(ClusterView::of([node()].iter(), [ended].iter(), &BTreeMap::new()).pods, []);
        assert_eq!(ClusterView::of([].iter(), [elsewhere].iter(), &BTreeMap::new()).pods, []);
    }

    #[test]
    fn a_pod_that_is_not_ready_is_starting() {
        let view = ClusterView::of([node()].iter(), [pod(&json!({"phase": "Running"}))].iter(), &BTreeMap::new());

        assert_eq!(view.pods[0].replica.stage, Stage::Starting);
    }
}
