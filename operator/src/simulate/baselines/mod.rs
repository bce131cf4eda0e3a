//! The autoscalers that people run today, as rivals on the same arrivals. They share no code with the engine.

mod hpa;
mod keda;

#[cfg(test)]
mod tests;

pub use hpa::{Hpa, Metric};
pub use keda::Keda;

/// What a rival sees of one workload. Unknown is `None`, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Seconds since the start.
    pub now: f64,
    /// Replicas asked for: `spec.replicas`.
    pub current: u32,
    /// Those of them that are Ready.
    pub ready: u32,
    /// Share of time with a kernel on the GPU, mean over the Ready replicas, 0–1.
    pub utilisation: Option<f64>,
    /// Requests or samples that wait.
    pub queue: Option<f64>,
    /// Those, and requests that are being served.
    pub in_system: Option<f64>,
    /// A metric of each pod, if the rival reads one.
    pub rows: Rows,
}

/// What a Pods metric shows of the pods that are not being deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rows {
    /// The sum over running pods that have a row.
    pub sum: f64,
    /// Running pods that have a row.
    pub known: u32,
    /// Running pods that have none: those that load, and those that no scrape has reached yet.
    pub missing: u32,
    /// Pods without a node.
    pub pending: u32,
}

/// A rival, with what it remembers.
#[derive(Clone, Debug)]
pub enum Baseline {
    /// The same number, always.
    AlwaysOn(u32),
    /// The Horizontal Pod Autoscaler.
    Hpa(Hpa),
    /// A KEDA `ScaledObject` with `minReplicaCount: 0`.
    Keda(Keda),
}

impl Baseline {
    /// The replicas that it asks for now; `seen.current` whenever it does not look.
    pub fn desired(&mut self, seen: &Seen) -> u32 {
        match self {
            Self::AlwaysOn(peak) => *peak,
            Self::Hpa(hpa) => hpa.desired(seen),
            Self::Keda(keda) => keda.desired(seen),
        }
    }
}
