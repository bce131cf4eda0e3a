//! A closed-loop GPU world: real pods on fake nodes, metrics from queueing models.

pub mod scenario;
pub mod sim;
