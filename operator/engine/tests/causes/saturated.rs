//! The costliest mistake: a service that is full and is told that it starves.

use super::exact;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::ops::Range;
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence};
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
    kv: 0.8..1.0,
    sm_sent: 0.5,
};
/// A model that leaves the tensor pipe alone.
const FP32: Full = Full {
    sm: 0.6..1.0,
    dram: 0.05..0.39,
    tensor: 0.0..0.02,
    power: 0.5..1.0,
    running: 1.0..2.0,
    kv: 0.0..0.5,
    sm_sent: 1.0,
};

/// Up to six replicas that are all full in the same way, and in the same way seen; their CPUs do whatever they do.
fn full() -> impl Strategy<Value = Evidence> {
    let kind = prop_oneof![Just(PREFILL), Just(DECODE), Just(KV_LIMITED), Just(FP32)];
    let class = prop_oneof![3 => Just(Class::Inference), 1 => Just(Class::Batch), 1 => Just(Class::Training)];
    (kind, class, any::<bool>()).prop_flat_map(|(kind, class, power_sent)| {
        let sent = prop::bool::weighted(kind.sm_sent);
        (vec((gpu(&kind), container(), server(kind)), 1..7), sent).prop_map(move |(replicas, sm_sent)| {
            let gpus: Vec<_> = replicas
                .iter()
                .map(|(gpu, ..)| GpuEvidence {
                    sm: gpu.sm.filter(|_| sm_sent),
                    power: gpu.power.filter(|_| power_sent),
                    ..*gpu
                })
                .collect();
            let containers: Vec<_> = replicas.iter().map(|(_, container, _)| *container).collect();
            let servers =
                if class == Class::Training { Vec::new() } else { replicas.iter().map(|one| one.2).collect() };
            Evidence { servers, ..evidence(class, &gpus, &containers) }
        })
    })
}

fn gpu(kind: &Full) -> impl Strategy<Value = GpuEvidence> + use<> {
    let work = (0.8..1.0, kind.sm.clone(), kind.dram.clone(), kind.tensor.clone());
    (work, kind.power.clone(), option::of(0.0..1.0), 0.0..4e9).prop_map(
        |((engine, sm, dram, tensor), power, held, rx)| GpuEvidence {
            util: exact(1.0),
            engine: exact(engine),
            sm: exact(sm),
            dram: exact(dram),
            tensor: exact(tensor),
            pcie_rx: exact(rx),
            power: exact(power),
            clocks_held: held.and_then(exact),
            ..GpuEvidence::default()
        },
    )
}

fn container() -> impl Strategy<Value = ContainerEvidence> {
    let cpu = (0.5..8.0, option::weighted(0.7, Just(8.0)));
    (cpu, 0.0..1.0, 0.0..1.0, 0.0..1.0).prop_map(|((cores, limit), throttled, pressure, io)| ContainerEvidence {
        cores: exact(cores),
        limit,
        throttled: exact(throttled),
        pressure: exact(pressure),
        io_pressure: exact(io),
        ..ContainerEvidence::default()
    })
}

fn server(kind: Full) -> impl Strategy<Value = ServerEvidence> {
    (kind.running, 1.0..200.0, kind.kv, 0.0..0.2, 1.0..9_000.0).prop_map(|(running, waiting, kv, out, progress)| {
        ServerEvidence {
            running: exact(running),
            waiting: exact(waiting),
            kv: exact(kv),
            preemptions: exact(out),
            progress: exact(progress),
            ..ServerEvidence::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: `serial` without the exemption by KV cache, `has_room` without its look at the tensor pipe or at the SMs,
    /// `small_kernels` without memory or tensor pipe, `no_progress` for inference that does not count, `idle` on what
    /// waits alone.
    #[test]
    fn a_saturated_service_is_never_refused(seen in full()) {
        let opinion = judge(&seen);

        prop_assert!(opinion.lean == Lean::Allow, "{:?}\n{seen:#?}", opinion.lean);
    }
}
