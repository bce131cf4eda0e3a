//! Causes that GPUs, containers and servers show.

use crate::exposition::{Gauges, Labels, Replica};
use crate::meters::{BUSY, DECODING_FOR_ONE, FETCHING, STARVED, WAITING};
use crate::refusal::Refusal;
use crate::stage::{Case, Stage, wish};
use std::time::Duration;

/// G5 (`ROCm` exporter #34), by the field names of DCGM 4.6; the limit is that of the product.
const HUNG: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 100.0),
    ("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", 1.0),
    ("DCGM_FI_PROF_SM_UTIL_RATIO", 0.03),
    ("DCGM_FI_PROF_DRAM_UTIL_RATIO", 0.0),
    ("DCGM_FI_PROF_TENSOR_UTIL_RATIO", 0.0),
    ("DCGM_FI_DEV_BOARD_POWER_WATTS", 130.0),
];

const LAUNCHING: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.6),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.15),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.1),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.05),
];

/// Always in a kernel that waits for a peer. The product, which the power brings, tells the links' peak.
const EXCHANGING: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.96),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.3),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.2),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.1),
    ("DCGM_FI_PROF_NVLINK_RX_BYTES", 180e9),
    ("DCGM_FI_PROF_NVLINK_TX_BYTES", 150e9),
    ("DCGM_FI_DEV_FB_USED_PERCENT", 0.5),
    ("DCGM_FI_DEV_POWER_USAGE", 310.0),
];

/// In MiB, as the exporter's default set has it.
const FULL_OF_ACTIVATIONS: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.6),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.3),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.2),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.1),
    ("DCGM_FI_DEV_FB_USED", 76_800.0),
    ("DCGM_FI_DEV_FB_FREE", 3_200.0),
];

const COPYING: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.4),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.2),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.1),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.05),
    ("DCGM_FI_PROF_PCIE_RX_BYTES", 12e9),
];

const AT_FULL_CLOCK: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.9),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.7),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.3),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.4),
    ("DCGM_FI_DEV_SM_CLOCK", 1_980.0),
];

const AT_A_LOWER_CLOCK: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.9),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.7),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.3),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.4),
    ("DCGM_FI_DEV_SM_CLOCK", 1_188.0),
];

const WIDE: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.9),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.7),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.3),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.4),
    ("DCGM_FI_DEV_PCIE_LINK_WIDTH", 16.0),
    ("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", 16.0),
];

/// Half of its lanes are gone.
const NARROW: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.9),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.7),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.3),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.4),
    ("DCGM_FI_DEV_PCIE_LINK_WIDTH", 8.0),
    ("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", 16.0),
];

const NONE: Replica = Replica::of(STARVED);

const SERIAL: Replica = Replica {
    server: &[
        ("vllm:num_requests_running", 1.0),
        ("vllm:num_requests_waiting", 25.0),
        ("vllm:kv_cache_usage_perc", 0.03),
    ],
    ..Replica::of(DECODING_FOR_ONE)
};

const SERIAL_TRITON: Replica = Replica {
    server: &[("nv_inference_pending_request_count", 40.0)],
    counters: &[("nv_inference_count", 30.0), ("nv_inference_exec_count", 30.0)],
    ..NONE
};

const SMALL_KERNELS: Replica =
    Replica { container: &[("container_cpu_usage_seconds_total", 1.0)], ..Replica::of(LAUNCHING) };

const FULL: Replica = Replica { server: &[("sglang:num_running_reqs", 48.0), ("sglang:num_queue_reqs", 30.0)], ..NONE };

const IDLE: Replica = Replica { server: &[("sglang:num_running_reqs", 0.0), ("sglang:num_queue_reqs", 0.0)], ..NONE };

/// Copies of what the GPU is fed with, and an idle CPU beside them.
const MOVING: Replica = Replica { container: &[("container_cpu_usage_seconds_total", 0.4)], ..Replica::of(COPYING) };

/// Two requests a second, each a second to its first token, of which it queues for 20 ms.
const TOKENISING: Replica = Replica {
    container: &[("container_cpu_usage_seconds_total", 7.6)],
    counters: &[
        ("vllm:request_queue_time_seconds_sum", 0.04),
        ("vllm:request_queue_time_seconds_count", 2.0),
        ("vllm:time_to_first_token_seconds_sum", 2.0),
        ("vllm:time_to_first_token_seconds_count", 2.0),
    ],
    ..NONE
};

const DIVERGED: Replica = Replica { server: &[("training_loss", f64::NAN)], ..Replica::of(BUSY) };

/// Loader workers at the limit of eight cores, throttled in two of five periods.
const LOADING: Replica = Replica {
    container: &[
        ("container_cpu_usage_seconds_total", 7.7),
        ("container_cpu_cfs_throttled_periods_total", 4.0),
        ("container_cpu_cfs_periods_total", 10.0),
    ],
    ..NONE
};

const fn case(name: &'static str, class: &'static str, replicas: &'static [Replica], labels: Labels) -> Case {
    Case { name, class, replicas, labels }
}

const fn refusal(case: Case, rule: &'static str, measured: &'static str, remedy: &'static str) -> Refusal {
    Refusal { case, rule, measured, remedy }
}

const SHOWN: [Refusal; 15] = [
    refusal(
        case("loader", "Training", &[LOADING; 2], Labels::Exported),
        "DataLoader",
        "throttled in 40 % of periods",
        "num_workers",
    ),
    refusal(
        case("serial", "Inference", &[SERIAL; 2], Labels::Exported),
        "SerialRequests",
        "1.0 requests in service a replica, 25 requests waiting a replica",
        "continuous batching",
    ),
    refusal(
        case("triton", "Inference", &[SERIAL_TRITON; 2], Labels::Honoured),
        "SerialRequests",
        "40 requests waiting a replica",
        "continuous batching",
    ),
    refusal(
        case("reader", "Training", &[FETCHING; 2], Labels::Exported),
        "StorageStall",
        "GPUs 22 % active",
        "data on the node",
    ),
    refusal(
        case("hung", "Training", &[Replica::of(HUNG); 2], Labels::Honoured),
        "Stalled",
        "power at 19 % of the board's limit",
        "find the rank",
    ),
    refusal(
        case("launcher", "Training", &[SMALL_KERNELS; 2], Labels::Exported),
        "LaunchBound",
        "SMs 15 % in use",
        "torch.compile",
    ),
    refusal(
        case("uneven", "Inference", &[FULL, IDLE], Labels::Honoured),
        "Imbalance",
        "30 requests waiting at the fullest replica, 1 replicas idle",
        "route by queue",
    ),
    refusal(
        case("exchange", "Training", &[Replica::of(EXCHANGING); 2], Labels::Exported),
        "CommunicationBound",
        "NVLink at 40 % of its peak",
        "topology-aware placement",
    ),
    refusal(
        case("crammed", "Training", &[Replica::of(FULL_OF_ACTIVATIONS); 2], Labels::Honoured),
        "MemoryBound",
        "GPU memory 96 % in use",
        "activation checkpointing",
    ),
    refusal(
        case("copier", "Training", &[MOVING; 2], Labels::Exported),
        "HostDeviceTransfer",
        "12.0 GB/s to each GPU",
        "move once, stay on the GPU",
    ),
    refusal(
        case(
            "ranks",
            "Training",
            &[
                Replica::of(AT_FULL_CLOCK),
                Replica::of(AT_A_LOWER_CLOCK),
                Replica::of(AT_FULL_CLOCK),
                Replica::of(AT_FULL_CLOCK),
            ],
            Labels::Honoured,
        ),
        "Straggler",
        "SM clock at 60 % of its peers, 1 GPUs concerned",
        "replace the pod",
    ),
    refusal(
        case(
            "links",
            "Training",
            &[Replica::of(WIDE), Replica::of(NARROW), Replica::of(WIDE), Replica::of(WIDE)],
            Labels::Exported,
        ),
        "Straggler",
        "PCIe link at 8 of 16 lanes, 1 GPUs concerned",
        "replace the pod",
    ),
    refusal(
        case("tokeniser", "Inference", &[TOKENISING; 2], Labels::Exported),
        "CpuStage",
        "the queue is 2 % of the latency, GPUs 22 % active",
        "scale the CPU stage apart",
    ),
    refusal(
        case("diverged", "Training", &[DIVERGED; 2], Labels::Honoured),
        "RunNotProgressing",
        "loss is no number at 2 trainers",
        "restart from the last good checkpoint",
    ),
    refusal(
        case("idler", "Training", &[NONE; 2], Labels::Exported),
        "Underused",
        "GPUs 22 % active",
        "profile one step before adding GPUs",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_cause_is_named_with_its_remedies_and_nothing_is_scaled() -> anyhow::Result<()> {
    let stage = Stage::set("causes", &SHOWN.map(|refusal| refusal.case)).await?;
    let told = async {
        for refusal in &SHOWN {
            stage.apply(&wish(&refusal.case)).await?;
        }
        for refusal in &SHOWN {
            refusal.is_told(&stage).await?;
        }
        stage.after_cycles(5).await
    };
    stage.during(told).await?;
    for refusal in &SHOWN {
        refusal.holds(&stage).await?;
    }
    Ok(())
}

/// Busy GPUs, so that nothing but the ends of containers speaks.
const ENDED: [(Refusal, &str); 2] = [
    (
        refusal(
            case("too-large", "Training", &[Replica::of(BUSY); 2], Labels::Honoured),
            "GpuOutOfMemory",
            "for want of GPU memory",
            "activation checkpointing",
        ),
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    ),
    (
        refusal(
            case("looping", "Batch", &[Replica::of(WAITING); 2], Labels::Exported),
            "RunNotProgressing",
            "one container failed",
            "look at the last exits",
        ),
        "RuntimeError: NCCL error: unhandled system error",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn containers_that_keep_ending_are_not_answered_with_more_of_them() -> anyhow::Result<()> {
    let stage = Stage::set("ends", &ENDED.map(|(refusal, _)| refusal.case)).await?;
    let told = Box::pin(async {
        for (refusal, _) in &ENDED {
            stage.apply(&wish(&refusal.case)).await?;
        }
        for (refusal, _) in &ENDED {
            refusal.is_told(&stage).await?;
        }
        stage.after_cycles(5).await
    });
    let both = async {
        tokio::select! {
            done = told => done,
            broken = keep_ending(&stage) => broken,
        }
    };
    stage.during(both).await?;
    for (refusal, _) in &ENDED {
        refusal.holds(&stage).await?;
    }
    Ok(())
}

/// For ever, unless a pod's status can't be written.
async fn keep_ending(stage: &Stage) -> anyhow::Result<()> {
    let mut due = tokio::time::interval(Duration::from_secs(2));
    loop {
        due.tick().await;
        for (refusal, words) in &ENDED {
            stage.ends(refusal.case.name, words).await?;
        }
    }
}
