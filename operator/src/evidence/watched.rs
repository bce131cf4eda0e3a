//! Whom the lane judges: workloads whose gate is not off, as the last cycle saw them.

use jiff::Timestamp;
use wellfed_engine::evidence::{Demand, Sources};
use wellfed_engine::policy::{Class, GatePolicy};

/// A workload, and whether it wants to grow.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Its uid.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// What kind of work it is.
    pub class: Class,
    /// How it wants to be judged.
    pub gate: GatePolicy,
    /// Since when demand exceeds its target; none while nobody asks for more.
    pub since: Option<Timestamp>,
    /// Its Ready pods.
    pub pods: Vec<WatchedPod>,
    /// How the GPU containers of its pods ended lately, those that are not Ready included.
    pub exits: Vec<Exit>,
    /// What its own signals say of its work.
    pub own: OwnSaid,
    /// Gigabytes, of 10⁹ bytes, that the weights of its model take on each GPU; none where the model is not declared, or is
    /// split over the replicas.
    pub weights: Option<f64>,
    /// Demand exceeds its target now, and is no more than a tenth lower than when the window began.
    pub backlog_lasts: bool,
    /// A latency objective is exceeded, and for as long as it says.
    pub slo_breached: bool,
    /// Its owner declared that the model is split over the replicas.
    pub sharded: bool,
    /// What its evidence had at the last evaluation, as it is remembered.
    pub sources: Sources,
}

impl Watched {
    /// How its demand stands.
    pub(super) const fn demand(&self) -> Demand {
        if self.since.is_some() { Demand::Above } else { Demand::Met }
    }
}

/// What a workload's own signals say of its work, all replicas together; none where they say nothing to believe.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnSaid {
    /// Work done a second.
    pub throughput: Option<f64>,
    /// How far the run is from done; [`super::DIVERGED`] where that is no number.
    pub progress: Option<f64>,
    /// How good the results are, where more is better; likewise.
    pub quality: Option<f64>,
}

/// A Ready pod.
#[derive(Clone, Debug)]
pub struct WatchedPod {
    /// Its name.
    pub name: String,
    /// Since when it is Ready.
    pub ready_since: Timestamp,
    /// The container that uses its GPUs.
    pub container: String,
    /// Cores that this container may use.
    pub cpu_limit: Option<f64>,
    /// Cores that it can count on without a limit: those of its request, or else of its node; none with a limit.
    pub cpu_at_hand: Option<f64>,
    /// GPUs that it asks for.
    pub gpus: u32,
    /// Others may use them too, as its node or its resource says.
    pub shared: bool,
    /// The node that it is on, if it is known.
    pub node: Option<Whereabouts>,
}

/// The node of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// Its name.
    pub name: String,
    /// No pod of another workload has a GPU there: what the node as a whole measures is this workload's.
    pub own: bool,
}

/// How a GPU container ended once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its pod.
    pub pod: String,
    /// When.
    pub at: Timestamp,
    /// Of what.
    pub cause: ExitCause,
    /// Others may use the pod's GPUs too.
    pub shared: bool,
}

/// What ended a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// The GPU's memory did not suffice, by its own last words.
    GpuMemory,
    /// The kernel killed it for its host memory.
    HostMemory,
    /// Any other failure.
    Failed,
}
