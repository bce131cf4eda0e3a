//! The gate's own lane: every minute one look at all GPUs, their CPUs, model servers and trainers, kept in arrays, judged per
//! workload.

mod assemble;
mod boards;
mod bounds;
mod history;
mod inherited;
mod labels;
mod lane;
mod last_seen;
mod metric;
mod names;
mod numbering;
mod own;
mod query;
mod recorded;
mod shown;
mod slice;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod units;
mod users;
mod watched;

pub use bounds::DIVERGED;
pub use history::History;
pub use labels::Scheme;
pub use lane::{LONGEST, Lane, Verdicts};
pub(crate) use last_seen::REMEMBERED;
pub use metric::{Metric, Subject};
pub(crate) use names::{TRITON_REQUESTS, TRITON_WHOLE};
pub(crate) use query::SCRAPED_BY;
pub use recorded::rules;
pub use shown::Shown;
pub use slice::{PodKey, Slice};
pub use watched::{Exit, ExitCause, OwnSaid, Watched, WatchedPod, Whereabouts};
