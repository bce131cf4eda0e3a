//! The costliest mistake: a service that is full and is told that it starves.

use super::exact;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::ops::Range;
use wellfed_engine::evidence::{
    ContainerEvidence, Evidence, Exits, GpuEvidence, ServerEvidence, TrainerEvidence, Trend,
};
use wellfed_engine::judge;
use wellfed_engine::opinion::Lean;
use wellfed_engine::policy::Class;
use wellfed_engine::testing::evidence;

/// Why a service is full, as ranges of what is measured of it.
#[derive(Clone, Debug)]
struct Full {
    sm: Range<f64>,
    dram: Range<f64>,
    tensor: Range<f64>,
    power: Range<f64>,
    running: Range<f64>,
    waiting: Range<f64>,
    kv: Range<f64>,
    /// The share of lives in which the exporter sends SM activity. In FP32 nothing else tells that the GPU is full.
    sm_sent: f64,
}

/// Long prompts: arithmetic, few at a time.
const PREFILL: Full = Full {
    sm: 0.5..1.0,
    dram: 0.1..0.6,
    tensor: 0.15..0.7,
    power: 0.5..1.0,
    running: 0.6..8.0,
    waiting: 1.0..200.0,
    kv: 0.05..0.6,
    sm_sent: 0.5,
};
/// Long answers: memory traffic, many at a time.
const DECODE: Full = Full {
    sm: 0.1..0.9,
    dram: 0.4..0.85,
    tensor: 0.01..0.2,
    power: 0.3..0.8,
    running: 6.0..256.0,
    waiting: 1.0..200.0,
    kv: 0.2..0.97,
    sm_sent: 0.5,
};
/// Long contexts: the KV cache takes one or two.
const KV_LIMITED: Full = Full {
    sm: 0.1..0.9,
    dram: 0.3..0.8,
    tensor: 0.01..0.3,
    power: 0.2..0.8,
    running: 0.9..3.0,
    waiting: 1.0..200.0,
    kv: 0.5..1.0,
    sm_sent: 0.5,
};
/// Everything is taken into the batch at once, and slows each other down there.
const ADMITTED: Full = Full { running: 8.0..256.0, waiting: 0.0..1.0, ..DECODE };
/// A model that leaves the tensor pipe alone and fills the SMs.
const FP32: Full = Full {
    sm: 0.8..1.0,
    dram: 0.05..0.39,
    tensor: 0.0..0.02,
    power: 0.5..1.0,
    running: 1.0..2.0,
    waiting: 1.0..200.0,
    kv: 0.0..0.5,
    sm_sent: 1.0,
};

/// Up to eight replicas that are all full in the same way, and in the same way seen; their CPUs do whatever they do.
fn full() -> impl Strategy<Value = Evidence> {
    let kind = prop_oneof![Just(PREFILL), Just(DECODE), Just(KV_LIMITED), Just(FP32), Just(ADMITTED)];
    let class = prop_oneof![3 => Just(Class::Inference), 1 => Just(Class::Batch), 1 => Just(Class::Training)];
    let told = (any::<bool>(), any::<bool>(), any::<bool>(), 0.0..1.0, 0.0..1.0);
    (kind, class, told).prop_flat_map(|(kind, class, (power_sent, slo_breached, sharded, heat, memory))| {
        let sent = prop::bool::weighted(kind.sm_sent);
        (vec(replica(&kind), 1..9), sent).prop_map(move |(replicas, sm_sent)| {
            let mut gpus: Vec<_> = replicas.iter().map(|(gpu, ..)| *gpu).collect();
            for gpu in &mut gpus {
                gpu.sm = gpu.sm.filter(|_| sm_sent);
                gpu.power = gpu.power.filter(|_| power_sent);
                // A model that is trained takes as much on each GPU, and one that is hot waits for the hottest: a GPU of
                // a trainer that alone is hot is a straggler. A trainer has no KV cache to be limited by.
                if class == Class::Training {
                    (gpu.clocks_held, gpu.memory) = (exact(heat), exact(memory));
                }
                if class == Class::Training && kind.kv.start >= 0.5 {
                    gpu.dram = exact(0.6);
                }
            }
            let containers: Vec<_> = replicas.iter().map(|(_, container, ..)| *container).collect();
            let servers =
                if class == Class::Training { Vec::new() } else { replicas.iter().map(|one| one.2).collect() };
            let trainers =
                if class == Class::Inference { Vec::new() } else { replicas.iter().map(|one| one.3).collect() };
            Evidence { servers, trainers, slo_breached, sharded, ..evidence(class, &gpus, &containers) }
        })
    })
}

fn replica(
    kind: &Full,
) -> impl Strategy<Value = (GpuEvidence, ContainerEvidence, ServerEvidence, TrainerEvidence)> + use<> {
    (gpu(kind), container(), server(kind), trainer())
}

fn gpu(kind: &Full) -> impl Strategy<Value = GpuEvidence> + use<> {
    let work = (0.8..1.0, kind.sm.clone(), kind.dram.clone(), kind.tensor.clone());
    let links = (0.0..0.4, option::of(0.0..0.9), 0.0..0.9, 0.0..4e9);
    let card = (0.0..1.0, 0.0..0.2, 0.0..0.9, 1_700.0..1_980.0);
    (work, kind.power.clone(), option::of(0.0..1.0), links, card).prop_map(
        |((engine, sm, dram, tensor), power, held, (swing, nvlink, pcie, rx), (memory, moving, fp32, clock))| {
            GpuEvidence {
                util: exact(1.0),
                engine: exact(engine),
                sm: exact(sm),
                dram: exact(dram),
                tensor: exact(tensor),
                pcie_rx: exact(rx),
                power: exact(power),
                clocks_held: held.and_then(exact),
                swing: exact(swing),
                nvlink: nvlink.and_then(exact),
                pcie: exact(pcie),
                memory: exact(memory),
                memory_swing: exact(moving),
                fp32: exact(fp32),
                clock: exact(clock),
                product: Some(1),
                ..GpuEvidence::default()
            }
        },
    )
}

fn container() -> impl Strategy<Value = ContainerEvidence> {
    let cpu = (0.5..8.0, option::weighted(0.7, Just(8.0)));
    let waits = (0.0..1.0, 0.0..1.0, 0.0..1.0, 0.0..5e9);
    (cpu, waits, 0_u32..2, 0_u32..2).prop_map(|((cores, limit), (throttled, pressure, io, network), failed, host)| {
        ContainerEvidence {
            cores: exact(cores),
            limit,
            at_hand: limit.is_none().then_some(96.0),
            throttled: exact(throttled),
            pressure: exact(pressure),
            io_pressure: exact(io),
            network: exact(network),
            exits: Exits { failed, host_memory: host, gpu_memory: 0 },
            ..ContainerEvidence::default()
        }
    })
}

/// Time in the queue and in service is to each other as what waits is to what runs (Little).
fn server(kind: &Full) -> impl Strategy<Value = ServerEvidence> + use<> {
    let requests = (kind.running.clone(), kind.waiting.clone(), kind.kv.clone(), 0.0..0.2, 1.0..9_000.0);
    let lengths = (1.0..20.0, 10.0..2_000.0, 1.0..40.0);
    (requests, lengths, 0.05..20.0, 0.01..1.0).prop_map(
        |((running, waiting, kv, out, progress), (spread, output, cap), service, first)| {
            let queue = service * waiting / running;
            ServerEvidence {
                running: exact(running),
                waiting: exact(waiting),
                kv: exact(kv),
                preemptions: exact(out),
                progress: exact(progress),
                queue_seconds: exact(queue),
                first_token_seconds: exact(queue + first * service),
                whole_seconds: exact(queue + service),
                prompt_spread: exact(spread),
                output_tokens: exact(output),
                output_cap: exact(output * cap),
                ..ServerEvidence::default()
            }
        },
    )
}

/// It hardly waits, its loss falls, and it may tell so or not.
fn trainer() -> impl Strategy<Value = TrainerEvidence> {
    let told = (option::of(0.0..0.19), option::of(0.9..0.998), option::of(1.002..1.2));
    (told, 0.1..5.0, 0.1..9e4).prop_map(|((wait, loss, quality), step, throughput)| TrainerEvidence {
        step_seconds: exact(step),
        data_wait_seconds: wait.and_then(|share| exact(share * step)),
        throughput: exact(throughput),
        loss: loss.map(|share| Trend::Moved { first: 2.0, last: 2.0 * share }),
        quality: quality.map(|share| Trend::Moved { first: 0.6, last: 0.6 * share }),
        ..TrainerEvidence::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: `serial` without the exemption by KV cache, `has_room` without its look at the tensor pipe or at the SMs,
    /// `small_kernels` without memory or tensor pipe, `no_progress` for inference that does not count, `idle` on what
    /// waits alone; `full` without its look at them or for every class,
    /// `undisturbed` for whoever runs, `held` without its look at the others, `at_work` left out of a counted wait.
    #[test]
    fn a_saturated_service_is_never_refused(seen in full()) {
        let opinion = judge(&seen);

        prop_assert!(opinion.lean == Lean::Allow, "{:?}\n{seen:#?}", opinion.lean);
    }
}
