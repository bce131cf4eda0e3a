//! Evidence that can't carry a verdict: it is told why, and growth is decided by `onUnknown`.

use crate::exposition::{Gauges, Labels, Replica};
use crate::meters::STARVED;
use crate::stage::{Case, Stage, wish};
use anyhow::ensure;
use wellfed_crds::ConditionStatus::Unknown;

/// Busy all the time, at full power, and profiled at nothing at all: the profiling broke.
const CONTRADICTING: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 100.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.0),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.0),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.0),
    ("DCGM_FI_DEV_POWER_USAGE", 600.0),
];

const fn with(gpu: Gauges) -> Replica {
    Replica { gpu, container: &[("container_cpu_usage_seconds_total", 7.7)], server: &[], counters: &[] }
}

const fn case(name: &'static str, class: &'static str, replicas: &'static [Replica], labels: Labels) -> Case {
    Case { name, class, replicas, labels }
}

const CONTRADICT: &str = "at 2 GPUs counters contradict each other";
const UNSEEN: &str = "0 of 2 GPUs report all the time; check the exporter and its pod labels";

/// Of each kind one that holds what is unknown, and one that lets it pass. Starved GPUs beside a CPU at its limit would be
/// refused if they were anybody's.
const HELD: [(Case, &str); 2] = [
    (case("broken-held", "Training", &[with(CONTRADICTING); 2], Labels::Honoured), CONTRADICT),
    (case("bare-held", "Training", &[with(STARVED); 2], Labels::Bare), UNSEEN),
];
const PASSED: [(Case, &str); 2] = [
    (case("broken-passed", "Inference", &[with(CONTRADICTING); 2], Labels::Honoured), CONTRADICT),
    (case("bare-passed", "Inference", &[with(STARVED); 2], Labels::Bare), UNSEEN),
];

#[tokio::test(flavor = "multi_thread")]
async fn data_invalid_telemetry_that_contradicts_or_is_nobodys_leaves_no_verdict_and_on_unknown_decides()
-> anyhow::Result<()> {
    let all = [HELD, PASSED].concat();
    let stage = Stage::set("unknown", &all.iter().map(|(case, _)| *case).collect::<Vec<_>>()).await?;
    let told = async {
        for (case, _) in &all {
            // Held back by hand, so that they are looked at more than once.
            stage.apply(&wish(case).with("spec.mode", "Recommend")).await?;
        }
        for (case, why) in &all {
            let starved = stage.until_condition(case.name, "Starved", Unknown).await?;
            ensure!(starved.reason == "NoVerdict", "{}: {starved:?}", case.name);
            stage.until_said(case.name, why).await?;
            ensure!(stage.status(case.name).await?.findings.is_empty(), "{}: nothing is known of it", case.name);
        }
        for (case, _) in HELD {
            stage.apply(&wish(&case)).await?;
        }
        for (case, _) in PASSED {
            stage.apply(&wish(&case).with("spec.gate.onUnknown", "Allow")).await?;
        }
        for (case, _) in PASSED {
            stage.until_replicas(case.name, 4).await?;
        }
        stage.after_cycles(5).await
    };
    stage.during(told).await?;
    for (case, _) in HELD {
        let why = stage.status(case.name).await?.decision.map(|decision| decision.why);
        ensure!(why.as_deref() == Some("GateUnknown"), "{}: {why:?}", case.name);
        let scalings = stage.scalings(case.name)?;
        ensure!(scalings.is_empty(), "{} was scaled:\n{}", case.name, scalings.summary());
    }
    Ok(())
}
