//! Whether a GPU is one pod's alone: what its node's labels say of each resource, and what they said within a day.

use crate::catalog::Catalog;
use crate::evidence::REMEMBERED;
use crate::resources::{SHARED, is_gpu};
use crate::slim::{SlimNode, SlimPod};
use jiff::Timestamp;
use std::collections::{BTreeMap, HashMap};

/// How GPU feature discovery ends the product of what is sliced in time, or shared through MPS.
const SHARED_PRODUCT: &str = "-SHARED";
/// Every GPU of the node is a part of one, which other machines use too; or MPS serves several on each.
const OF_THE_NODE: [&str; 2] = ["nvidia.com/vgpu.present", "nvidia.com/mps.capable"];
/// Of GPU feature discovery: time-slicing, mps, or none.
const STRATEGY: &str = "nvidia.com/gpu.sharing-strategy";
/// Of GKE: only on nodes whose GPUs are shared.
const GKE_STRATEGY: &str = "cloud.google.com/gke-gpu-sharing-strategy";

/// What the labels of a node say of each resource of GPUs that it has; nothing where they say nothing.
pub fn said(node: &SlimNode) -> BTreeMap<String, bool> {
    let Some(labels) = &node.metadata.labels else { return BTreeMap::new() };
    let resources = node.status.allocatable.keys().filter(|resource| is_gpu(resource));
    resources.filter_map(|resource| Some((resource.clone(), of_resource(labels, resource)?))).collect()
}

fn of_resource(labels: &BTreeMap<String, String>, resource: &str) -> Option<bool> {
    let label = |name: &str| labels.get(name).map(String::as_str);
    let own = |part: &str| label(&[resource, part].concat());
    let replicas = own(".replicas").and_then(|count| count.parse::<u32>().ok());
    let shared = [
        replicas.map(|count| count > 1),
        own(".product").and_then(|product| product.ends_with(SHARED_PRODUCT).then_some(true)),
        label(STRATEGY).map(|strategy| strategy != "none"),
        label(GKE_STRATEGY).map(|_| true),
    ];
    let of_the_node = OF_THE_NODE.map(|name| (label(name) == Some("true")).then_some(true));
    shared.into_iter().chain(of_the_node).flatten().reduce(|one, other| one || other)
}

/// The resources that each node said to be shared, and when last.
#[derive(Debug, Default)]
pub struct Sharing(HashMap<String, BTreeMap<String, Timestamp>>);

impl Sharing {
    /// Takes in what all nodes say now. One that says nothing, as after a restart of what discovers it, is believed to be as it
    /// was for a day; one that says no is not shared.
    pub fn see(&mut self, catalog: &Catalog, now: Timestamp) {
        for (node, machine) in &catalog.machines {
            for (resource, shared) in &machine.sharing {
                if *shared {
                    self.0.entry(node.clone()).or_default().insert(resource.clone(), now);
                } else if let Some(known) = self.0.get_mut(node) {
                    known.remove(resource);
                }
            }
        }
        self.0.retain(|_, known| {
            known.retain(|_, at| now.duration_since(*at) <= REMEMBERED);
            !known.is_empty()
        });
    }

    /// Whether others may use the GPUs of `pod` too.
    pub fn of(&self, pod: &SlimPod) -> bool {
        let known = pod.spec.node_name.as_ref().and_then(|node| self.0.get(node));
        let shared =
            |resource: &str| resource.ends_with(SHARED) || known.is_some_and(|known| known.contains_key(resource));
        pod.spec.gpus_by_resource().any(|(resource, _)| shared(resource))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Machine;
    use jiff::SignedDuration;
    use serde_json::json;

    fn node(resource: &str, labels: &[(&str, &str)]) -> BTreeMap<String, bool> {
        let labels: BTreeMap<_, _> = labels.iter().copied().collect();
        let node =
            json!({ "metadata": { "labels": labels }, "status": { "allocatable": { resource: "8", "cpu": "64" } } });
        said(&serde_json::from_value(node).unwrap())
    }

    fn of(resource: &str, labels: &[(&str, &str)]) -> Option<bool> {
        node(resource, labels).get(resource).copied()
    }

    #[test]
    fn each_label_that_tells_of_sharing_is_read() {
        const WHOLE: [(&str, &str); 2] =
            [("nvidia.com/gpu.replicas", "1"), ("nvidia.com/gpu.sharing-strategy", "none")];
        let with = |label| of("nvidia.com/gpu", &[&WHOLE[..], &[label]].concat());

        assert_eq!(with(("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3")), Some(false));
        assert_eq!(with(("nvidia.com/gpu.replicas", "4")), Some(true));
        assert_eq!(with(("nvidia.com/gpu.sharing-strategy", "time-slicing")), Some(true));
        assert_eq!(with(("nvidia.com/gpu.sharing-strategy", "mps")), Some(true));
        assert_eq!(with(("nvidia.com/gpu.product", "Tesla-T4-SHARED")), Some(true));
        assert_eq!(with(("nvidia.com/vgpu.present", "true")), Some(true));
        assert_eq!(with(("nvidia.com/vgpu.present", "false")), Some(false));
        assert_eq!(with(("cloud.google.com/gke-gpu-sharing-strategy", "time-sharing")), Some(true));
        assert_eq!(of("nvidia.com/gpu", &[("pool", "a")]), None, "nobody says");
        assert_eq!(of("nvidia.com/gpu", &[("nvidia.com/gpu.replicas", "0")]), Some(false), "sharing is off");
    }

    #[test]
    fn an_instance_is_its_pods_own_unless_instances_like_it_are_replicated() {
        let single = [("nvidia.com/mig.strategy", "mixed"), ("nvidia.com/mig-1g.10gb.replicas", "1")];

        assert_eq!(of("nvidia.com/mig-1g.10gb", &single), Some(false));
        assert_eq!(of("nvidia.com/mig-1g.10gb", &[("nvidia.com/mig-1g.10gb.replicas", "2")]), Some(true));
    }

    fn pod(resource: &str) -> SlimPod {
        let container = json!({ "name": "main", "resources": { "limits": { resource: "1" } } });
        serde_json::from_value(json!({ "metadata": {}, "spec": { "nodeName": "n", "containers": [container] } }))
            .unwrap()
    }

    #[test]
    fn labels_that_are_away_are_believed_for_a_day_and_others_at_once() {
        let at = |hour: i64| Timestamp::constant(1_800_000_000, 0) + SignedDuration::from_hours(hour);
        let mut sharing = Sharing::default();
        let mut seen = |hour, labels: &[(&str, &str)]| {
            let machine = Machine { sharing: node("nvidia.com/gpu", labels), ..Machine::default() };
            let catalog = Catalog { machines: [("n".to_owned(), machine)].into(), ..Catalog::default() };
            sharing.see(&catalog, at(hour));
            sharing.of(&pod("nvidia.com/gpu"))
        };
        let sliced = [("nvidia.com/gpu.replicas", "4")];

        assert_eq!(
            [seen(0, &[]), seen(1, &sliced), seen(2, &[]), seen(25, &[]), seen(26, &[])],
            [false, true, true, true, false]
        );
        assert_eq!(
            [seen(30, &sliced), seen(31, &[("nvidia.com/gpu.replicas", "1")]), seen(32, &[])],
            [true, false, false]
        );
    }

    #[test]
    fn a_resource_may_tell_by_its_name() {
        let sharing = Sharing::default();

        assert!(sharing.of(&pod("nvidia.com/gpu.shared")) && sharing.of(&pod("nvidia.com/mig-1g.10gb.shared")));
        assert!(!sharing.of(&pod("nvidia.com/mig-1g.10gb")) && !sharing.of(&pod("nvidia.com/gpu")));
    }
}
