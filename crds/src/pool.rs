//! `GpuPool`: a set of nodes that replicas may run on.

use crate::quantity::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which nodes, and how much of them.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "wellfed.dev",
    version = "v1alpha1",
    kind = "GpuPool",
    shortname = "gpup",
    derive = "PartialEq",
    doc = "A set of GPU nodes of one kind, such as on-demand H100s, that workloads name as a pool.",
    printcolumn(name = "Capacity", type_ = "string", json_path = ".spec.capacityType"),
    printcolumn(name = "Product", type_ = "string", json_path = ".spec.gpus.product"),
    printcolumn(name = "Limit", type_ = "integer", json_path = ".spec.limits.gpus"),
    printcolumn(name = "Price", type_ = "string", json_path = ".spec.pricePerGpuHour"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.pricePerGpuHour) || quantity(string(self.pricePerGpuHour)).isGreaterThan(quantity('0'))")
    .message("pricePerGpuHour must be above zero: leave it out where the price is not known"))]
pub struct GpuPoolSpec {
    /// How these nodes are bought; shown in the pool's columns.
    pub capacity_type: CapacityType,
    /// Labels that every node of the pool has.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 16))]
    pub node_selector: BTreeMap<String, String>,
    /// What the nodes' GPUs must be like, besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<GpuShape>,
    /// The most that all workloads together may ask for here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<PoolLimits>,
    /// Namespaces whose workloads may name this pool. None means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// What one GPU costs an hour, such as `"6.88"`, in the currency of your choice, the same for every pool. None means that
    /// it is not known, and no money is shown where it would be needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_per_gpu_hour: Option<Quantity>,
}

/// How nodes are bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CapacityType {
    /// Until given back.
    OnDemand,
    /// Until reclaimed.
    Spot,
    /// Paid for in advance.
    Reserved,
}

/// What a node's GPUs must be like, by the labels of GPU feature discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuShape {
    /// `nvidia.com/gpu.product`, exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub product: Option<String>,
    /// At least this much memory a GPU, in MiB (`nvidia.com/gpu.memory`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub memory: Option<i64>,
    /// At least this many GPUs a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub per_node: Option<i32>,
}

/// The most that all workloads together may ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolLimits {
    /// GPUs.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub gpus: i32,
}
