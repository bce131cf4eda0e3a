//! A workload's Ready pods, for the gate's lane.

use super::{Lookout, asked_by, seen_pod};
use crate::catalog::{Catalog, Target, TargetKey};
use crate::evidence::{WatchedPod, Whereabouts};
use crate::resources::cores;
use crate::sharing::Sharing;
use crate::slim::SlimPod;
use std::collections::HashMap;
use std::sync::Arc;
use wellfed_engine::world::PodState;

/// Each as it is, which its template may not be: it may be older, and admission, a `LimitRange` and resizing change it.
pub(super) fn pods(targets: &[(TargetKey, Target)], look: &Lookout<'_>, sharing: &Sharing) -> Vec<WatchedPod> {
    let asked = asked_by(targets, look.catalog);
    let of = |(key, target): &(TargetKey, Target)| {
        let pods = look.catalog.pods.get(key).into_iter().flatten();
        let node = |pod: &SlimPod| whereabouts(pod, look.catalog, &asked);
        let ready = |pod: &Arc<SlimPod>| Some(WatchedPod { node: node(pod), ..self::pod(pod, target, look, sharing)? });
        pods.filter_map(ready).collect::<Vec<_>>()
    };
    targets.iter().flat_map(of).collect()
}

/// Its node, and whether all GPUs that are asked for there, and all parts of GPUs, are asked for by the same workload. One whose GPUs are
/// asked for in another way does not show whose the rest of them are.
pub(super) fn whereabouts(pod: &SlimPod, catalog: &Catalog, asked: &HashMap<&str, u32>) -> Option<Whereabouts> {
    let name = pod.spec.node_name.as_ref()?;
    let ours = asked.get(name.as_str()).copied().unwrap_or(0);
    let own = ours > 0 && catalog.gpus_asked.get(name).copied().unwrap_or(0) <= ours;
    Some(Whereabouts { name: name.clone(), own })
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
