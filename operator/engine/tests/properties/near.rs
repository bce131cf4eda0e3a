//! Replicas near a cause: with all of its signs, or with all but one.

use crate::evidence::{Replica, exact};
use wellfed_engine::evidence::{ContainerEvidence, Exits, GpuEvidence, ServerEvidence, TrainerEvidence, Trend};
use wellfed_engine::testing::{busy_gpu, starved_gpu};

/// The one in which half of the replicas are idle and the others are not.
pub const UNEVEN: usize = 0;
/// The one in which the first GPU has half of the others' clock.
pub const SLOW: usize = 22;
/// The one in which all clocks but perhaps the first are held down.
pub const HOT: usize = 23;
/// The one in which trainers count a wait that GPUs at work do not see, and only the pipes tell.
const PIPED: usize = 38;
/// The one in which the first GPU's link has half of the others' lanes.
pub const NARROW: usize = 42;
/// The three from 43 on look as one that hangs, but for a busy link, a busy network, or steps. From here on servers tell of
/// their requests' lengths and of what is thrown out, and GPUs of what nothing else shows.
const TOLD: usize = 46;
/// The one whose memory is full, and no server takes it in advance.
pub const FULL: usize = 54;
/// The one whose memory is full beside SMs at work, by which alone it is not refused.
pub const FULL_AT_WORK: usize = 25;
pub const CAUSES: usize = 57;
/// Those of them that servers tell, and what looks like them.
pub const SERVED: [usize; 7] = [TOLD, 47, 48, 49, 50, 55, 56];

/// One replica with the cause of this number, or with all but one of its signs.
pub fn near(cause: usize) -> Replica {
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

pub fn served(running: f64, waiting: f64) -> ServerEvidence {
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
