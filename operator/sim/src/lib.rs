//! How GPU work behaves: causes in, work done and meters out. Queueing models without a clock or a network.
//!
//! A [`scenario`] names workloads and the causes that change: GPU time, batch cap, loader workers, storage rate,
//! arrivals. [`sim`] plays them for given replicas; [`meter`] reads what each GPU would show. `wellfed simulate`, the
//! corpus and the GPU world of the tests all play these.

// Counts here are small and positive: replicas, GPUs, ticks.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

pub mod flow;
pub mod meter;
pub mod product;
pub mod scenario;
pub mod sim;
