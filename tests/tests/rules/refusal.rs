//! What a refusal is to look like, wherever it shows.

use crate::stage::{Case, Stage};
use anyhow::ensure;
use wellfed_crds::ConditionStatus::True;

/// A workload that is refused, and what a person reads of it.
pub struct Refusal {
    /// The workload.
    pub case: Case,
    /// The rule that refuses.
    pub rule: &'static str,
    /// A part of what was measured.
    pub measured: &'static str,
    /// A part of the first remedy.
    pub remedy: &'static str,
}

impl Refusal {
    /// Waits until it is refused, and looks at the condition, the finding, the events and the metric.
    pub async fn is_told(&self, stage: &Stage) -> anyhow::Result<()> {
        let Self { case: Case { name, .. }, rule, measured, remedy } = *self;
        let starved = stage.until_condition(name, "Starved", True).await?;
        ensure!(starved.reason == rule && starved.message.contains(consequence(rule)), "{name}: {starved:?}");
        let finding = stage.finding(name, rule).await?;
        ensure!((finding.weight.as_str(), finding.state.as_str()) == ("Veto", "Open"), "{name}: {finding:?}");
        ensure!(finding.evidence.contains(measured), "{name}: {}", finding.evidence);
        ensure!(finding.remedies.first().is_some_and(|first| first.contains(remedy)), "{name}: {finding:?}");
        stage.until_told(name, "FindingOpened", &format!("{rule}: {}", finding.evidence)).await?;
        stage.shows_metric(name, rule, "Open").await
    }

    /// Its Deployment was never scaled, and the decision says why.
    pub async fn holds(&self, stage: &Stage) -> anyhow::Result<()> {
        let Self { case: Case { name, .. }, rule, .. } = *self;
        let why = stage.status(name).await?.decision.map(|decision| decision.why);
        ensure!(why.as_deref() == Some(&format!("GateRefused: {rule}")), "{name}: {why:?}");
        let scalings = stage.scalings(name)?;
        ensure!(scalings.is_empty(), "{name} was scaled:\n{}", scalings.summary());
        Ok(())
    }
}

/// What would become of more GPUs, in the words of the refusal.
fn consequence(rule: &str) -> &'static str {
    match rule {
        "SerialRequests" => "one more GPU would serve one more at a time",
        "Stalled" => "more GPUs would hang as well",
        "Imbalance" => "one more replica would be one more idle one",
        "MemoryBound" => "another replica would hold as much and be as slow",
        "Straggler" => "more of them would be held up as well",
        "RunNotProgressing" => "with more GPUs it would get nowhere faster",
        "GpuOutOfMemory" => "more replicas have no more memory each",
        "Underused" => "more GPUs would be used as little",
        "LatencyNotQueueBound" => "another replica would answer as late",
        _ => "more GPUs would wait as well",
    }
}
