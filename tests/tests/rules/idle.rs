//! GPUs that idle although nobody asks for more, with a day that takes seconds.

use crate::exposition::{Gauges, Labels, Replica};
use crate::meters::BUSY;
use crate::stage::{Case, Stage, wish};
use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde_json::json;
use wellfed_crds::ConditionStatus::False;
use wellfed_crds::FindingStatus;

const IDLE: Gauges = &[
    ("DCGM_FI_DEV_GPU_UTIL", 5.0),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.05),
    ("DCGM_FI_PROF_SM_ACTIVE", 0.03),
    ("DCGM_FI_PROF_DRAM_ACTIVE", 0.02),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.01),
    ("DCGM_FI_DEV_FB_USED_RATIO", 0.12),
];

const AT_WORK: &[Replica] = &[Replica::of(BUSY); 2];

const CASE: Case =
    Case { name: "idle", class: "Inference", replicas: &[Replica::of(IDLE); 2], labels: Labels::Honoured };

/// Once it is told nothing more is written, until something changes; demand that comes changes no finding.
#[tokio::test(flavor = "multi_thread")]
async fn truth_row_1_a_service_that_idles_at_its_minimum_is_told_once_what_that_costs() -> anyhow::Result<()> {
    let stage = Stage::set("idle", &[CASE]).await?;
    stage.demands("idle", 1);
    let card = |memory: u32, price: &str| json!({"gpus": {"memory": memory}, "pricePerGpuHour": price});
    let told = async {
        let pool = stage.pool("h100", card(81_920, "3")).await?;
        let small = stage.pool("l4", card(24_576, "0.8")).await?;
        let pools = json!([{"name": pool, "scaleTargetRef": target()}]);
        let wish = wish(&CASE).with("spec.minReplicas", 2).with("spec.pools", pools).without("spec", "scaleTargetRef");
        // Eighteen seconds.
        stage.apply(&wish.with("spec.gate.thresholds", json!({"quietHoursFrom": "0.005"}))).await?;

        let idle = stage.until_finding("idle", "Underused", "Open").await?;
        is_told(&stage, &idle, "minReplicas", "minReplicas 1 or a schedule frees 1, 3.00 an hour").await?;
        let large = stage.until_finding("idle", "OversizedGpu", "Open").await?;
        let saved =
            format!("the GPUs of pool \"{small}\" would hold it, check their speed first; they save 4.40 an hour");
        is_told(&stage, &large, "smaller class", &saved).await?;
        let decision = stage.status("idle").await?.decision.context("no decision")?;
        ensure!(decision.verdict == "Unknown", "{decision:?}");
        at_rest(&stage).await?;

        stage.demands("idle", 4);
        // The pools have no room; the gate lets it pass.
        stage.until_condition("idle", "Starved", False).await?;
        stage.after_cycles(5).await?;
        let still = stage.finding("idle", "Underused").await?;
        ensure!((&still.state, still.since) == (&idle.state, idle.since), "{still:?}, and before {idle:?}");

        stage.becomes("idle", AT_WORK);
        stage.until_told("idle", "FindingClosed", "Underused has not shown in the last evaluations").await?;
        let opened = stage.events("idle").await?;
        let opened = opened.iter().filter(|event| event.reason.as_deref() == Some("FindingOpened"));
        let opened = opened.filter(|event| event.note.as_deref().is_some_and(|note| note.starts_with("Underused")));
        ensure!(opened.count() == 1, "it was told more than once");
        Ok(())
    };
    stage.during(told).await
}

fn target() -> serde_json::Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "idle"})
}

async fn is_told(stage: &Stage, finding: &FindingStatus, remedy: &str, saved: &str) -> anyhow::Result<()> {
    ensure!((finding.weight.as_str(), finding.last_seen) == ("Advice", None), "{finding:?}");
    ensure!(finding.evidence.contains("GPUs 5 % active"), "{finding:?}");
    ensure!(finding.evidence.contains(", and so at every look for "), "{finding:?}");
    ensure!(finding.remedies.first().is_some_and(|first| first.starts_with(remedy)), "{finding:?}");
    ensure!(finding.savings.as_deref().is_some_and(|text| text.contains(saved)), "{finding:?}, not {saved}");
    stage.until_told("idle", "FindingOpened", &format!("{}: {}", finding.rule, finding.evidence)).await?;
    stage.shows_metric("idle", &finding.rule, "Open").await
}

/// Looks go on, and nothing is written.
async fn at_rest(stage: &Stage) -> anyhow::Result<()> {
    stage.after_cycles(10).await?;
    let begun = Timestamp::now();
    stage.after_cycles(10).await?;
    let writes = stage.writes()?.since(begun);
    ensure!(writes.summary().is_empty(), "{}", writes.summary());
    Ok(())
}
