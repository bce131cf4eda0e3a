//! The wellfed operator. `cycle.rs` is the straight line; the decisions themselves are in the crate `wellfed-engine`.

pub mod apply;
pub mod catalog;
pub mod cli;
pub mod conditions;
pub mod config;
pub mod contest;
pub mod cycle;
pub mod events;
pub mod evidence;
pub mod failing;
pub mod health;
pub mod intent;
pub mod lease;
pub mod losses;
pub mod metrics;
pub mod observe;
pub mod pauses;
pub mod recall;
pub mod refusal;
pub mod report;
pub mod resolve;
pub mod run;
pub mod signals;
pub mod slim;
pub mod status;
pub mod watch;
