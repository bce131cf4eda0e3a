//! The gate's own lane: every minute one look at all GPUs and their CPUs, kept in slices, judged per workload.

mod assemble;
mod history;
mod lane;
mod metric;
#[cfg(test)]
mod tests;

pub use assemble::{Watched, WatchedPod};
pub use history::{History, Slice};
pub use lane::{LONGEST, Lane, Verdicts};
