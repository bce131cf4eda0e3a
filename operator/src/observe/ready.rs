//! A workload's Ready pods, for the gate's lane.

use super::{Lookout, seen_pod, whereabouts};
use crate::catalog::{Target, TargetKey};
use crate::evidence::WatchedPod;
use crate::resources::cores;
use crate::sharing::Sharing;
use crate::slim::SlimPod;
use wellfed_engine::world::PodState;

/// Each as it is, which its template may not be: it may be older, and admission, a `LimitRange` and resizing change it.
pub(super) fn pods(targets: &[(TargetKey, Target)], look: &Lookout<'_>, sharing: &Sharing) -> Vec<WatchedPod> {
    let nodes = whereabouts(targets, look.catalog);
    let of = |(key, target): &(TargetKey, Target)| {
        let pods = look.catalog.pods.get(key).into_iter().flatten();
        let whereabouts = |pod: WatchedPod| WatchedPod { node: nodes.get(pod.name.as_str()).cloned(), ..pod };
        pods.filter_map(|pod| self::pod(pod, target, look, sharing)).map(whereabouts).collect::<Vec<_>>()
    };
    targets.iter().flat_map(of).collect()
}

/// None for one that is not Ready.
fn pod(pod: &SlimPod, target: &Target, look: &Lookout<'_>, sharing: &Sharing) -> Option<WatchedPod> {
    let seen = seen_pod(pod, look.now);
    let PodState::Ready { since } = seen.state else { return None };
    let container = pod.spec.gpu_container().map_or(&target.container, |container| &container.name);
    let resources = pod.resources(container);
    let cpu_limit = resources.and_then(|resources| resources.cpu_limit);
    let node = || look.catalog.machines.get(pod.spec.node_name.as_ref()?)?.cores;
    let at_hand = || resources.and_then(|resources| resources.cpu_request).map(cores).or_else(node);
    Some(WatchedPod {
        name: seen.name.0,
        ready_since: since,
        container: container.clone(),
        cpu_limit: cpu_limit.map(cores),
        cpu_at_hand: if cpu_limit.is_none() { at_hand() } else { None },
        gpus: pod.spec.gpus(),
        shared: sharing.of(pod),
        node: None,
    })
}
