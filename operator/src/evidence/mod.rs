//! The gate's own lane: every minute one look at all GPUs, their CPUs and model servers, kept in slices, judged per workload.

mod assemble;
mod boards;
mod history;
mod lane;
mod metric;
mod names;
#[cfg(test)]
mod tests;

pub use assemble::{Watched, WatchedPod};
pub use history::{History, PodKey, Slice};
pub use lane::{LONGEST, Lane, Verdicts};
pub use metric::{Metric, Subject};
