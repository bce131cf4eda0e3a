//! What is only said: it is shown with its remedies, and growth passes.

use crate::exposition::{Gauges, Labels, Replica};
use crate::meters::{BUSY, WAITING};
use crate::stage::{Case, Stage, wish};
use anyhow::ensure;
use wellfed_crds::ConditionStatus::False;

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

/// Half of the prompts end in the first bucket at 100 tokens, and 95 % at 730 of the second's 800.
const PADDED: Replica = Replica {
    gpu: WAITING,
    container: &[],
    server: &[],
    counters: &[
        ("nv_inference_count", 80.0),
        ("nv_inference_exec_count", 10.0),
        (r#"vllm:request_prompt_tokens_bucket{le="100"}"#, 5.0),
        (r#"vllm:request_prompt_tokens_bucket{le="800"}"#, 10.0),
        (r#"vllm:request_prompt_tokens_bucket{le="+Inf"}"#, 10.0),
    ],
};

/// 4,096 tokens allowed, 256 needed.
const CAPPED: Replica = Replica {
    gpu: DECODING,
    container: &[],
    server: &[("vllm:num_requests_running", 20.0), ("vllm:num_requests_waiting", 6.0)],
    counters: &[
        ("vllm:request_params_max_tokens_sum", 8_192.0),
        ("vllm:request_params_max_tokens_count", 2.0),
        ("vllm:request_generation_tokens_sum", 512.0),
        ("vllm:request_generation_tokens_count", 2.0),
    ],
};

const HARDLY_USED: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.15),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.1),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.05),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.05),
    ("DCGM_FI_DEV_FB_USED_RATIO", 0.12),
];

const IN_FP32: Gauges = &[
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.95),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.7),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.3),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.01),
    ("DCGM_FI_PROF_PIPE_FP32_ACTIVE", 0.6),
];

/// A finding: its rule, what it does, a part of what was measured, and a part of its first remedy.
type Advice = (&'static str, &'static str, &'static str, &'static str);

const fn case(name: &'static str, class: &'static str, replicas: &'static [Replica], labels: Labels) -> Case {
    Case { name, class, replicas, labels }
}

const CASES: [(Case, &[Advice]); 6] = [
    (
        case("chat", "Inference", &[FULL; 2], Labels::Exported),
        &[
            ("KvPressure", "Either", "KV cache 96 % in use", "maximum length"),
            ("BandwidthBound", "Advice", "memory bandwidth 62 % in use", "larger batch"),
            ("Throttled", "Advice", "clocks held down 100 % of the time", "cooling"),
        ],
    ),
    (
        case("padded", "Inference", &[PADDED; 2], Labels::Honoured),
        &[("Padding", "Advice", "long prompts 7.3 times the median", "length bucketing")],
    ),
    (
        case("capped", "Inference", &[CAPPED; 2], Labels::Exported),
        &[("GenerationCapTooHigh", "Advice", "16.0 times the tokens allowed that are needed", "max_tokens")],
    ),
    (
        case("small", "Inference", &[Replica::of(HARDLY_USED); 2], Labels::Honoured),
        &[("OversizedGpu", "Advice", "GPU memory never more than 12 % in use", "smaller class")],
    ),
    (
        case("single", "Training", &[Replica::of(IN_FP32); 2], Labels::Exported),
        &[("PrecisionUnused", "Advice", "FP32 pipe 60 % in use", "automatic mixed precision in BF16")],
    ),
    (
        case("fed", "Training", &[Replica::of(BUSY); 2], Labels::Honoured),
        &[("AddingJustified", "Either", "GPUs 95 % active, SMs 70 % in use", "more replicas")],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn advice_is_told_with_its_remedies_and_growth_passes_all_the_same() -> anyhow::Result<()> {
    let stage = Stage::set("advised", &CASES.map(|(case, _)| case)).await?;
    let told = async {
        // Held back by hand, so that they are looked at more than once.
        for (case, _) in &CASES {
            stage.apply(&wish(case).with("spec.mode", "Recommend")).await?;
        }
        for (case, advice) in &CASES {
            for advice in *advice {
                is_told(&stage, case.name, advice).await?;
            }
            let passed = stage.until_condition(case.name, "Starved", False).await?;
            ensure!(passed.reason == "GpusFed", "{}: {passed:?}", case.name);
        }
        for (case, _) in &CASES {
            stage.apply(&wish(case)).await?;
        }
        for (case, _) in &CASES {
            stage.until_replicas(case.name, 4).await?;
        }
        Ok(())
    };
    stage.during(told).await
}

async fn is_told(stage: &Stage, name: &str, (rule, weight, measured, remedy): &Advice) -> anyhow::Result<()> {
    let finding = stage.until_finding(name, rule, "Open").await?;
    ensure!(finding.weight == *weight, "{name}: {finding:?}");
    ensure!(finding.evidence.contains(measured), "{name}: {}", finding.evidence);
    ensure!(finding.remedies.first().is_some_and(|first| first.contains(remedy)), "{name}: {:?}", finding.remedies);
    stage.until_told(name, "FindingOpened", &format!("{rule}: {}", finding.evidence)).await?;
    stage.shows_metric(name, rule, "Open").await
}
