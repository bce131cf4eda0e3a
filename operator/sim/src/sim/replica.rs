//! One pod as the models see it.

use crate::scenario::{CpuPool, Router};

/// Where a replica is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Bound to a node but not Ready: the image, the weights or the data set is being loaded.
    Starting,
    /// Takes work.
    Ready,
    /// Being deleted: finishes what runs, takes nothing new.
    Draining,
}

/// One pod as the models see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    /// The pod's uid: a new pod of an old name is a new replica.
    pub uid: String,
    /// Where it is in its life.
    pub stage: Stage,
    /// GPUs of the pod.
    pub gpus: u32,
    /// CPU limit of the GPU container in cores; `None` when it has none.
    pub cpu_limit: Option<f64>,
}

impl Replica {
    /// A Ready replica, for tests and virtual runs.
    pub fn ready(uid: impl Into<String>, gpus: u32, cpu_limit: Option<f64>) -> Self {
        Self { uid: uid.into(), stage: Stage::Ready, gpus, cpu_limit }
    }
}

/// Cores of a pool for each of the Ready replicas.
pub(super) fn shares(pool: Option<&CpuPool>, replicas: &[Replica]) -> Option<f64> {
    let ready = replicas.iter().filter(|replica| replica.stage == Stage::Ready).count();
    pool.map(|pool| pool.cores / ready.max(1) as f64)
}

/// The smaller of two limits, where there is any.
pub(super) fn tighter(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).min_by(f64::total_cmp)
}

/// The uids of the Ready replicas to which requests stick.
pub(super) fn stuck_to<'a>(router: Option<&Router>, replicas: &'a [Replica]) -> Vec<&'a str> {
    let count = router.map_or(0, |router| router.to as usize);
    let ready = replicas.iter().filter(|replica| replica.stage == Stage::Ready);
    ready.take(count).map(|replica| replica.uid.as_str()).collect()
}
