//! Looks → opinions, for 10,000 workloads of one pod with eight GPUs each.

use crate::counting::calls;
use criterion::Criterion;
use jiff::{SignedDuration, Timestamp};
use std::hint::black_box;
use std::time::{Duration, Instant};
use wellfed::evidence::{History, Metric, OwnSaid, Slice, Watched, WatchedPod};
use wellfed_engine::evidence::{Evidence, ServerEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::Lean;
use wellfed_engine::policy::{Class, GateMode, GatePolicy, OnUnknown};
use wellfed_engine::rules::Thresholds;
use wellfed_engine::span::Span;
use wellfed_engine::stance::Stances;

const WORKLOADS: usize = 10_000;
const GPUS: usize = 8;
const MINUTES: i64 = 10;
/// All of them judged, best of five.
const LIMIT: Duration = Duration::from_millis(150);
/// Gathering the evidence on all of them, best of five: a tenth of a second here, and the lane has a minute.
const GATHER_LIMIT: Duration = Duration::from_millis(300);
/// Allocations while a workload is judged about which no rule has anything to say.
const ALLOCATIONS: usize = 0;
/// The same of one that has lost one source: it is judged once more as if that had spoken against no cause, whatever its
/// size. Twice where memory bandwidth is lost, which may have been high or low.
const ALLOCATIONS_LOST: usize = 8;
const START: Timestamp = Timestamp::constant(1_800_000_000, 0);

/// Whether the limits hold. Not `whole`: only that it runs, and the one that takes no clock.
pub fn run(whole: bool) -> bool {
    let size = if whole { WORKLOADS } else { 20 };
    let (history, watched) = (history(size), watched(size));
    let evidence = || -> Vec<Evidence> { watched.iter().filter_map(|one| history.evidence(one)).collect() };
    let seen = evidence();
    let refused = seen.iter().filter(|seen| matches!(judge(seen).lean, Lean::Refuse(_))).count();
    let quiet = seen.iter().find(|seen| judge(seen).findings.is_empty());
    let (Some(quiet), true) = (quiet, seen.len() == size && refused == size / 4) else {
        eprintln!("the evidence is not as it should be: {} of {size}, {refused} refused", seen.len());
        return false;
    };
    let frugal = shapes(quiet).iter().all(Shape::is_frugal);
    if !whole {
        return frugal;
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    criterion.bench_function("judge 10,000 workloads of 8 GPUs", |bencher| {
        bencher.iter_with_large_drop(|| seen.iter().map(judge).collect::<Vec<_>>());
    });
    let gathered = best(|| evidence().len());
    let judged = best(|| seen.iter().map(|seen| judge(black_box(seen))).filter(|one| one.findings.is_empty()).count());
    println!("gather {MINUTES} looks: {gathered:.3?} of at most {GATHER_LIMIT:?}");
    println!("judge: {judged:.3?} of at most {LIMIT:?}");
    judged <= LIMIT && gathered <= GATHER_LIMIT && frugal
}

/// A workload about which nothing is found, and how often judging it may allocate.
struct Shape {
    name: &'static str,
    seen: Evidence,
    most: usize,
}

impl Shape {
    fn is_frugal(&self) -> bool {
        let (opinion, allocations) = calls(|| black_box(judge(black_box(&self.seen))));
        let (name, most, findings) = (self.name, self.most, opinion.findings.len());
        println!("allocations while nothing is found, {name}: {allocations} of at most {most}");
        if findings > 0 {
            eprintln!("{name}: {findings} findings, where there should be none: {:?}", opinion.findings);
        }
        findings == 0 && allocations <= most
    }
}

/// Even GPUs; GPUs whose activities and clocks are far apart, of which none is an outlier; a server that says all that a
/// server says, and whose queue is short; and each of them with a source that was lost.
fn shapes(even: &Evidence) -> Vec<Shape> {
    let uneven = uneven(even);
    let serving = serving(even);
    let shape = |name, seen: &Evidence, most| Shape { name, seen: seen.clone(), most };
    let mut lost = uneven.clone();
    lost.gpus.iter_mut().for_each(|gpu| (gpu.sm, gpu.sm_lost) = (None, true));
    let mut large = lost.clone();
    large.gpus = (0..32).flat_map(|_| lost.gpus.clone()).collect();
    large.expected_gpus = u32::try_from(large.gpus.len()).unwrap_or(u32::MAX);
    let mut cacheless = serving.clone();
    cacheless.servers.iter_mut().for_each(|one| (one.kv, one.kv_lost) = (None, true));
    vec![
        shape("even", even, ALLOCATIONS),
        shape("uneven", &uneven, ALLOCATIONS),
        shape("serving", &serving, ALLOCATIONS),
        shape("uneven, SM activity lost", &lost, ALLOCATIONS_LOST),
        shape("uneven and 32 times as large, SM activity lost", &large, ALLOCATIONS_LOST),
        shape("serving, KV cache lost", &cacheless, ALLOCATIONS_LOST),
    ]
}

/// Half of the GPUs 45 points and a quarter of the clock apart from the others: two halves, and no odd one.
fn uneven(even: &Evidence) -> Evidence {
    let mut seen = even.clone();
    for (place, gpu) in seen.gpus.iter_mut().enumerate() {
        let (engine, clock) = if place % 2 == 0 { (0.95, 1_900.0) } else { (0.5, 1_400.0) };
        (gpu.util, gpu.engine) = (Some(Span::exact(engine)), Some(Span::exact(engine)));
        gpu.clock = Some(Span::exact(clock));
    }
    seen
}

/// One replica that batches, with room in its cache and hardly a queue.
fn serving(even: &Evidence) -> Evidence {
    let exact = |value| Some(Span::exact(value));
    let server = ServerEvidence {
        running: exact(24.0),
        waiting: exact(0.2),
        batch: exact(24.0),
        kv: exact(0.4),
        preemptions: exact(0.0),
        progress: exact(900.0),
        queue_seconds: exact(0.01),
        first_token_seconds: exact(0.2),
        whole_seconds: exact(4.0),
        prompt_spread: exact(2.0),
        output_tokens: exact(300.0),
        output_cap: exact(512.0),
        ..ServerEvidence::default()
    };
    Evidence { class: Class::Inference, servers: vec![server], ..even.clone() }
}

fn best(work: impl Fn() -> usize) -> Duration {
    let runs = (0..5).map(|_| {
        let began = Instant::now();
        black_box(work());
        began.elapsed()
    });
    runs.min().unwrap_or(Duration::MAX)
}

fn pod(workload: usize) -> String {
    format!("train-{workload}-0")
}

/// A quarter waits for its data; the others work, about whom there is nothing to say.
fn history(size: usize) -> History {
    let mut history = History::every(SignedDuration::from_mins(1));
    for minute in 1..=MINUTES {
        let mut slice = Slice::ending(START + SignedDuration::from_mins(minute));
        for workload in 0..size {
            let (key, starved) = (("bench".to_owned(), pod(workload)), workload % 4 == 0);
            for gpu in 0..GPUS {
                let name = format!("GPU-{workload:08x}-{gpu}");
                for (metric, value) in gpu_values(starved) {
                    // Power that stands still is an exporter that does.
                    let moved = if metric == Metric::Power { value + 0.1 * minute as f64 } else { value };
                    slice.note_gpu(&key, &name, metric, moved);
                }
                slice.note_product(&name, "NVIDIA H100 80GB HBM3");
            }
            slice.note_container(&key, "main", Metric::Cores, if starved { 7.8 } else { 3.0 });
            slice.note_container(&key, "main", Metric::Throttled, if starved { 0.4 } else { 0.0 });
        }
        history.push(slice, SignedDuration::from_hours(2));
    }
    history
}

fn gpu_values(starved: bool) -> [(Metric, f64); 11] {
    let either = |hungry, fed| if starved { hungry } else { fed };
    [
        (Metric::Util, either(22.0, 60.0)),
        (Metric::Engine, either(0.22, 0.6)),
        (Metric::Swing, 0.05),
        (Metric::Sm, either(0.12, 0.55)),
        (Metric::Dram, either(0.05, 0.3)),
        (Metric::Tensor, either(0.04, 0.2)),
        (Metric::PcieRx, 1.0e8),
        (Metric::PcieTx, 1.0e8),
        (Metric::Memory, 0.6),
        (Metric::Clock, 1_900.0),
        (Metric::Power, either(200.0, 450.0)),
    ]
}

fn watched(size: usize) -> Vec<Watched> {
    let minute = SignedDuration::from_mins(1);
    let gate = GatePolicy {
        mode: GateMode::Enforce,
        window: minute * 10,
        expiry: minute * 30,
        spacing: minute / 2,
        warm_up: SignedDuration::ZERO,
        on_unknown: OnUnknown::Hold,
        thresholds: Thresholds::default(),
        stances: Stances::default(),
    };
    let one = |workload: usize| Watched {
        uid: format!("uid-{workload}"),
        namespace: "bench".to_owned(),
        class: Class::Training,
        gate,
        since: Some(START),
        pods: vec![WatchedPod {
            name: pod(workload),
            ready_since: START - minute,
            container: "main".to_owned(),
            cpu_limit: Some(8.0),
            cpu_at_hand: None,
            shared: false,
            gpus: u32::try_from(GPUS).unwrap_or(u32::MAX),
            node: None,
        }],
        exits: Vec::new(),
        own: OwnSaid::default(),
        weights: None,
        backlog_lasts: true,
        slo_breached: false,
        sharded: false,
        sources: wellfed_engine::evidence::Sources::default(),
    };
    (0..size).map(one).collect()
}
