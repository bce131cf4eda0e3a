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
