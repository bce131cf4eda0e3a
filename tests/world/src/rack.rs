//! Which pod holds which GPU, and each GPU's meters.

use crate::view::{ClusterView, NodeView};
use std::collections::BTreeMap;
use wellfed_sim::meter::{Meter, Sample, digest};

/// The GPUs of one node.
#[derive(Clone, Debug)]
pub struct Rack {
    /// GFD's product name.
    pub product: String,
    /// Memory of each GPU, MiB.
    pub memory_mib: f64,
    /// By index.
    pub gpus: Vec<Gpu>,
}

/// One physical GPU.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// UUID, stable for a node name and index.
    pub uuid: String,
    /// PCI address.
    pub pci: String,
    /// Uid of the pod that holds it.
    pub owner: Option<String>,
    /// What the last collection found.
    pub sample: Option<Sample>,
    /// What it shows.
    pub meter: Meter,
}

/// All racks, by node. A pod keeps its GPUs for life.
#[derive(Clone, Debug, Default)]
pub struct Racks(pub BTreeMap<String, Rack>);

impl Racks {
    /// Frees the GPUs of gone pods and gives new pods the first free ones of their node, in order of start.
    pub fn follow(&mut self, view: &ClusterView) {
        self.0.retain(|node, _| view.nodes.contains_key(node));
        for (name, node) in &view.nodes {
            self.0.entry(name.clone()).or_insert_with(|| Rack::new(name, node));
        }
        for (name, rack) in &mut self.0 {
            let here = || view.pods.iter().filter(|pod| pod.node == *name);
            for gpu in &mut rack.gpus {
                gpu.owner = gpu.owner.take().filter(|owner| here().any(|pod| pod.replica.uid == *owner));
            }
            here().for_each(|pod| rack.give(&pod.replica.uid, pod.replica.gpus));
        }
    }
}

impl Rack {
    fn new(name: &str, node: &NodeView) -> Self {
        let gpus = (0..node.gpus).map(|index| Gpu::new(name, index)).collect();
        Self { product: node.product.clone(), memory_mib: node.memory_mib, gpus }
    }

    fn give(&mut self, uid: &str, count: u32) {
        let held = self.gpus.iter().filter(|gpu| gpu.owner.as_deref() == Some(uid)).count();
        let free = self.gpus.iter_mut().filter(|gpu| gpu.owner.is_none());
        for gpu in free.take((count as usize).saturating_sub(held)) {
            gpu.owner = Some(uid.into());
            gpu.meter.another_owner();
        }
    }
}

impl Gpu {
    fn new(node: &str, index: u32) -> Self {
        let high = digest(&(node, index, "high"));
        let low = digest(&(node, index, "low"));
        let uuid = format!(
            "GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        );
        let pci = format!("00000000:{:02X}:00.0", 0x18 + 0x0d * index);
        Self { meter: Meter::of(uuid.as_str()), uuid, pci, owner: None, sample: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sim::Replica, view::PodView};

    fn pod(uid: &str, gpus: u32, started: i64) -> PodView {
        PodView { started, ..PodView::running(Replica::ready(uid, gpus, None)) }
    }

    fn view(pods: Vec<PodView>) -> ClusterView {
        let node = NodeView { gpus: 4, product: "NVIDIA-H100-80GB-HBM3".into(), memory_mib: 81_559.0, cpus: 16 };
        ClusterView { nodes: BTreeMap::from([("n1".into(), node)]), pods }
    }

    fn owners(racks: &Racks) -> Vec<&str> {
        racks.0["n1"].gpus.iter().map(|gpu| gpu.owner.as_deref().unwrap_or("-")).collect()
    }

    #[test]
    fn a_pod_keeps_its_gpus_when_an_older_neighbour_leaves() {
        let mut racks = Racks::default();
        racks.follow(&view(vec![pod("a", 1, 1), pod("b", 2, 2)]));
        assert_eq!(owners(&racks), ["a", "b", "b", "-"]);

        racks.follow(&view(vec![pod("b", 2, 2), pod("c", 2, 3)]));
        assert_eq!(owners(&racks), ["c", "b", "b", "c"]);
    }

    #[test]
    fn uuids_are_unique_and_the_same_in_every_run() {
        let mut racks = Racks::default();
        racks.follow(&view(vec![]));
        let uuids: Vec<&str> = racks.0["n1"].gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();

        assert_eq!(uuids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        assert_eq!(uuids[0], Gpu::new("n1", 0).uuid);
    }
}
