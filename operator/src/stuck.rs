//! Why replicas can't run, as far as the cluster says.

use crate::catalog::{Catalog, Target, TargetKey};
use crate::slim::SlimPod;
use jiff::{SignedDuration, Timestamp};
use wellfed_engine::policy::PoolPolicy;
use wellfed_engine::world::{PoolState, Workload};

/// What waits this long is worth telling.
const WORTH_TELLING: SignedDuration = SignedDuration::from_secs(30);

/// Why pods can't run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// They can't be made.
    NotCreated(String),
    /// No node takes them.
    Unschedulable {
        /// How many.
        pods: usize,
        /// What the scheduler says.
        message: String,
    },
}

/// Why pods of `workload` can't run, if some can't; `targets` in the order of its pools.
pub fn stuck(targets: &[(TargetKey, Target)], workload: &Workload, catalog: &Catalog, now: Timestamp) -> Option<Stuck> {
    if let Some(message) = targets.iter().find_map(|(_, target)| target.failure.clone()) {
        return Some(Stuck::NotCreated(message));
    }
    let all = targets.iter().flat_map(|(key, _)| catalog.pods.get(key).into_iter().flatten());
    let waiting: Vec<_> = all.filter_map(|pod| unschedulable(pod, now)).collect();
    if let Some(message) = waiting.first() {
        return Some(Stuck::Unschedulable { pods: waiting.len(), message: (*message).to_owned() });
    }
    let mut pools = targets.iter().zip(&workload.policy.pools).zip(&workload.pools);
    pools.find_map(|(((key, _), policy), pool)| unmade(key, policy, pool, workload, now))
}

fn unschedulable(pod: &SlimPod, now: Timestamp) -> Option<&str> {
    let said = pod.status.conditions.iter().find(|one| one.kind == "PodScheduled" && one.status == "False")?;
    let since = said.last_transition_time.as_ref()?.0;
    (now.duration_since(since) >= WORTH_TELLING && pod.metadata.deletion_timestamp.is_none()).then_some(&said.message)
}

/// A `StatefulSet` has no condition for pods that it can't make. While one of its pods is not Ready it may just be waiting
/// for that one before it makes the next.
fn unmade(
    key: &TargetKey,
    policy: &PoolPolicy,
    pool: &PoolState,
    workload: &Workload,
    now: Timestamp,
) -> Option<Stuck> {
    let missing = pool.asked.minus(pool.live());
    let since = workload.unmade_since(policy)?;
    if missing.0 == 0 || pool.ready() < pool.live() || now.duration_since(since) < WORTH_TELLING {
        return None;
    }
    let (namespace, kind, name) = key;
    let describe = format!("kubectl -n {namespace} describe {} {name}", kind.to_lowercase());
    let message = format!(
        "{missing} of {} replicas of {kind} \"{name}\" have none; `{describe}` tells why (a quota, most often)",
        pool.asked
    );
    Some(Stuck::NotCreated(message))
}
