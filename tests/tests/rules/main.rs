//! Each cause that refuses, from exposition text through a real Prometheus to what a user reads, and to the write that
//! does not happen; beside a service that is full and grows.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot look has failed")]

mod causes;
mod exposition;
mod full;
mod stage;
