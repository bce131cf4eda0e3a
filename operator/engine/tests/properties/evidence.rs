//! Random evidence: any, and near each cause.

use crate::near::{CAUSES, FULL, FULL_AT_WORK, HOT, NARROW, SERVED, SLOW, UNEVEN, near, served};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use wellfed_engine::evidence::{
    ContainerEvidence, Ended, Evidence, Exits, GpuEvidence, OwnEvidence, ServerEvidence, TrainerEvidence, Trend,
};
use wellfed_engine::policy::Class;
use wellfed_engine::span::Span;
use wellfed_engine::testing::{busy_gpu, evidence, secs, starved_gpu};

/// Evidence of up to seven GPUs that the pods ask for, of which some may not be seen; or of starved GPUs and an odd one;
/// or near a cause.
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
    let seen = prop_oneof![2 => mixed.boxed(), 1 => nearly.boxed(), 4 => replicas(any_cause()).boxed()];
    (seen, ended()).prop_map(|(seen, ended)| Evidence { ended, ..seen })
}

/// Evidence near a cause that only servers tell of.
pub fn told_evidence() -> impl Strategy<Value = Evidence> {
    replicas(select(SERVED.to_vec()).boxed())
}

fn any_cause() -> BoxedStrategy<usize> {
    prop_oneof![12 => 0_usize..CAUSES, 1 => Just(UNEVEN), 1 => Just(FULL), 1 => Just(FULL_AT_WORK)].boxed()
}

/// The ends of containers that are not warm: mostly none, or one.
fn ended() -> impl Strategy<Value = Vec<Ended>> {
    let exits = (prop_oneof![3 => Just(0_u32), 1 => 1_u32..3], 0_u32..2, 0_u32..3)
        .prop_map(|(gpu_memory, host_memory, failed)| Ended::from(Exits { gpu_memory, host_memory, failed }));
    prop_oneof![3 => Just(Vec::new()), 2 => vec(exits, 1..3)]
}

/// One replica: a GPU, its container, what it serves and what it trains.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replica {
    pub gpu: GpuEvidence,
    pub container: ContainerEvidence,
    pub server: ServerEvidence,
    pub trainer: TrainerEvidence,
}

/// What may be odd of a replica.
type Odd = (Option<GpuEvidence>, Option<ContainerEvidence>, Option<ServerEvidence>, Option<TrainerEvidence>);

fn odd() -> impl Strategy<Value = Odd> {
    (
        option::weighted(0.3, measured_gpu()),
        option::weighted(0.3, container()),
        option::weighted(0.3, said()),
        option::weighted(0.3, trained()),
    )
}

/// Evidence near each cause: up to seven replicas of which the first ones, mostly one, may be odd in any of their parts.
fn replicas(causes: BoxedStrategy<usize>) -> impl Strategy<Value = Evidence> {
    let odd = prop_oneof![2 => vec(odd(), 1), 1 => vec(odd(), 2..4)].boxed();
    let cause = (causes, class(), 1_usize..8, any::<bool>(), (prop::bool::weighted(0.8), prop::bool::weighted(0.15)));
    let two_queues = option::of((0.0_f64..20.0, 0.0_f64..5.0));
    let own = prop_oneof![2 => Just(OwnEvidence::default()), 1 => own()].boxed();
    (cause, odd, option::weighted(0.5, 0.0_f64..1.0), two_queues, own).prop_map(
        |((cause, class, replicas, sharded, (slo_breached, shared)), odd, held, two_queues, own)| {
            let mut all = vec![near(cause); replicas];
            if cause == UNEVEN {
                for one in &mut all[..replicas.div_ceil(2)] {
                    (one.server.running, one.server.waiting) = (exact(0.0), exact(0.0));
                }
                // Beside the one with the longest queue, where hardly anything may run, one with the next.
                if let (Some((longest_runs, strays)), [longest, rest @ .., next]) = (two_queues, &mut all[..]) {
                    longest.server = served(longest_runs, 40.0);
                    for one in rest.iter_mut() {
                        one.server = served(strays, 0.0);
                    }
                    next.server = served(200.0, 20.0);
                }
            }
            if cause == SLOW {
                all[0].gpu.clock = exact(990.0);
            }
            if cause == NARROW {
                all[0].gpu.lanes = exact(8.0);
                // In some a slot that has no more.
                all[0].gpu.lanes_most = all[0].gpu.lanes_most.map(|most| if sharded { 8.0 } else { most });
            }
            for (one, odd) in all.iter_mut().zip(odd) {
                one.gpu = odd.0.unwrap_or(one.gpu);
                one.container = odd.1.unwrap_or(one.container);
                one.server = odd.2.unwrap_or(one.server);
                one.trainer = odd.3.unwrap_or(one.trainer);
            }
            if cause == HOT {
                for one in &mut all {
                    one.gpu.clocks_held = exact(0.9);
                }
            }
            all[0].gpu.clocks_held = held.map(Span::exact);
            (all[0].gpu.shared, all[0].container.shared) = (shared, shared);
            let seen = of(class, &all, sharded, slo_breached);
            // Sometimes too early.
            let covered = if held.is_some_and(|held| held < 0.5) { secs(280) } else { seen.covered };
            Evidence { covered, own, ..seen }
        },
    )
}

fn of(class: Class, replicas: &[Replica], sharded: bool, slo_breached: bool) -> Evidence {
    let gpus: Vec<_> = replicas.iter().map(|one| one.gpu).collect();
    let containers: Vec<_> = replicas.iter().map(|one| one.container).collect();
    Evidence {
        servers: replicas.iter().map(|one| one.server).collect(),
        trainers: replicas.iter().map(|one| one.trainer).collect(),
        sharded,
        slo_breached,
        ..evidence(class, &gpus, &containers)
    }
}

#[allow(clippy::unnecessary_wraps)] // as the fields of evidence are
pub fn exact(value: f64) -> Option<Span> {
    Some(Span::exact(value))
}

/// What a server says.
fn said() -> impl Strategy<Value = ServerEvidence> {
    let count = || prop_oneof![Just(0.0), 0.5_f64..2.0, 0.0_f64..60.0];
    let counts = (option::weighted(0.9, count()), option::weighted(0.9, count()), option::weighted(0.2, count()));
    let seconds = (option::of(0.0_f64..2.0), option::of(0.1_f64..4.0), option::of(0.1_f64..20.0));
    let lengths = (option::of(1.0_f64..9.0), option::of(1.0_f64..900.0), option::of(1.0_f64..5_000.0));
    let cache = (option::of(share()), option::weighted(0.3, 0.0_f64..0.01));
    (counts, cache, option::of(count()), seconds, lengths).prop_map(
        |((running, waiting, batch), (kv, preemptions), progress, (queue, first, whole), (spread, output, cap))| {
            ServerEvidence {
                preemptions: preemptions.map(Span::exact),
                prompt_spread: spread.map(Span::exact),
                output_tokens: output.map(Span::exact),
                output_cap: cap.map(Span::exact),
                running: running.map(Span::exact),
                waiting: waiting.map(Span::exact),
                batch: batch.map(Span::exact),
                kv,
                progress: progress.map(Span::exact),
                queue_seconds: queue.map(Span::exact),
                first_token_seconds: first.map(Span::exact),
                whole_seconds: whole.map(Span::exact),
                ..ServerEvidence::default()
            }
        },
    )
}

/// What a trainer says.
fn trained() -> impl Strategy<Value = TrainerEvidence> {
    let times = (option::weighted(0.8, 0.1_f64..2.0), option::weighted(0.7, 0.0_f64..1.0), option::of(0.0_f64..60.0));
    let steps = option::weighted(0.3, prop_oneof![Just(0.0), 0.0_f64..2.0]);
    (times, steps, trend(), trend()).prop_map(|((step, wait, throughput), steps, loss, quality)| TrainerEvidence {
        steps: steps.map(Span::exact),
        step_seconds: step.map(Span::exact),
        data_wait_seconds: wait.map(Span::exact),
        throughput: throughput.map(Span::exact),
        loss,
        quality,
        ..TrainerEvidence::default()
    })
}

/// What the workload's own signals say.
fn own() -> impl Strategy<Value = OwnEvidence> {
    let throughput = option::of(prop_oneof![2 => Just(0.0), 1 => 0.0_f64..60.0]);
    (throughput, trend(), trend()).prop_map(|(throughput, progress, quality)| OwnEvidence {
        throughput: throughput.map(Span::exact),
        progress,
        quality,
        ..OwnEvidence::default()
    })
}

fn trend() -> impl Strategy<Value = Option<Trend>> {
    let moved = (0.1_f64..3.0, prop_oneof![Just(1.0), Just(1.0002), 0.5_f64..1.5])
        .prop_map(|(first, by)| Some(Trend::Moved { first, last: first * by }));
    prop_oneof![4 => Just(None), 4 => moved, 1 => Just(Some(Trend::Diverged))]
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![2 => Just(Class::Training), 2 => Just(Class::Inference), 1 => Just(Class::Batch)]
}

/// A hang, or broken counters.
fn full_and_idle() -> GpuEvidence {
    GpuEvidence { util: exact(1.0), engine: exact(0.0), tensor: exact(0.0), ..GpuEvidence::default() }
}

fn gpu() -> impl Strategy<Value = GpuEvidence> {
    let starved = Just(starved_gpu());
    let gpu = prop_oneof![3 => measured_gpu(), 16 => starved, 1 => Just(busy_gpu()), 1 => Just(full_and_idle())];
    (gpu, prop::bool::weighted(0.1)).prop_map(|(gpu, shared)| GpuEvidence { shared, ..gpu })
}

fn measured_gpu() -> impl Strategy<Value = GpuEvidence> {
    let profiled = (share(), share(), share(), share(), option::of(share()));
    let links = (option::of(share()), option::of(share()), option::weighted(0.8, 0.0_f64..3e9));
    let card = (option::of(share()), option::of(0.0_f64..0.5), option::of(700.0_f64..1_980.0), option::of(share()));
    let faults = (option::weighted(0.2, 0.0_f64..2.0), option::weighted(0.1, prop_oneof![Just(13_u16), Just(79)]));
    (option::of(share()), profiled, links, (card, faults), any::<bool>()).prop_map(
        |(util, (engine, sm, dram, tensor, power), (nvlink, pcie, rx), (card, (events, xid)), profiles)| {
            let (memory, swing, clock, fp32) = card;
            GpuEvidence {
                clock_events: events.map(Span::exact),
                xid,
                power,
                util,
                engine: Some(engine).filter(|_| profiles),
                sm: Some(sm).filter(|_| profiles),
                dram: Some(dram).filter(|_| profiles),
                tensor: Some(tensor).filter(|_| profiles),
                swing: swing.map(Span::exact).filter(|_| profiles),
                fp32: fp32.filter(|_| profiles),
                pcie_rx: rx.map(Span::exact),
                nvlink,
                pcie,
                memory,
                memory_peak: memory,
                clock: clock.map(Span::exact),
                product: profiles.then_some(1),
                ..GpuEvidence::default()
            }
        },
    )
}

fn share() -> impl Strategy<Value = Span> {
    prop_oneof![Just(0.0), 0.0_f64..0.4, 0.0_f64..1.0, 0.7_f64..1.0].prop_map(Span::exact)
}

fn container() -> impl Strategy<Value = ContainerEvidence> {
    let limit = option::weighted(0.8, prop_oneof![Just(1.0), Just(8.0)]);
    let used = prop_oneof![0.0_f64..1.0, 0.8_f64..1.0];
    let stalls = (option::of(share()), option::of(share()), option::of(share()), option::of(0.0_f64..4e9));
    let exits = prop_oneof![8 => Just(0_u32), 1 => 0_u32..5];
    let at_hand = option::weighted(0.7, prop_oneof![Just(2.0), Just(96.0)]);
    (option::weighted(0.8, used), (limit, at_hand), stalls, exits).prop_map(
        |(used, (limit, at_hand), (throttled, pressure, io_pressure, network), exits)| ContainerEvidence {
            cores: used.map(|used| Span::exact(used * limit.unwrap_or(8.0))),
            limit,
            at_hand: at_hand.filter(|_| limit.is_none()),
            throttled,
            pressure,
            io_pressure,
            network: network.map(Span::exact),
            exits: Exits { gpu_memory: exits / 4, host_memory: 0, failed: exits },
            ..ContainerEvidence::default()
        },
    )
}
