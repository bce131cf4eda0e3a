//! How long fourteen days of one workload take as a fluid, in steps of 15 s.
//!
//! Exits 1 when a limit is broken, so that it can stand in a pipeline.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use wellfed_sim::flow::{Flow, Inflow};
use wellfed_sim::scenario::Scenario;
use wellfed_sim::sim::{Replica, Tick};

const STEP: f64 = 15.0;
const FORTNIGHT: u32 = 14 * 24 * 240;
const REPLICAS: [usize; 2] = [16, 64];
/// With 64 replicas, best of five.
const LIMIT: Duration = Duration::from_secs(1);

const SCENARIO: &str = "
workloads:
- name: chat
  namespace: default
  selector: {matchLabels: {app: chat}}
  model: {llm: {modelName: m, prefillFixedMs: 20, prefillMsPerToken: 0.072, decodeFixedMs: 30.1,
    decodeMsPerSequence: 0.296, batchCap: 64, kvCapacityTokens: 400000, weightsGib: 17,
    tokenizer: {cores: 4, msPerRequest: 4}}}
  arrivals: {series: {file: servegen-m-large.csv, promptTokens: 914, outputTokens: 155}}
";

fn main() -> ExitCode {
    if !std::env::args().any(|argument| argument == "--bench") {
        // `cargo test --benches`: that it runs.
        return if play(2, 10) > 0.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let best = REPLICAS.map(|replicas| (replicas, best_of_five(replicas)));
    for (replicas, time) in best {
        println!("{replicas:>3} replicas over 14 days: {time:.3?}");
    }
    let worst = best[1].1;
    println!("{worst:.3?} of at most {LIMIT:?}");
    if worst <= LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[allow(clippy::disallowed_methods)] // a bench measures time
fn best_of_five(replicas: usize) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        assert!(play(replicas, FORTNIGHT) > 0.0);
        best = best.min(begun.elapsed());
    }
    best
}

/// Plays so many steps; returns how much was finished.
#[allow(clippy::unwrap_used)] // a bench may panic
fn play(replicas: usize, steps: u32) -> f64 {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("traces");
    let scenario = Scenario::parse(SCENARIO, "bench", &folder).unwrap();
    let workload = &scenario.workloads[0];
    let (mut flow, mut inflow) = (Flow::new(workload), Inflow::new(workload, &folder, 1).unwrap());
    let pods: Vec<_> = (0..replicas).map(|pod| Replica::ready(format!("chat-{pod}"), 8, Some(16.0))).collect();
    let mut ledgers = BTreeMap::new();
    for step in 0..steps {
        let from = f64::from(step) * STEP;
        flow.step(inflow.next(from, STEP), &pods, Tick { from, until: from + STEP }, &mut ledgers);
    }
    flow.finished()
}
