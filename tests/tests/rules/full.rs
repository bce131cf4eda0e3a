//! The control: a service that is full grows, whatever else is said of it.

use crate::exposition::{Gauges, Labels, Replica};
use crate::stage::{Case, Stage, wish};
use anyhow::ensure;
use wellfed_crds::ConditionStatus::False;
use wellfed_crds::FindingStatus;

/// Bound by memory bandwidth, in the heat.
const DECODING: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 99.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.96),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.4),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.62),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.08),
    ("DCGM_FI_DEV_POWER_USAGE", 430.0),
    ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 100.0),
];

const FULL: Replica = Replica {
    gpu: DECODING,
    container: &[("container_cpu_usage_seconds_total", 1.1), ("container_pressure_io_waiting_seconds_total", 0.02)],
    server: &[
        ("vllm:num_requests_running", 60.0),
        ("vllm:num_requests_waiting", 30.0),
        ("vllm:kv_cache_usage_perc", 0.96),
    ],
    counters: &[("vllm:generation_tokens_total", 2_400.0), ("vllm:num_preemptions_total", 0.5)],
};

#[tokio::test(flavor = "multi_thread")]
async fn a_full_service_is_told_what_would_help_and_may_grow_all_the_same() -> anyhow::Result<()> {
    let case = Case { name: "chat", class: "Inference", replicas: [FULL; 2], labels: Labels::Exported };
    let stage = Stage::set("full", &[case]).await?;
    // Held back by hand, so that it is looked at more than once.
    stage.apply(&wish(&case).with("spec.mode", "Recommend")).await?;
    let told = async {
        let all = ["KvPressure", "BandwidthBound", "Throttled"];
        let said = |rule: &str, findings: &[FindingStatus]| findings.iter().any(|finding| finding.rule == rule);
        stage.until_status("chat", |status| all.iter().all(|rule| said(rule, &status.findings))).await?;
        let passed = stage.until_condition("chat", "Starved", False).await?;
        ensure!(passed.reason == "GpusFed", "{passed:?}");
        let kv = stage.finding("chat", "KvPressure").await?;
        ensure!(kv.weight == "Either" && kv.evidence.contains("KV cache 96 % in use"), "{kv:?}");
        ensure!(kv.remedies.first().is_some_and(|first| first.contains("KV cache in FP8")), "{:?}", kv.remedies);
        stage.apply(&wish(&case)).await?;
        stage.until_replicas("chat", 4).await
    };
    stage.during(told).await
}
