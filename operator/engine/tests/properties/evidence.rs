//! Random evidence: any, and near each cause.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence};
use wellfed_engine::policy::Class;
use wellfed_engine::span::Span;
use wellfed_engine::testing::{busy_gpu, evidence, secs, starved_gpu};

/// Evidence of up to seven GPUs that the pods ask for, of which some may not be seen; or of starved GPUs and an odd one.
pub fn any_evidence() -> impl Strategy<Value = Evidence> {
    let unseen = prop_oneof![4 => Just(0_u32), 1 => 0_u32..3];
    let mixed = (class(), vec(gpu(), 0..7), vec(container(), 0..4), unseen, 280_i64..900).prop_map(
        |(class, gpus, containers, unseen, covered)| {
            let seen = evidence(class, &gpus, &containers);
            Evidence { expected_gpus: seen.expected_gpus + unseen, covered: secs(covered), ..seen }
        },
    );
    let odd = prop_oneof![2 => measured_gpu(), 1 => Just(full_and_idle()), 1 => Just(GpuEvidence { shared: true, ..starved_gpu() })];
    let nearly = (class(), 3_usize..6, odd, container()).prop_map(|(class, starved, odd, container)| {
        let mut gpus = vec![odd];
        gpus.extend(vec![starved_gpu(); starved]);
        evidence(class, &gpus, &[container])
    });
    // Boxed: unboxed, their trees outgrow the stack of a test's thread.
    prop_oneof![2 => mixed.boxed(), 1 => nearly.boxed(), 2 => served().boxed()]
}

/// Evidence near each cause: up to five replicas of which the first may be odd in GPU, container or server.
fn served() -> impl Strategy<Value = Evidence> {
    let odd =
        (option::weighted(0.3, measured_gpu()), option::weighted(0.3, container()), option::weighted(0.3, said()));
    let cause = (0_usize..CAUSES, class(), 1_usize..6);
    (cause, odd, option::weighted(0.5, 0.0_f64..1.0)).prop_map(|((cause, class, replicas), odd, held)| {
        let (gpu, container, server) = near(cause);
        let (mut gpus, mut containers) = (vec![gpu; replicas], vec![container; replicas]);
        let mut servers = vec![server; replicas];
        gpus[0] = odd.0.unwrap_or(gpus[0]);
        containers[0] = odd.1.unwrap_or(containers[0]);
        if cause == UNEVEN {
            (servers[0].running, servers[0].waiting) = (Some(Span::exact(0.0)), Some(Span::exact(0.0)));
        }
        servers[0] = odd.2.unwrap_or(servers[0]);
        gpus[0].clocks_held = held.map(Span::exact);
        Evidence { servers, ..evidence(class, &gpus, &containers) }
    })
}

/// The one in which the first replica is idle and the others are not.
const UNEVEN: usize = 0;
const CAUSES: usize = 13;

/// One replica with the cause of this number, or with all but one of its signs.
fn near(cause: usize) -> (GpuEvidence, ContainerEvidence, ServerEvidence) {
    let exact = |value| Some(Span::exact(value));
    let silent = (ContainerEvidence::default(), ServerEvidence::default());
    let reading =
        ContainerEvidence { cores: exact(1.0), limit: Some(8.0), io_pressure: exact(0.3), ..Default::default() };
    let served = |running, waiting| ServerEvidence {
        running: exact(running),
        waiting: exact(waiting),
        kv: exact(0.4),
        progress: exact(0.0),
        ..ServerEvidence::default()
    };
    let hung = GpuEvidence { sm: exact(0.02), tensor: exact(0.0), dram: exact(0.0), ..busy_gpu() };
    let hung = GpuEvidence { power: exact(0.2), ..hung };
    let launching = GpuEvidence { engine: exact(0.6), sm: exact(0.2), ..starved_gpu() };
    let active = GpuEvidence { util: exact(0.9), engine: exact(0.9), ..starved_gpu() };
    match cause {
        UNEVEN => (busy_gpu(), reading, served(40.0, 9.0)),
        1 => (starved_gpu(), reading, served(20.0, 9.0)),
        2 => (starved_gpu(), silent.0, silent.1),
        // One at a time, with room; without room, as only the SMs tell, or the KV cache.
        3 => (GpuEvidence { dram: exact(0.6), ..active }, silent.0, served(1.0, 9.0)),
        4 => (GpuEvidence { sm: exact(0.9), dram: exact(0.2), ..active }, silent.0, served(1.0, 9.0)),
        5 => {
            let kv_full = ServerEvidence { kv: exact(0.9), ..served(1.0, 9.0) };
            (GpuEvidence { dram: exact(0.6), ..active }, silent.0, kv_full)
        }
        // A hang; and what looks like one, but for its SMs, its power or what comes out.
        6 => (hung, silent.0, served(8.0, 9.0)),
        7 => (GpuEvidence { sm: exact(0.3), ..hung }, silent.0, served(8.0, 9.0)),
        8 => (GpuEvidence { power: exact(0.8), ..hung }, silent.0, silent.1),
        9 => (hung, silent.0, ServerEvidence { progress: exact(50.0), ..served(8.0, 9.0) }),
        // Small kernels; and what looks like them, but for memory or tensor pipe.
        10 => (launching, reading, silent.1),
        11 => (GpuEvidence { dram: exact(0.6), ..launching }, reading, silent.1),
        _ => (GpuEvidence { tensor: exact(0.2), ..launching }, reading, silent.1),
    }
}

/// What a server says.
fn said() -> impl Strategy<Value = ServerEvidence> {
    let count = || prop_oneof![Just(0.0), 0.5_f64..2.0, 0.0_f64..60.0];
    let counts = (option::weighted(0.9, count()), option::weighted(0.9, count()), option::weighted(0.2, count()));
    (counts, option::of(share()), option::of(count())).prop_map(|((running, waiting, batch), kv, progress)| {
        ServerEvidence {
            running: running.map(Span::exact),
            waiting: waiting.map(Span::exact),
            batch: batch.map(Span::exact),
            kv,
            progress: progress.map(Span::exact),
            ..ServerEvidence::default()
        }
    })
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![Just(Class::Training), Just(Class::Inference)]
}

/// A hang, or broken counters.
fn full_and_idle() -> GpuEvidence {
    let (all, none) = (Some(Span::exact(1.0)), Some(Span::exact(0.0)));
    GpuEvidence { util: all, engine: none, tensor: none, ..GpuEvidence::default() }
}

fn gpu() -> impl Strategy<Value = GpuEvidence> {
    let starved = Just(starved_gpu());
    let gpu = prop_oneof![3 => measured_gpu(), 16 => starved, 1 => Just(busy_gpu()), 1 => Just(full_and_idle())];
    (gpu, prop::bool::weighted(0.1)).prop_map(|(gpu, shared)| GpuEvidence { shared, ..gpu })
}

fn measured_gpu() -> impl Strategy<Value = GpuEvidence> {
    let profiled = (share(), share(), share(), share(), option::of(share()));
    (option::of(share()), profiled, option::weighted(0.8, 0.0_f64..3e9), any::<bool>()).prop_map(
        |(util, (engine, sm, dram, tensor, power), rx, profiles)| GpuEvidence {
            power,
            util,
            engine: Some(engine).filter(|_| profiles),
            engine_lost: false,
            sm: Some(sm).filter(|_| profiles),
            dram: Some(dram).filter(|_| profiles),
            tensor: Some(tensor).filter(|_| profiles),
            pcie_rx: rx.map(Span::exact),
            shared: false,
            ..GpuEvidence::default()
        },
    )
}

fn share() -> impl Strategy<Value = Span> {
    prop_oneof![Just(0.0), 0.0_f64..0.4, 0.0_f64..1.0, 0.7_f64..1.0].prop_map(Span::exact)
}

fn container() -> impl Strategy<Value = ContainerEvidence> {
    let limit = option::weighted(0.8, prop_oneof![Just(1.0), Just(8.0)]);
    let used = prop_oneof![0.0_f64..1.0, 0.8_f64..1.0];
    let stalls = (option::of(share()), option::of(share()), option::of(share()));
    (option::weighted(0.8, used), limit, stalls).prop_map(|(used, limit, (throttled, pressure, io_pressure))| {
        ContainerEvidence {
            cores: used.map(|used| Span::exact(used * limit.unwrap_or(8.0))),
            limit,
            throttled,
            pressure,
            io_pressure,
            ..ContainerEvidence::default()
        }
    })
}
