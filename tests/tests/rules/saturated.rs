//! GPUs at work: growth passes, the decision says by which rule, and it is no finding.

use crate::exposition::{Gauges, Labels, Replica};
use crate::meters::BUSY;
use crate::stage::{Case, Stage, wish};
use anyhow::ensure;
use wellfed_crds::ConditionStatus::False;

/// Decoding for many: few SMs, and the memory at its practical peak.
const DECODING: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 99.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.96),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.3),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.45),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.08),
];

const CASES: [Case; 2] = [
    Case { name: "training", class: "Training", replicas: &[Replica::of(BUSY); 2], labels: Labels::Honoured },
    Case { name: "decoding", class: "Inference", replicas: &[Replica::of(DECODING); 2], labels: Labels::Exported },
];

const AT_WORK: &str = "GPUs are at work (Saturated), so more would help";

#[tokio::test(flavor = "multi_thread")]
async fn saturated_gpus_let_growth_pass_and_the_decision_says_so() -> anyhow::Result<()> {
    let stage = Stage::set("saturated", &CASES).await?;
    let told = async {
        for case in &CASES {
            // Held back by hand, so that the decision stands. What is unknown is held: an unjudged one would not grow.
            stage.apply(&wish(case).with("spec.mode", "Recommend")).await?;
        }
        for case in &CASES {
            let fed = stage.until_condition(case.name, "Starved", False).await?;
            ensure!(fed.reason == "GpusFed", "{}: {fed:?}", case.name);
            stage.until_said(case.name, AT_WORK).await?;
            let findings = stage.status(case.name).await?.findings;
            ensure!(findings.iter().all(|finding| finding.rule != "Saturated"), "{}: {findings:?}", case.name);
            stage.apply(&wish(case)).await?;
        }
        for case in &CASES {
            stage.until_replicas(case.name, 4).await?;
            stage.until_told(case.name, "Scaled", "2 to 4 replicas").await?;
        }
        Ok(())
    };
    stage.during(told).await
}
