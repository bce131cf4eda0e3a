//! The steps of a decision, one a file, in the order in which they run.

mod bounds;
mod capacity;
mod demand;
mod gate;
mod place;
mod pleas;
mod proposal;
mod slo;
mod split;
mod stabilise;

pub use bounds::{bounds, under_ceiling};
pub use capacity::capacity;
pub use demand::{Demand, FEW_IN, START_GRACE, demand};
pub use gate::{Ask, gate};
pub use pleas::{Pleas, SloPlea};
pub use proposal::{FIRST_SAMPLE, Gaps, Proposal, propose};
pub use slo::{SloSays, breached, slo};
pub use split::{Split, split};
pub use stabilise::stabilise;
