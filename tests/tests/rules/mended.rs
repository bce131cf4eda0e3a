//! A finding after its cause was worked on.

use crate::exposition::{Labels, Replica};
use crate::meters::{BUSY, STARVED};
use crate::stage::{Case, Stage, wish};
use anyhow::{Context, ensure};
use wellfed_crds::ConditionStatus::True;
use wellfed_crds::FiguresStatus;

const STARVING: Replica = Replica {
    gpu: STARVED,
    container: &[("container_cpu_usage_seconds_total", 7.7)],
    server: &[],
    counters: &[("training_samples_total", 100.0)],
};

/// The same job with more loader workers.
const FED: Replica = Replica {
    gpu: BUSY,
    container: &[("container_cpu_usage_seconds_total", 4.0)],
    server: &[],
    counters: &[("training_samples_total", 400.0)],
};

const CASE: Case = Case { name: "vision", class: "Training", replicas: &[STARVING; 2], labels: Labels::Exported };

/// Eight workers instead of two.
const PATCH: &str =
    r#"{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"NUM_WORKERS","value":"8"}]}]}}}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_finding_that_was_mended_is_tested_again_and_resolved_with_its_numbers() -> anyhow::Result<()> {
    let stage = Stage::set("mended", &[CASE]).await?;
    let told = async {
        stage.apply(&wish(&CASE)).await?;
        let starved = stage.until_condition("vision", "Starved", True).await?;
        ensure!(starved.reason == "DataLoader", "{starved:?}");

        stage.kubectl(&["patch", "deployment", "vision", "--type=strategic", "-p", PATCH]).await?;
        stage.until_finding("vision", "DataLoader", "Retesting").await?;
        stage.becomes("vision", &[FED; 2]);
        stage.until_told("vision", "FindingRetesting", "DataLoader is being tested").await?;
        let scalings = stage.scalings("vision")?;
        ensure!(scalings.is_empty(), "it grew untested:\n{}", scalings.summary());

        let finding = stage.until_finding("vision", "DataLoader", "Resolved").await?;
        let (before, after) = finding.before.as_ref().zip(finding.after.as_ref()).context("no numbers")?;
        let activity = (before.gpu_activity.as_deref(), after.gpu_activity.as_deref());
        ensure!(activity == (Some("0.22"), Some("0.95")), "{finding:?}");
        // Four times as much, as far as scrapes hit the counters.
        let gain = work(after)? / work(before)?;
        ensure!((3.0..5.0).contains(&gain), "{finding:?}");
        stage.until_told("vision", "FindingResolved", "GPU activity 0.22 → 0.95").await?;
        stage.shows_metric("vision", "DataLoader", "Resolved").await?;
        stage.until_replicas("vision", 4).await
    };
    stage.during(told).await
}

fn work(figures: &FiguresStatus) -> anyhow::Result<f64> {
    Ok(figures.throughput.as_deref().context("no throughput")?.parse()?)
}
