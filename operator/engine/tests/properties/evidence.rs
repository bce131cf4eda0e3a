//! Random evidence: any, and near each cause.

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
struct Replica {
    gpu: GpuEvidence,
    container: ContainerEvidence,
    server: ServerEvidence,
    trainer: TrainerEvidence,
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
fn exact(value: f64) -> Option<Span> {
    Some(Span::exact(value))
}

/// The one in which half of the replicas are idle and the others are not.
const UNEVEN: usize = 0;
/// The one in which the first GPU has half of the others' clock.
const SLOW: usize = 22;
/// The one in which all clocks but perhaps the first are held down.
const HOT: usize = 23;
/// The one in which trainers count a wait that GPUs at work do not see, and only the pipes tell.
const PIPED: usize = 38;
/// The one in which the first GPU's link has half of the others' lanes.
const NARROW: usize = 42;
/// The three from 43 on look as one that hangs, but for a busy link, a busy network, or steps. From here on servers tell of
/// their requests' lengths and of what is thrown out, and GPUs of what nothing else shows.
const TOLD: usize = 46;
/// The one whose memory is full, and no server takes it in advance.
const FULL: usize = 54;
/// The one whose memory is full beside SMs at work, by which alone it is not refused.
const FULL_AT_WORK: usize = 25;
const CAUSES: usize = 57;
/// Those of them that servers tell, and what looks like them.
const SERVED: [usize; 7] = [TOLD, 47, 48, 49, 50, 55, 56];

/// One replica with the cause of this number, or with all but one of its signs.
fn near(cause: usize) -> Replica {
    match cause {
        UNEVEN..=5 => serving(cause),
        6..=12 | 43..=45 => spinning(cause),
        13..=18 | PIPED => feeding(cause),
        19..=28 => grouped(cause),
        29..=33 | 37 => late(cause),
        39..=NARROW => beside(cause),
        TOLD.. => told(cause),
        _ => running(cause),
    }
}

fn reading() -> ContainerEvidence {
    ContainerEvidence { cores: exact(1.0), limit: Some(8.0), io_pressure: exact(0.3), ..ContainerEvidence::default() }
}

fn at_limit() -> ContainerEvidence {
    ContainerEvidence { cores: exact(7.5), limit: Some(8.0), throttled: exact(0.4), ..ContainerEvidence::default() }
}

fn served(running: f64, waiting: f64) -> ServerEvidence {
    ServerEvidence {
        running: exact(running),
        waiting: exact(waiting),
        kv: exact(0.4),
        progress: exact(0.0),
        ..ServerEvidence::default()
    }
}

/// One at a time, with room; without room, as only the SMs tell, or the KV cache.
fn serving(cause: usize) -> Replica {
    let active = GpuEvidence { util: exact(0.9), engine: exact(0.9), ..starved_gpu() };
    let (gpu, container, server) = match cause {
        UNEVEN => (busy_gpu(), reading(), served(40.0, 9.0)),
        1 => (starved_gpu(), reading(), served(20.0, 9.0)),
        2 => (starved_gpu(), ContainerEvidence::default(), ServerEvidence::default()),
        3 => (GpuEvidence { dram: exact(0.6), ..active }, ContainerEvidence::default(), served(1.0, 9.0)),
        4 => {
            let full = GpuEvidence { sm: exact(0.9), dram: exact(0.2), ..active };
            (full, ContainerEvidence::default(), served(1.0, 9.0))
        }
        _ => {
            let kv_full = ServerEvidence { kv: exact(0.9), ..served(1.0, 9.0) };
            (GpuEvidence { dram: exact(0.6), ..active }, ContainerEvidence::default(), kv_full)
        }
    };
    Replica { gpu, container, server, ..Replica::default() }
}

/// A hang, and what looks like one, but for its SMs, its power or what comes out; small kernels, and what looks like them,
/// but for memory or tensor pipe.
fn spinning(cause: usize) -> Replica {
    let hung = GpuEvidence { sm: exact(0.02), tensor: exact(0.0), dram: exact(0.0), power: exact(0.2), ..busy_gpu() };
    let launching = GpuEvidence { engine: exact(0.6), sm: exact(0.2), ..starved_gpu() };
    let trainer = |throughput| TrainerEvidence { throughput: exact(throughput), ..TrainerEvidence::default() };
    let alone = |gpu| Replica { gpu, ..Replica::default() };
    match cause {
        6 => Replica { server: served(8.0, 9.0), trainer: trainer(0.0), ..alone(hung) },
        7 => Replica { server: served(8.0, 9.0), ..alone(GpuEvidence { sm: exact(0.3), ..hung }) },
        8 => alone(GpuEvidence { power: exact(0.8), ..hung }),
        9 => {
            let server = ServerEvidence { progress: exact(50.0), ..served(8.0, 9.0) };
            Replica { server, trainer: trainer(50.0), ..alone(hung) }
        }
        43 => alone(GpuEvidence { nvlink: exact(0.3), pcie: exact(0.01), ..hung }),
        44 => {
            let container = ContainerEvidence { network: exact(5e8), ..ContainerEvidence::default() };
            Replica { container, ..alone(hung) }
        }
        45 => {
            let trainer = TrainerEvidence { steps: exact(0.02), ..TrainerEvidence::default() };
            Replica { trainer, ..alone(hung) }
        }
        10 => Replica { container: reading(), ..alone(launching) },
        11 => Replica { container: reading(), ..alone(GpuEvidence { dram: exact(0.6), ..launching }) },
        _ => Replica { container: reading(), ..alone(GpuEvidence { tensor: exact(0.2), ..launching }) },
    }
}

/// What hardware lets one infer of data, and a trainer that says otherwise; a trainer that waits, and GPUs that do not.
fn feeding(cause: usize) -> Replica {
    let step = |wait: f64| TrainerEvidence {
        step_seconds: exact(1.0),
        data_wait_seconds: exact(wait),
        ..TrainerEvidence::default()
    };
    let idle = GpuEvidence { engine: exact(0.4), ..starved_gpu() };
    let swings = GpuEvidence { engine: exact(0.6), swing: exact(0.3), ..starved_gpu() };
    let (gpu, container, trainer) = match cause {
        13 => (idle, at_limit(), step(0.05)),
        14 => (idle, reading(), step(0.05)),
        15 => (GpuEvidence { engine: exact(0.9), ..idle }, at_limit(), step(0.4)),
        16 => (busy_gpu(), at_limit(), step(0.4)),
        17 => (swings, at_limit(), TrainerEvidence::default()),
        PIPED => (GpuEvidence { sm: None, dram: exact(0.2), ..busy_gpu() }, at_limit(), step(0.4)),
        _ => (GpuEvidence { pcie_rx: exact(3e9), ..idle }, reading(), step(0.05)),
    };
    // A server that may copy because it must.
    let server = if cause == 18 { served(20.0, 0.5) } else { ServerEvidence::default() };
    Replica { gpu, container, server, trainer }
}

/// An exchange, and what looks like one, but for its memory, its work or its links; full memory, and what looks like it; an
/// odd clock, odd heat.
fn grouped(cause: usize) -> Replica {
    let exchanging =
        GpuEvidence { engine: exact(0.55), swing: exact(0.4), memory: exact(0.6), nvlink: exact(0.4), ..starved_gpu() };
    let spins = GpuEvidence { engine: exact(0.95), sm: exact(0.2), dram: exact(0.1), ..exchanging };
    let clocked = GpuEvidence { product: Some(1), clock: exact(1_980.0), ..busy_gpu() };
    let full = GpuEvidence { engine: exact(0.6), sm: exact(0.3), memory: exact(0.97), ..starved_gpu() };
    let gpu = match cause {
        19 => exchanging,
        20 => spins,
        21 => GpuEvidence { dram: exact(0.6), ..spins },
        SLOW | HOT => clocked,
        24 => full,
        FULL_AT_WORK => GpuEvidence { engine: exact(0.4), sm: exact(0.7), ..full },
        26 => GpuEvidence { engine: exact(0.9), dram: exact(0.6), ..full },
        27 => GpuEvidence { nvlink: exact(0.05), ..exchanging },
        _ => GpuEvidence { memory: exact(0.9), ..exchanging },
    };
    // A trainer that generates with an engine of its own.
    let server = if cause == 24 { served(3.0, 0.0) } else { ServerEvidence::default() };
    let network = if cause == 27 { 1e6 } else { 2e9 };
    let container = ContainerEvidence { network: exact(network), cores: exact(0.5), ..ContainerEvidence::default() };
    Replica { gpu, container, server, ..Replica::default() }
}

/// What only the node tells of: its wait, which the container's own contradicts or not; its network card, which is fast, and
/// its RDMA ports; links, whose full width is known.
fn beside(cause: usize) -> Replica {
    let waits = ContainerEvidence { io_pressure: None, node_iowait: exact(0.4), ..reading() };
    let exchanging =
        Replica { container: ContainerEvidence { cores: exact(0.5), ..ContainerEvidence::default() }, ..grouped(27) };
    let network = ContainerEvidence { network: exact(2e9), network_of_peak: exact(0.1), ..exchanging.container };
    match cause {
        39 => Replica { gpu: starved_gpu(), container: waits, ..Replica::default() },
        40 => {
            let container = ContainerEvidence { io_pressure: exact(0.02), ..waits };
            Replica { gpu: starved_gpu(), container, ..Replica::default() }
        }
        41 => Replica { container: ContainerEvidence { rdma: exact(0.15), ..network }, ..exchanging },
        _ => {
            let gpu = GpuEvidence { lanes: exact(16.0), lanes_most: Some(16.0), ..busy_gpu() };
            Replica { gpu, ..Replica::default() }
        }
    }
}

/// Late without a queue, and what looks like it, but for its queue, its arithmetic or its contexts; a stage on the CPU.
fn late(cause: usize) -> Replica {
    let decoding = GpuEvidence { engine: exact(0.8), dram: exact(0.6), tensor: exact(0.05), ..busy_gpu() };
    let unqueued = ServerEvidence {
        kv: exact(0.02),
        queue_seconds: exact(0.05),
        first_token_seconds: exact(0.5),
        whole_seconds: exact(6.0),
        progress: exact(90.0),
        ..served(4.0, 0.1)
    };
    let (gpu, container, server) = match cause {
        29 => (decoding, reading(), unqueued),
        30 => (decoding, reading(), ServerEvidence { queue_seconds: exact(0.3), ..unqueued }),
        31 => (busy_gpu(), reading(), unqueued),
        32 => (decoding, reading(), ServerEvidence { kv: exact(0.8), ..unqueued }),
        37 => (decoding, reading(), ServerEvidence { waiting: exact(3.0), ..unqueued }),
        _ => (GpuEvidence { engine: exact(0.2), ..starved_gpu() }, at_limit(), unqueued),
    };
    Replica { gpu, container, server, ..Replica::default() }
}

/// A run that stands still, one that moves, and containers that end.
fn running(cause: usize) -> Replica {
    let moved = |last| Some(Trend::Moved { first: 2.0, last });
    let trainer = |loss, quality| TrainerEvidence { loss, quality, ..TrainerEvidence::default() };
    let trainer = match cause {
        34 => trainer(moved(1.9995), moved(1.9995)),
        35 => trainer(moved(1.9995), moved(1.9)),
        _ => TrainerEvidence::default(),
    };
    let exits = if cause == 36 { Exits { gpu_memory: 1, host_memory: 1, failed: 2 } } else { Exits::default() };
    let container = ContainerEvidence { exits, ..ContainerEvidence::default() };
    Replica { gpu: busy_gpu(), container, trainer, ..Replica::default() }
}

/// Prompts of very different lengths, in batches that are formed beforehand or not; caps far above the answers; a cache out
/// of which requests are thrown, or that is full; clocks that are held down by count of events, and an error of the hardware;
/// a card that is nearly empty, one that multiplies in FP32, and one that is full; caps
/// and prompts that are not far enough apart, and hardly anything thrown out.
fn told(cause: usize) -> Replica {
    let alone = |gpu| Replica { gpu, ..Replica::default() };
    let serving = |server| Replica { server, ..alone(busy_gpu()) };
    let padded = ServerEvidence { prompt_spread: exact(7.0), batch: exact(8.0), ..ServerEvidence::default() };
    match cause {
        TOLD => Replica { server: padded, ..alone(starved_gpu()) },
        47 => Replica { server: ServerEvidence { running: exact(8.0), ..padded }, ..alone(starved_gpu()) },
        48 => serving(ServerEvidence { output_tokens: exact(256.0), output_cap: exact(4_096.0), ..served(20.0, 9.0) }),
        49 => serving(ServerEvidence { preemptions: exact(0.5), ..served(20.0, 0.0) }),
        50 => serving(ServerEvidence { kv: exact(0.96), ..served(20.0, 9.0) }),
        51 => alone(GpuEvidence { clock_events: exact(2.0), xid: Some(79), ..busy_gpu() }),
        52 => alone(GpuEvidence { memory: exact(0.12), memory_peak: exact(0.15), ..starved_gpu() }),
        53 => alone(GpuEvidence { tensor: exact(0.01), fp32: exact(0.6), ..busy_gpu() }),
        FULL => alone(GpuEvidence { engine: exact(0.6), sm: exact(0.3), memory: exact(0.97), ..starved_gpu() }),
        55 => {
            let capped = ServerEvidence { output_tokens: exact(300.0), output_cap: exact(900.0), ..served(20.0, 9.0) };
            serving(ServerEvidence { preemptions: exact(0.001), ..capped })
        }
        _ => Replica { server: ServerEvidence { prompt_spread: exact(2.0), ..padded }, ..alone(starved_gpu()) },
    }
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
