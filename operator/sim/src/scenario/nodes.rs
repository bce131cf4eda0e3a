//! Nodes that the world creates, labelled as the named cloud would label them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A group of equal nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeGroup {
    /// Nodes are named `<prefix>-0`, `<prefix>-1`, …
    pub prefix: String,
    /// How many.
    pub count: u32,
    /// GPUs of each node.
    pub gpus: u32,
    /// GFD's product name.
    #[serde(default = "product")]
    pub product: String,
    /// Memory of each GPU, MiB; the product's own when absent.
    #[serde(default)]
    pub memory_mib: Option<u32>,
    /// Whose labels the nodes carry.
    #[serde(default)]
    pub cloud: Cloud,
    /// How they are bought.
    #[serde(default)]
    pub capacity: Capacity,
    /// Further labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Taints.
    #[serde(default)]
    pub taints: Vec<NodeTaint>,
    /// Allocatable CPU, a Kubernetes quantity.
    #[serde(default = "cpu")]
    pub cpu: String,
    /// Allocatable memory, a Kubernetes quantity.
    #[serde(default = "memory")]
    pub memory: String,
}

/// A node taint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeTaint {
    /// Key.
    pub key: String,
    /// Value, may be empty.
    #[serde(default)]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// Whose labels tell a node's capacity type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cloud {
    /// Karpenter on AWS.
    #[default]
    AwsKarpenter,
    /// An EKS managed node group.
    Eks,
    /// A GKE node pool.
    Gke,
    /// An AKS node pool.
    Aks,
    /// No cloud: no capacity-type label at all.
    None,
}

/// How a node is bought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capacity {
    /// Paid by the hour, not taken back.
    #[default]
    OnDemand,
    /// Cheap, may be taken back.
    Spot,
}

impl Cloud {
    /// The label by which this cloud marks `capacity`; AKS and GKE do not mark each kind.
    pub fn capacity_label(self, capacity: Capacity) -> Option<(&'static str, &'static str)> {
        match (self, capacity) {
            (Self::AwsKarpenter, Capacity::OnDemand) => Some(("karpenter.sh/capacity-type", "on-demand")),
            (Self::AwsKarpenter, Capacity::Spot) => Some(("karpenter.sh/capacity-type", "spot")),
            (Self::Eks, Capacity::OnDemand) => Some(("eks.amazonaws.com/capacityType", "ON_DEMAND")),
            (Self::Eks, Capacity::Spot) => Some(("eks.amazonaws.com/capacityType", "SPOT")),
            (Self::Gke, Capacity::OnDemand) => Some(("cloud.google.com/gke-provisioning", "standard")),
            (Self::Gke, Capacity::Spot) => Some(("cloud.google.com/gke-spot", "true")),
            (Self::Aks, Capacity::Spot) => Some(("kubernetes.azure.com/scalesetpriority", "spot")),
            (Self::Aks, Capacity::OnDemand) | (Self::None, _) => None,
        }
    }

    /// The taint that this cloud puts on such nodes by itself.
    pub fn capacity_taint(self, capacity: Capacity) -> Option<NodeTaint> {
        (self == Self::Aks && capacity == Capacity::Spot).then(|| NodeTaint {
            key: "kubernetes.azure.com/scalesetpriority".into(),
            value: "spot".into(),
            effect: "NoSchedule".into(),
        })
    }
}

fn product() -> String {
    "NVIDIA-H100-80GB-HBM3".into()
}

fn cpu() -> String {
    "192".into()
}

fn memory() -> String {
    "2Ti".into()
}
