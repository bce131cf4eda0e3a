//! One pod as the models see it.

use crate::scenario::Router;

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

/// The uids of the Ready replicas to which requests stick.
pub(super) fn stuck_to<'a>(router: Option<&Router>, replicas: &'a [Replica]) -> Vec<&'a str> {
    let count = router.map_or(0, |router| router.to as usize);
    let ready = replicas.iter().filter(|replica| replica.stage == Stage::Ready);
    ready.take(count).map(|replica| replica.uid.as_str()).collect()
}
