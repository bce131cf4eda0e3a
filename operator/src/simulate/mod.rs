//! `wellfed simulate`: the models of GPU work behind the real judge, decide, plan and remember, in simulated time.

pub mod baselines;
mod board;
mod cluster;
mod error;
mod figures;
mod hindsight;
mod lane;
mod lens;
mod operator;
pub mod optimum;
mod picture;
mod plant;
mod play;
mod report;
mod rivals;
pub mod sampler;
mod scenario;
mod series;
mod table;
#[cfg(test)]
mod tests;

pub use error::SimulateError;
pub use figures::Figures;
pub use hindsight::Hindsight;
pub use lens::Lens;
pub use play::{Fared, Witness, play};
pub use report::{PolicyReport, Report, WorkloadReport, simulate};
pub use rivals::Policy;
pub use scenario::Scenario;
pub use series::Point;
pub use table::table;
