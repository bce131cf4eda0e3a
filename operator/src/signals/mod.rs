//! Where numbers come from: one source a file.

pub mod client;
pub mod promql;
