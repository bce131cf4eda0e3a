//! The causes that refuse.

use crate::exposition::{Gauges, Labels, Replica};
use crate::stage::{Case, REPLICAS, Stage, wish};
use anyhow::ensure;
use wellfed_crds::ConditionStatus::True;

const STARVED: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 22.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.22),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.12),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.05),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.04),
];

/// On the exporter's default counters.
const DECODING_FOR_ONE: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 96.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.9),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.55),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.03),
];

/// By the field names of DCGM 4.6; the limit is that of the product.
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

const NONE: Replica = Replica { gpu: STARVED, container: &[], server: &[], counters: &[] };

const SERIAL: Replica = Replica {
    gpu: DECODING_FOR_ONE,
    server: &[
        ("vllm:num_requests_running", 1.0),
        ("vllm:num_requests_waiting", 25.0),
        ("vllm:kv_cache_usage_perc", 0.03),
    ],
    ..NONE
};

const SERIAL_TRITON: Replica = Replica {
    server: &[("nv_inference_pending_request_count", 40.0)],
    counters: &[("nv_inference_count", 30.0), ("nv_inference_exec_count", 30.0)],
    ..NONE
};

const FETCHING: Replica = Replica {
    container: &[("container_cpu_usage_seconds_total", 1.6), ("container_pressure_io_waiting_seconds_total", 0.35)],
    ..NONE
};

const SMALL_KERNELS: Replica =
    Replica { gpu: LAUNCHING, container: &[("container_cpu_usage_seconds_total", 1.0)], ..NONE };

const FULL: Replica = Replica { server: &[("sglang:num_running_reqs", 48.0), ("sglang:num_queue_reqs", 30.0)], ..NONE };

const IDLE: Replica = Replica { server: &[("sglang:num_running_reqs", 0.0), ("sglang:num_queue_reqs", 0.0)], ..NONE };

const fn case(name: &'static str, class: &'static str, replicas: [Replica; REPLICAS], labels: Labels) -> Case {
    Case { name, class, replicas, labels }
}

/// The workloads, and for each the rule, a part of what was measured, and a part of its first remedy.
const CASES: [(Case, &str, &str, &str); 6] = [
    (
        case("serial", "Inference", [SERIAL; 2], Labels::Exported),
        "SerialRequests",
        "1.0 requests in service a replica, 25 requests waiting a replica",
        "continuous batching",
    ),
    (
        case("triton", "Inference", [SERIAL_TRITON; 2], Labels::Honoured),
        "SerialRequests",
        "40 requests waiting a replica",
        "continuous batching",
    ),
    (
        case("reader", "Training", [FETCHING; 2], Labels::Exported),
        "StorageStall",
        "GPUs 22 % active",
        "data on the node",
    ),
    (
        case("hung", "Training", [Replica { gpu: HUNG, ..NONE }; 2], Labels::Honoured),
        "Stalled",
        "power at 19 % of the board's limit",
        "find the rank",
    ),
    (
        case("launcher", "Training", [SMALL_KERNELS; 2], Labels::Exported),
        "LaunchBound",
        "SMs 15 % in use",
        "torch.compile",
    ),
    (
        case("uneven", "Inference", [FULL, IDLE], Labels::Honoured),
        "Imbalance",
        "30 requests waiting at the fullest replica, 1 replicas idle",
        "route by queue",
    ),
];

fn consequence(rule: &str) -> &'static str {
    match rule {
        "SerialRequests" => "one more GPU would serve one more at a time",
        "Stalled" => "more GPUs would hang as well",
        "Imbalance" => "one more replica would be one more idle one",
        _ => "more GPUs would wait as well",
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_cause_is_named_with_its_remedies_and_nothing_is_scaled() -> anyhow::Result<()> {
    let stage = Stage::set("causes", &CASES.map(|(case, ..)| case)).await?;
    let told = async {
        for (case, ..) in &CASES {
            stage.apply(&wish(case)).await?;
        }
        for (case, rule, measured, remedy) in &CASES {
            let starved = stage.until_condition(case.name, "Starved", True).await?;
            ensure!(starved.reason == *rule, "{}: {starved:?}", case.name);
            let finding = stage.finding(case.name, rule).await?;
            ensure!(finding.weight == "Veto", "{}: {finding:?}", case.name);
            ensure!(finding.evidence.contains(measured), "{}: {}", case.name, finding.evidence);
            ensure!(finding.remedies.first().is_some_and(|first| first.contains(remedy)), "{:?}", finding.remedies);
            let note = stage.until_event(case.name, rule).await?;
            ensure!(note.contains(consequence(rule)), "{}: {note}", case.name);
        }
        stage.after_cycles(5).await
    };
    stage.during(told).await?;

    for (case, rule, ..) in &CASES {
        let status = stage.status(case.name).await?;
        let why = status.decision.map(|decision| decision.why);
        assert_eq!(why, Some(format!("GateRefused: {rule}")), "{}", case.name);
        let scalings = stage.scalings(case.name)?;
        ensure!(scalings.is_empty(), "{} was scaled:\n{}", case.name, scalings.summary());
    }
    Ok(())
}
