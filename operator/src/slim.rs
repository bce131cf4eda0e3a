//! Cluster objects, cut down to what a decision reads: most of a pod's bytes are never looked at.

use crate::rollout::UpdateStrategy;
use crate::templates::Template;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::Resource;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The resource that a GPU is asked for by.
pub const GPU: &str = "nvidia.com/gpu";
/// Where a `Deployment` bears the number of its pod template's revision.
pub const REVISION: &str = "deployment.kubernetes.io/revision";

macro_rules! slim {
    ($(#[$doc:meta])* $name:ident, $scope:ty, $group:literal, $version:literal, $kind:literal, $plural:literal, { $($body:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// Metadata, without managed fields and the annotations of others.
            pub metadata: ObjectMeta,
            $($body)*
        }

        impl Resource for $name {
            type DynamicType = ();
            type Scope = $scope;

            fn kind(_: &()) -> Cow<'_, str> {
                $kind.into()
            }
            fn group(_: &()) -> Cow<'_, str> {
                $group.into()
            }
            fn version(_: &()) -> Cow<'_, str> {
                $version.into()
            }
            fn plural(_: &()) -> Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

slim!(
    /// A pod.
    SlimPod, NamespaceResourceScope, "", "v1", "Pod", "pods", {
        /// What was asked for.
        #[serde(default)]
        pub spec: PodSpec,
        /// What became of it.
        #[serde(default)]
        pub status: PodStatus,
    }
);

slim!(
    /// A node.
    SlimNode, ClusterResourceScope, "", "v1", "Node", "nodes", {
        /// Whether it takes pods.
        #[serde(default)]
        pub spec: NodeSpec,
        /// What it has.
        #[serde(default)]
        pub status: NodeStatus,
    }
);

slim!(
    /// A `Deployment` to scale.
    SlimDeployment, NamespaceResourceScope, "apps", "v1", "Deployment", "deployments", {
        /// What was asked for.
        #[serde(default)]
        pub spec: TargetSpec,
        /// What became of it.
        #[serde(default)]
        pub status: TargetStatus,
    }
);

slim!(
    /// A `StatefulSet` to scale.
    SlimStatefulSet, NamespaceResourceScope, "apps", "v1", "StatefulSet", "statefulsets", {
        /// What was asked for.
        #[serde(default)]
        pub spec: TargetSpec,
        /// What became of it.
        #[serde(default)]
        pub status: TargetStatus,
    }
);

slim!(
    /// A `HorizontalPodAutoscaler`: another that may drive a target.
    SlimHpa, NamespaceResourceScope, "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", {
        /// What it drives.
        #[serde(default)]
        pub spec: HpaSpec,
        /// What it wishes.
        #[serde(default)]
        pub status: HpaStatus,
    }
);

slim!(
    /// A namespace: its labels.
    SlimNamespace, ClusterResourceScope, "", "v1", "Namespace", "namespaces", {}
);

slim!(
    /// A `ConfigMap`: the kill switch.
    SlimConfigMap, NamespaceResourceScope, "", "v1", "ConfigMap", "configmaps", {
        /// Its entries.
        #[serde(default)]
        pub data: BTreeMap<String, String>,
    }
);

/// What a pod asks for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// The node that it is bound to.
    pub node_name: Option<String>,
    /// Its containers.
    #[serde(default)]
    pub containers: Vec<Container>,
}

/// One container.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// What it asks for.
    #[serde(default)]
    pub resources: Resources,
}

/// Requests and limits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Resources {
    /// Guaranteed.
    #[serde(default)]
    pub requests: BTreeMap<String, String>,
    /// At most.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
}

/// What became of a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    /// Pending, Running, Succeeded, Failed or Unknown.
    #[serde(default)]
    pub phase: String,
    /// Its conditions.
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
    /// What became of its containers.
    #[serde(default)]
    pub container_statuses: Vec<ContainerStatus>,
}

/// What became of a container.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerStatus {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// What it does now.
    #[serde(default)]
    pub state: ContainerState,
    /// What it did before it was started again.
    #[serde(default)]
    pub last_state: ContainerState,
}

/// What a container does, as far as it ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ContainerState {
    /// How it ended, if it did.
    pub terminated: Option<Terminated>,
}

/// How a container ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Terminated {
    /// Zero for an end as it should be.
    #[serde(default)]
    pub exit_code: i32,
    /// In one word, such as `OOMKilled`.
    #[serde(default)]
    pub reason: String,
    /// Its last words: the end of its log, or what it wrote for this.
    #[serde(default)]
    pub message: String,
    /// When.
    pub finished_at: Option<Time>,
}

/// A condition of any object.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusCondition {
    /// Which.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    /// Why, in one word.
    #[serde(default)]
    pub reason: String,
    /// Why, in words.
    #[serde(default)]
    pub message: String,
    /// Since when.
    pub last_transition_time: Option<Time>,
}

/// Whether a node takes pods.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Cordoned.
    #[serde(default)]
    pub unschedulable: bool,
}

/// What a node has.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeStatus {
    /// What pods may ask for.
    #[serde(default)]
    pub allocatable: BTreeMap<String, String>,
    /// Its conditions.
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
}

/// What a target asks for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetSpec {
    /// Unset means one.
    pub replicas: Option<i32>,
    /// Which pods are its own.
    #[serde(default)]
    pub selector: LabelSelector,
    /// What its pods look like.
    #[serde(default)]
    pub template: Template,
    /// How its pods come to be made from a new template, if it is a `StatefulSet`.
    #[serde(default)]
    pub update_strategy: UpdateStrategy,
}

/// What became of a target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetStatus {
    /// The generation that the rest speaks of.
    #[serde(default)]
    pub observed_generation: Option<i64>,
    /// Pods that are not being deleted.
    #[serde(default)]
    pub replicas: i32,
    /// Those of them that are made from the present template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Its conditions.
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
}

/// What an HPA drives.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HpaSpec {
    /// Its target.
    #[serde(default)]
    pub scale_target_ref: HpaTarget,
}

/// An HPA's target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HpaTarget {
    /// Its kind.
    #[serde(default)]
    pub kind: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
}

/// What an HPA wishes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HpaStatus {
    /// Its desired number.
    pub desired_replicas: Option<i32>,
}

impl PodSpec {
    /// The GPUs that all containers ask for; a GPU's request equals its limit.
    pub fn gpus(&self) -> u32 {
        self.containers.iter().map(Container::gpus).fold(0, u32::saturating_add)
    }

    /// The first container that asks for GPUs.
    pub fn gpu_container(&self) -> Option<&Container> {
        self.containers.iter().find(|container| container.gpus() > 0)
    }
}

impl Container {
    fn gpus(&self) -> u32 {
        let asked = self.resources.limits.get(GPU).or_else(|| self.resources.requests.get(GPU));
        asked.and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// Cores that it may use; none without a limit.
    pub fn cpu_limit(&self) -> Option<f64> {
        let limit = self.resources.limits.get("cpu")?;
        wellfed_crds::Quantity(limit.clone()).to_f64().ok()
    }
}

impl StatusCondition {
    /// The condition of `kind` among `conditions`, if it is True.
    pub fn holds<'a>(conditions: &'a [Self], kind: &str) -> Option<&'a Self> {
        conditions.iter().find(|condition| condition.kind == kind && condition.status == "True")
    }
}
