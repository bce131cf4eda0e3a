//! The same scenarios with replicas that follow what is decided: judge, decide, plan and remember as the operator runs
//! them, in `wellfed simulate`'s harness.

mod played;
mod scenario;
mod sum;

pub use played::{Looped, followed, played};
pub use sum::{InLoop, LoopCounts};
