//! Growth that brought nothing ends at a ceiling.

use crate::exposition::{Labels, Replica};
use crate::meters::BUSY;
use crate::stage::{Case, Stage, wish};
use anyhow::ensure;
use serde_json::json;
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::operator_fixture::SOON;

/// Storage and CPU are measured and idle; the links are not measured.
const ALONE: Replica = Replica {
    gpu: BUSY,
    container: &[("container_cpu_usage_seconds_total", 1.0), ("container_pressure_io_waiting_seconds_total", 0.02)],
    server: &[],
    counters: &[("vllm:generation_tokens_total", 1_000.0)],
};

/// What a shared bottleneck leaves each of twice as many.
const CROWDED: Replica = Replica { counters: &[("vllm:generation_tokens_total", 400.0)], ..ALONE };

const CASE: Case = Case { name: "crowd", class: "Inference", replicas: &[ALONE; 2], labels: Labels::Honoured };

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_brought_nothing_are_found_out_and_no_more_are_added() -> anyhow::Result<()> {
    let stage = Stage::set("growth", &[CASE]).await?;
    // Two more, and a long pause: what they bring can be seen before the next.
    let pause = json!({"policies": [{"type": "Pods", "value": 2, "periodSeconds": 1800}]});
    stage.demands("crowd", 8);
    let told = async {
        stage.apply(&wish(&CASE).with("spec.behavior.scaleUp", pause)).await?;
        stage.until_replicas("crowd", 4).await?;
        stage.until_ready("crowd", 4, SOON).await?;
        stage.becomes("crowd", &[CROWDED; 4]);

        let finding = stage.until_finding("crowd", "ScaleOutIneffective", "Open").await?;
        let grown = "growing from 2 to 4 replicas changed ";
        ensure!(finding.evidence.starts_with(grown) && finding.weight == "Veto", "{finding:?}");
        let points: Vec<_> =
            finding.checklist.iter().map(|point| (point.name.as_str(), point.result.as_str())).collect();
        ensure!(points == [("data", "Passed"), ("communication", "Unknown"), ("CPU", "Passed")], "{points:?}");
        ensure!(finding.remedies.first().is_some_and(|first| first.contains("data first")), "{finding:?}");
        stage.until_told("crowd", "FindingOpened", "ScaleOutIneffective: growing from 2 to 4").await?;
        stage.shows_metric("crowd", "ScaleOutIneffective", "Open").await?;

        stage.apply(&wish(&CASE)).await?;
        let limited = stage.until_reason("crowd", "ScalingLimited", "Ceiling").await?;
        ensure!(limited.status == True && limited.message.contains(grown), "{limited:?}");
        stage.after_cycles(5).await
    };
    stage.during(told).await?;
    let scalings = stage.scalings("crowd")?;
    ensure!(scalings.len() == 1, "crowd was scaled more than once:\n{}", scalings.summary());
    Ok(())
}
