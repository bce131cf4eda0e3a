//! How often a container ended within the window, by what ended it.

use serde::{Deserialize, Serialize};

/// Exits within the window, read from the pod's own status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exits {
    /// The GPU's memory did not suffice, by the container's own last words.
    pub gpu_memory: u32,
    /// The kernel killed it for its host memory.
    pub host_memory: u32,
    /// Any other failure.
    pub failed: u32,
}

/// How often the GPU containers of a pod ended that is not warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// How often, and why.
    pub exits: Exits,
    /// The pod is on GPUs that others use too: a neighbour may have taken the memory.
    pub shared: bool,
}

impl From<Exits> for Ended {
    fn from(exits: Exits) -> Self {
        Self { exits, shared: false }
    }
}
