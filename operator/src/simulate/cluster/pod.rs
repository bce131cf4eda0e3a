//! One virtual pod.

use super::node::Seat;

/// Time that a pod has to finish what it serves when it is deleted (Kubernetes' default), seconds.
pub const GRACE: f64 = 30.0;

/// One virtual pod.
#[derive(Clone, Debug)]
pub struct VirtualPod {
    /// Its name, which is its uid too: no name comes twice.
    pub name: String,
    /// When it was made.
    pub made: f64,
    /// Where it sits; none while no node has room.
    pub seat: Option<Seat>,
    /// How far it has come.
    pub phase: Phase,
}

/// How far a virtual pod has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// Waits for a node.
    Pending,
    /// Loads; Ready at this second.
    Starting(f64),
    /// Ready since this second.
    Ready(f64),
    /// Finishes what it serves; gone at this second.
    Draining(f64),
}

impl VirtualPod {
    /// The order in which a `ReplicaSet` gives pods up: those without a node, those not Ready, then the youngest.
    pub fn dispensable(&self) -> (u8, f64) {
        match self.phase {
            Phase::Draining(_) | Phase::Pending => (0, -self.made),
            Phase::Starting(_) => (1, -self.made),
            Phase::Ready(since) => (2, -since),
        }
    }

    /// A replica: not being deleted.
    pub const fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Draining(_))
    }
}
