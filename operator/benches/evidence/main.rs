//! What the gate's lane costs in the largest cluster: reading one metric of 80,000 GPUs, keeping a window of all metrics, and
//! judging 10,000 workloads of 8 GPUs.
//!
//! Exits 1 when a limit is broken, so that it can stand in a pipeline.

mod counting;
mod judging;
mod reading;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

fn main() -> ExitCode {
    // The operator's main does this.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let whole = std::env::args().any(|argument| argument == "--bench");
    let read = reading::run(whole);
    let judged = judging::run(whole);
    if read && judged { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
