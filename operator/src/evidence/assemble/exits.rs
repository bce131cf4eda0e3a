//! How often each pod's GPU container ended within the window, by what ended it.

use crate::evidence::watched::{ExitCause, Watched};
use jiff::Timestamp;
use std::collections::BTreeMap;
use wellfed_engine::evidence::Exits;

/// By pod, within the workload's window before `now`, and whether the pod's GPUs are shared.
pub fn within(workload: &Watched, now: Timestamp) -> BTreeMap<&str, (Exits, bool)> {
    let mut counts: BTreeMap<&str, (Exits, bool)> = BTreeMap::new();
    for exit in workload.exits.iter().filter(|exit| exit.at >= now - workload.gate.window) {
        let (exits, shared) = counts.entry(&exit.pod).or_default();
        *shared |= exit.shared;
        let count = match exit.cause {
            ExitCause::GpuMemory => &mut exits.gpu_memory,
            ExitCause::HostMemory => &mut exits.host_memory,
            ExitCause::Failed => &mut exits.failed,
        };
        *count = count.saturating_add(1);
    }
    counts
}
