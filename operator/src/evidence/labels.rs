//! Whose a series is: which of the label schemes of scraping carries the pod, and which GPU it is of.

use crate::signals::client::Labelled;

/// How a scrape of the exporter carries the pod that uses a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// `exported_pod`: the scrape did not honour the exporter's labels, and `pod` is the exporter itself.
    Exported,
    /// `pod_name`: the exporter's own old spelling.
    Old,
    /// `pod`: honoured, unless it is the exporter's own, which nobody's workload is.
    Honoured,
    /// No pod at all: an idle GPU, or the kubelet did not tell the exporter.
    Missing,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Exported, Self::Old, Self::Honoured, Self::Missing];

    /// The label that carries the pod.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Exported => "exported_pod",
            Self::Old => "pod_name",
            Self::Honoured => "pod",
            Self::Missing => "none",
        }
    }

    const fn labels(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Exported => Some(("exported_namespace", "exported_pod")),
            Self::Old => Some(("pod_namespace", "pod_name")),
            Self::Honoured => Some(("namespace", "pod")),
            Self::Missing => None,
        }
    }
}

/// A label that is there and not empty.
pub fn label<'a>(labels: &'a impl Labelled, name: &str) -> Option<&'a str> {
    labels.label(name).filter(|value| !value.is_empty())
}

/// The scheme that carries a pod here, the pod's namespace and its name.
pub fn owner(labels: &impl Labelled) -> Option<(Scheme, &str, &str)> {
    Scheme::ALL.into_iter().find_map(|scheme| {
        let (namespace, pod) = scheme.labels()?;
        Some((scheme, label(labels, namespace)?, label(labels, pod)?))
    })
}

/// The namespace and the name of the exporter, where the series tells it beside the pod that it is of.
pub fn exporter(labels: &impl Labelled) -> Option<(&str, &str)> {
    let (_, namespace, pod) = owner(labels)?;
    let (its_namespace, its_pod) = Scheme::Honoured.labels()?;
    let exporter = (label(labels, its_namespace)?, label(labels, its_pod)?);
    (exporter != (namespace, pod)).then_some(exporter)
}

/// Labels that carry a node's name, the first that a series has first.
const NODE: [&str; 3] = ["node", "nodename", "kubernetes_node"];

/// The node that a series of an exporter of nodes is of, by the label `first` or else by those that are common.
pub fn node<'a>(labels: &'a impl Labelled, first: Option<&str>) -> Option<&'a str> {
    first.into_iter().chain(NODE).find_map(|name| label(labels, name))
}

/// The address that was scraped, with and without its port. Where a scrape gives nodes no label of their own, its host is
/// the node's name, or the kernel's name of the node behind it is known.
pub fn instance(labels: &impl Labelled) -> Option<(&str, &str)> {
    let instance = label(labels, "instance")?;
    let host = instance.rsplit_once(':').map_or(instance, |(host, _)| host);
    Some((instance, host))
}

/// Writes the name of the GPU or MIG instance that a series is of; false where it names none.
pub fn gpu(labels: &impl Labelled, name: &mut String) -> bool {
    let Some(uuid) = label(labels, "UUID").or_else(|| label(labels, "gpu_uuid")) else { return false };
    name.clear();
    name.push_str(uuid);
    if let Some(instance) = label(labels, "GPU_I_ID") {
        name.push('/');
        name.push_str(instance);
    }
    true
}
