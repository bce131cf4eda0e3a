//! A closed-loop GPU world: real pods on fake nodes, metrics from queueing models.
//!
//! A scenario names nodes, workloads and the causes that change. The world creates the nodes, watches the pods that a
//! real scheduler places on them, and serves what dcgm-exporter, cAdvisor, vLLM and a queue exporter would. A scenario
//! sets causes only (GPU time, batch cap, loader workers, storage rate, arrivals); every metric follows from the models.

// Counts here are small and positive: replicas, GPUs, ticks.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

pub mod cluster;
mod discovery;
mod exporters;
pub mod nodes;
mod rack;
mod run;
mod server;
pub mod view;
mod world;

pub use run::{StartError, WorldHandle};
pub use wellfed_sim::{product, scenario, sim};
pub use world::{World, WorldTruth};
