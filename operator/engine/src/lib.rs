//! The decisions of wellfed: pure functions over plain data. No Kubernetes, clock, environment or I/O.
//!
//! `Evidence` → [`judge`] → `Opinion`; `World` → [`decide`] → `Decision` → [`plan`] → `Plan`; [`remember`] keeps what
//! the next decision needs.

pub mod card;
mod changes;
pub mod commands;
pub mod decide;
pub mod decision;
mod desires;
pub mod evidence;
pub mod explain;
pub mod facts;
pub mod figures;
pub mod finding;
pub mod gate;
mod growth;
pub mod hash;
mod judge;
mod ledger;
pub mod memory;
pub mod money;
pub mod opinion;
pub mod overrides;
pub mod plan;
pub mod policy;
pub mod reading;
pub mod remedies;
mod remember;
pub mod rules;
pub mod savings;
pub mod sizing;
pub mod span;
pub mod steps;
#[doc(hidden)]
pub mod testing;
pub mod units;
pub mod world;
mod xids;

pub use decide::decide;
pub use judge::judge;
pub use ledger::Ledger;
pub use plan::plan;
pub use remember::remember;
