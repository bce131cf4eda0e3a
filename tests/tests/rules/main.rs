//! Each rule, from exposition text through a real Prometheus to what a user reads, and to the write that does not happen;
//! beside services that are full and grow, and what users may say to it.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot look has failed")]

mod advised;
mod causes;
mod exposition;
mod growth;
mod idle;
mod mended;
mod meters;
mod objective;
mod refusal;
mod saturated;
mod sharing;
mod shown;
mod stage;
mod thresholds;
mod unknown;
mod words;
