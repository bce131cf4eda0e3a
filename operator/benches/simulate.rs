//! How long it takes to simulate fourteen days of one workload, wellfed's decisions included.
//!
//! Exits 1 when the limit is broken, so that it can stand in a pipeline.

use criterion::Criterion;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use wellfed::simulate::{Policy, Scenario, play};

/// Fourteen days, best of five.
const LIMIT: Duration = Duration::from_secs(2);

/// As in the operator's binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/simulate/diurnal-chat.yaml");
    let scenario = match Scenario::load(&file) {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let whole = std::env::args().any(|argument| argument == "--bench");
    let scenario = if whole { scenario } else { Scenario { length: 3_600.0, ..scenario } };
    if (f64::from(cycles(&scenario)) - scenario.length / scenario.cycle).abs() >= 1.0 {
        eprintln!("not every cycle was played");
        return ExitCode::FAILURE;
    }
    if !whole {
        return ExitCode::SUCCESS;
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    criterion.bench_function("simulate 14 days of one workload", |bencher| {
        bencher.iter(|| cycles(black_box(&scenario)));
    });
    let best = (0..5).map(|_| timed(&scenario)).min().unwrap_or(Duration::MAX);
    println!("simulate: {best:.3?} of at most {LIMIT:?}");
    if best <= LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Cycles that wellfed decided; none where the simulation failed.
fn cycles(scenario: &Scenario) -> u32 {
    let mut count = 0;
    let played = play(scenario, Policy::Wellfed, &mut |_, decisions| count += u32::from(!decisions.is_empty()));
    played.map_or(0, |_| count)
}

fn timed(scenario: &Scenario) -> Duration {
    let begin = Instant::now();
    black_box(cycles(scenario));
    begin.elapsed()
}
