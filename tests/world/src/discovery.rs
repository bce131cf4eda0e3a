//! Prometheus's HTTP service discovery: which targets there are, with the labels that a service monitor would give them.

use crate::{
    sim::{Running, State},
    view::ClusterView,
};
use serde::Serialize;
use std::collections::BTreeMap;
use wellfed_sim::meter::digest;

/// One entry of the discovery's answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    targets: [String; 1],
    labels: BTreeMap<&'static str, String>,
}

fn target<const N: usize>(address: &str, labels: [(&'static str, String); N]) -> Target {
    Target { targets: [address.into()], labels: labels.into() }
}

/// One dcgm-exporter a node.
pub fn dcgm(view: &ClusterView, address: &str) -> Vec<Target> {
    let one = |node: &String| {
        target(
            address,
            [
                ("__metrics_path__", format!("/nodes/{node}/dcgm")),
                ("instance", format!("{node}:9400")),
                ("node", node.clone()),
                ("namespace", "gpu-operator".into()),
                ("service", "nvidia-dcgm-exporter".into()),
                ("pod", format!("nvidia-dcgm-exporter-{}", suffix(node))),
                ("container", "nvidia-dcgm-exporter".into()),
            ],
        )
    };
    view.nodes.keys().map(one).collect()
}

/// One kubelet a node.
pub fn cadvisor(view: &ClusterView, address: &str) -> Vec<Target> {
    let one = |node: &String| {
        target(
            address,
            [
                ("__metrics_path__", format!("/nodes/{node}/cadvisor")),
                ("metrics_path", "/metrics/cadvisor".into()),
                ("instance", format!("{node}:10250")),
                ("node", node.clone()),
            ],
        )
    };
    view.nodes.keys().map(one).collect()
}

/// One `node_exporter` a node, scraped by an address that tells nothing, as `kube-prometheus` does.
pub fn node(view: &ClusterView, address: &str) -> Vec<Target> {
    let one = |(index, node): (usize, &String)| {
        target(
            address,
            [
                ("__metrics_path__", format!("/nodes/{node}/node")),
                ("instance", format!("10.0.{}.{}:9100", index / 250, index % 250 + 1)),
                ("namespace", "monitoring".into()),
                ("pod", format!("node-exporter-{}", suffix(node))),
                ("container", "node-exporter".into()),
            ],
        )
    };
    view.nodes.keys().enumerate().map(one).collect()
}

/// One target for each running pod of a workload, and one queue exporter for each workload that has one.
pub fn pods(view: &ClusterView, workloads: &[Running], address: &str) -> Vec<Target> {
    let owned = |pod: &&crate::view::PodView| workloads.iter().any(|one| one.spec.owns(&pod.namespace, &pod.labels));
    let running = view.pods.iter().filter(|pod| pod.running).filter(owned).map(|pod| {
        target(
            address,
            [
                ("__metrics_path__", format!("/pods/{}/{}/metrics", pod.namespace, pod.name)),
                ("instance", format!("{}:8000", pod.name)),
                ("namespace", pod.namespace.clone()),
                ("pod", pod.name.clone()),
                ("container", pod.container.clone()),
                ("node", pod.node.clone()),
            ],
        )
    });
    let with_queue = workloads.iter().filter(|one| !matches!(one.state, State::Llm(_))).map(|one| {
        let (namespace, name) = (&one.spec.namespace, &one.spec.name);
        target(
            address,
            [
                ("__metrics_path__", format!("/queues/{namespace}/{name}/metrics")),
                ("instance", format!("queue-exporter-{name}:9419")),
                ("namespace", namespace.clone()),
                ("pod", format!("queue-exporter-{name}-{}", suffix(name))),
                ("container", "exporter".into()),
            ],
        )
    });
    running.chain(with_queue).collect()
}

/// Five letters as the API server would append, the same for the same name.
fn suffix(name: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rest = digest(&name);
    let letters = std::iter::repeat_with(|| {
        let letter = LETTERS[(rest % LETTERS.len() as u64) as usize];
        rest /= LETTERS.len() as u64;
        char::from(letter)
    });
    letters.take(5).collect()
}
