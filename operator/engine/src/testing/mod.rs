//! Builders for tests and benches: they say only what matters, everything else has a plain default.
//!
//! ```
//! use wellfed_engine::testing::{trainer, world};
//!
//! let decision = world().workload(trainer("vision-train").running(4).wanting(8)).decision("vision-train");
//! ```

mod evidence;
mod policy;
mod pool;
mod scenario;
mod signal;
mod workload;

pub use evidence::{busy_gpu, evidence, starved_gpu};
pub use policy::{behavior, gate, pace, percent, pods};
pub use pool::{PoolBuilder, in_pool, unlimited_pool};
pub use scenario::{Scenario, world};
pub use signal::{Signal, average, broken, each, latency, replicas, unread, value};
pub use workload::{WorkloadBuilder, batch, server, trainer};

use jiff::{SignedDuration, Timestamp};

/// When the scenarios begin.
pub const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

/// So many seconds after [`NOW`].
pub fn at(seconds: i64) -> Timestamp {
    NOW.saturating_add(secs(seconds)).unwrap_or(NOW)
}

/// So many seconds.
pub const fn secs(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}
