//! What is known of the node that a pod is on. It is measured of the node as a whole: what a neighbour does there shows too.

use super::{Samples, busier};
use crate::evidence::history::{History, Look};
use crate::evidence::metric::{Metric, Subject};
use crate::evidence::numbering::Id;
use crate::evidence::watched::WatchedPod;
use wellfed_engine::evidence::ContainerEvidence;
use wellfed_engine::span::Span;

impl History {
    /// Adds what the node of a container's pod measured: its storage and its RDMA ports only of looks in which no other
    /// workload had a GPU there; what its network card can carry of any.
    pub(super) fn add_node<'a>(
        &'a self,
        container: &mut ContainerEvidence,
        (id, pod): (Option<Id>, &WatchedPod),
        looks: &[&'a Look],
        samples: &mut Samples<'a>,
    ) {
        let Some(last) = looks.last() else { return };
        container.io_pressure_lost =
            container.io_pressure.is_none() && id.is_some_and(|id| self.measured_io(id, last.at));
        let Some(node) = pod.node.as_ref().and_then(|node| self.node(&node.name)) else { return };
        let [own, foreign] = Self::OWN_OR_NOT;
        samples.turn(looks, Subject::Node, Some(node), Some(foreign));
        let speed = samples.each(Metric::LinkSpeed).reduce(f64::max);
        samples.turn(looks, Subject::Node, Some(node), Some(own));
        let speed = samples.each(Metric::LinkSpeed).chain(speed).reduce(f64::max);
        container.node_iowait = samples.mean(Metric::Iowait);
        container.rdma = busier(samples.mean(Metric::RdmaRx), samples.mean(Metric::RdmaTx)).map(within_one);
        let measured = |metric| self.measured_node(node, metric, last.at);
        container.rdma_lost = container.rdma.is_none() && (measured(Metric::RdmaRx) || measured(Metric::RdmaTx));
        container.network_of_peak = container.network.zip(speed).map(|(network, speed)| network.scaled(1.0 / speed));
        container.network_peak_lost = speed.is_none() && self.measured_node(node, Metric::LinkSpeed, last.at);
    }
}

/// A direction that is not measured is full at most.
fn within_one(share: Span) -> Span {
    Span { high: share.high.min(1.0).max(share.mean), ..share }
}
