//! What the rules compare with, and rules that are overruled, by name.

use crate::exposition::{Labels, Replica};
use crate::meters::WAITING;
use crate::stage::{Case, Stage, wish};
use anyhow::ensure;
use serde_json::json;
use wellfed_crds::ConditionStatus::{False, True};

/// It waits for storage two thirds of the time in which its GPU idles.
const FETCHING: Replica = Replica {
    gpu: WAITING,
    container: &[("container_cpu_usage_seconds_total", 1.6), ("container_pressure_io_waiting_seconds_total", 0.4)],
    server: &[],
    counters: &[],
};

const fn reader(name: &'static str) -> Case {
    Case { name, class: "Training", replicas: &[FETCHING; 2], labels: Labels::Honoured }
}

const STRICT: Case = reader("strict");
const PATIENT: Case = reader("patient");

#[tokio::test(flavor = "multi_thread")]
async fn a_threshold_of_ones_own_changes_the_verdict_and_a_slip_in_its_name_is_answered() -> anyhow::Result<()> {
    let stage = Stage::set("thresholds", &[STRICT, PATIENT]).await?;
    let named = |name: &str| wish(&PATIENT).with("spec.gate.thresholds", json!({ name: "600m" }));
    let told = async {
        stage.apply(&wish(&STRICT)).await?;
        stage.apply(&named("ioPresureFrom")).await?;
        let refused = stage.until_condition("patient", "Accepted", False).await?;
        let helpful = "spec.gate.thresholds.ioPresureFrom: no threshold \"ioPresureFrom\"; the nearest are \
                       ioPressureFrom, ";
        ensure!(refused.reason == "UnknownThreshold" && refused.message.starts_with(helpful), "{refused:?}");
        ensure!(refused.message.contains("docs/thresholds.md lists all"), "{refused:?}");

        stage.apply(&named("ioPressureFrom")).await?;
        stage.until_replicas("patient", 4).await?;
        let shown = stage.status("patient").await?.policy.unwrap_or_default();
        ensure!(format!("{shown:?}").contains(r#""ioPressureFrom": "0.6""#), "{shown:?}");
        strict_is_refused(&stage).await
    };
    stage.during(told).await?;
    strict_stays(&stage)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_overruled_holds_nothing_and_a_slip_in_its_name_is_answered() -> anyhow::Result<()> {
    let stage = Stage::set("overruled", &[STRICT, PATIENT]).await?;
    let overruling = |rule: &str, stance: &str| wish(&PATIENT).with("spec.gate.rules", json!({ rule: stance }));
    let told = async {
        stage.apply(&wish(&STRICT)).await?;
        stage.apply(&overruling("StorageStal", "Advise")).await?;
        let refused = stage.until_condition("patient", "Accepted", False).await?;
        let helpful = "spec.gate.rules.StorageStal: no rule \"StorageStal\"; the nearest are StorageStall, ";
        ensure!(refused.reason == "UnknownRule" && refused.message.starts_with(helpful), "{refused:?}");

        stage.apply(&overruling("StorageStall", "Advise")).await?;
        stage.until_replicas("patient", 4).await?;
        let advice = stage.until_finding("patient", "StorageStall", "Open").await?;
        ensure!(advice.weight == "Advice", "{advice:?}");
        let shown = stage.status("patient").await?.policy.unwrap_or_default();
        ensure!(format!("{:?}", shown.rules) == r#"{"StorageStall": "Advise"}"#, "{shown:?}");
        strict_is_refused(&stage).await
    };
    stage.during(told).await?;
    strict_stays(&stage)
}

/// The same GPUs are refused more where nobody said otherwise.
async fn strict_is_refused(stage: &Stage) -> anyhow::Result<()> {
    let starved = stage.until_condition("strict", "Starved", True).await?;
    ensure!(starved.reason == "StorageStall", "{starved:?}");
    stage.after_cycles(3).await
}

fn strict_stays(stage: &Stage) -> anyhow::Result<()> {
    let scalings = stage.scalings("strict")?;
    ensure!(scalings.is_empty(), "{}", scalings.summary());
    Ok(())
}
