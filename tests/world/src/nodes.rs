//! Creates a scenario's nodes: fake ones, which KWOK keeps alive and runs pods on.

use crate::{product::Product, scenario::NodeGroup, view::GPU};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// Why a node could not be made.
#[derive(Debug, thiserror::Error)]
#[error(
    "node {name}: the API server refused it ({source}); check the group's labels, taints and quantities in the scenario"
)]
pub struct NodeError {
    /// The node.
    name: String,
    /// The server's words.
    source: kube::Error,
}

/// Creates the nodes of `group`, or brings existing ones of the same names in line.
pub async fn create(client: &Client, group: &NodeGroup) -> Result<(), NodeError> {
    let nodes: Api<Node> = Api::all(client.clone());
    for index in 0..group.count {
        let name = format!("{}-{index}", group.prefix);
        put(&nodes, &name, &manifest(&name, group)).await.map_err(|source| NodeError { name, source })?;
    }
    Ok(())
}

async fn put(nodes: &Api<Node>, name: &str, manifest: &Value) -> Result<(), kube::Error> {
    let node: Node = serde_json::from_value(manifest.clone()).map_err(kube::Error::SerdeError)?;
    match nodes.create(&PostParams::default(), &node).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            let apart = |part: &str| Patch::Merge(json!({part: manifest[part]}));
            nodes.patch(name, &PatchParams::default(), &apart("metadata")).await?;
            nodes.patch(name, &PatchParams::default(), &apart("spec")).await?;
            nodes.patch_status(name, &PatchParams::default(), &apart("status")).await?;
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// The node called `name` of `group`, as the API server takes it.
pub fn manifest(name: &str, group: &NodeGroup) -> Value {
    let memory = group.memory_mib.unwrap_or(Product::named(&group.product).memory_mib);
    let mut labels = json!({
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "type": "kwok",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": group.product,
        "nvidia.com/gpu.count": group.gpus.to_string(),
        "nvidia.com/gpu.memory": memory.to_string(),
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "single",
    });
    let capacity_label = group.cloud.capacity_label(group.capacity);
    let further = capacity_label.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    for (key, value) in further.chain(group.labels.clone()) {
        labels[key] = value.into();
    }
    let taints: Vec<_> = group.taints.iter().cloned().chain(group.cloud.capacity_taint(group.capacity)).collect();
    let resources = json!({
        "cpu": group.cpu,
        "memory": group.memory,
        "pods": "110",
        "ephemeral-storage": "1Ti",
        GPU: group.gpus.to_string(),
    });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"}},
        "spec": {"taints": taints},
        "status": {"capacity": resources, "allocatable": resources},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Capacity, Cloud};

    fn group(cloud: Cloud, capacity: Capacity) -> NodeGroup {
        let text = json!({"prefix": "n", "count": 1, "gpus": 8});
        NodeGroup { cloud, capacity, ..serde_json::from_value(text).unwrap() }
    }

    #[test]
    fn a_node_has_gpus_gfd_labels_and_the_mark_of_a_fake_one() {
        let node = manifest("n-0", &group(Cloud::AwsKarpenter, Capacity::OnDemand));

        assert_eq!(node["status"]["allocatable"]["nvidia.com/gpu"], "8");
        assert_eq!(node["metadata"]["annotations"]["kwok.x-k8s.io/node"], "fake");
        assert_eq!(node["metadata"]["labels"]["nvidia.com/gpu.memory"], "81559");
    }

    #[test]
    fn each_cloud_marks_spot_in_its_own_way() {
        let cases = [
            (Cloud::AwsKarpenter, "karpenter.sh/capacity-type", "spot"),
            (Cloud::Eks, "eks.amazonaws.com/capacityType", "SPOT"),
            (Cloud::Gke, "cloud.google.com/gke-spot", "true"),
            (Cloud::Aks, "kubernetes.azure.com/scalesetpriority", "spot"),
        ];
        for (cloud, key, value) in cases {
            assert_eq!(manifest("n-0", &group(cloud, Capacity::Spot))["metadata"]["labels"][key], value, "{cloud:?}");
        }
    }

    #[test]
    fn aks_taints_its_spot_nodes_by_itself() {
        let node = manifest("n-0", &group(Cloud::Aks, Capacity::Spot));

        assert_eq!(node["spec"]["taints"][0]["key"], "kubernetes.azure.com/scalesetpriority");
    }
}
