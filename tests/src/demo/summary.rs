//! What came of it, for programs (`summary.json`) and for people.

use super::history::{History, Past};
use super::look::Peaks;
use anyhow::{Context, Result};
use comfy_table::{Table, presets};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The whole demo.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// How long it took.
    pub seconds: u64,
    /// The API server's version.
    pub kubernetes: String,
    /// Each workload.
    pub workloads: BTreeMap<&'static str, WorkloadSummary>,
}

/// One workload.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadSummary {
    /// Replicas at first.
    pub initial: i64,
    /// Replicas at most.
    pub peak: i64,
    /// Replicas at last.
    #[serde(rename = "final")]
    pub last: i64,
    /// Each pool's most.
    pub pools: BTreeMap<String, i64>,
    /// The longest queue.
    pub queue_peak: f64,
    /// The last queue; the last known one where metrics vanished.
    pub queue_final: f64,
    /// Whether more GPUs would help.
    pub verdict: String,
    /// The step that decides at the end.
    pub binding: String,
    /// The findings that stand.
    pub findings: Vec<String>,
    /// One sentence.
    pub explain: String,
}

impl Summary {
    /// From what happened.
    pub fn of(version: &str, took: Duration, history: &History, peaks: &Peaks) -> Self {
        let workloads = history.workloads.iter().map(|(name, past)| {
            let queue = peaks.get(name).copied().unwrap_or_default();
            (*name, WorkloadSummary::of(past, queue))
        });
        Self { seconds: took.as_secs(), kubernetes: version.to_owned(), workloads: workloads.collect() }
    }

    /// Writes `summary.json`.
    pub fn write(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let json = serde_json::to_string_pretty(self)?;
        std::fs::write(path, format!("{json}\n")).with_context(|| format!("{} can't be written", path.display()))
    }
}

impl WorkloadSummary {
    fn of(past: &Past, (queue_peak, queue_final): (f64, f64)) -> Self {
        let decision = past.status.decision.as_ref();
        Self {
            initial: past.initial(),
            peak: past.peak,
            last: past.last(),
            pools: past.pools.iter().map(|(pool, course)| (pool.clone(), course.peak)).collect(),
            queue_peak: queue_peak.round(),
            queue_final: queue_final.round(),
            verdict: decision.map(|decision| decision.verdict.clone()).unwrap_or_default(),
            binding: decision.map(|decision| decision.binding.clone()).unwrap_or_default(),
            findings: past.status.findings.iter().map(|finding| finding.rule.clone()).collect(),
            explain: decision.map(|decision| decision.summary.clone()).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header([
            "workload",
            "replicas: first, most, last",
            "most by pool",
            "queue: most, last",
            "more GPUs?",
            "findings",
        ]);
        for (name, one) in &self.workloads {
            let pools: Vec<_> = one.pools.iter().map(|(pool, peak)| format!("{pool} {peak}")).collect();
            table.add_row([
                (*name).to_owned(),
                format!("{} → {} → {}", one.initial, one.peak, one.last),
                pools.join(", "),
                format!("{} → {}", one.queue_peak, one.queue_final),
                one.verdict.clone(),
                one.findings.join(", "),
            ]);
        }
        writeln!(f, "Kubernetes {}, {} s\n{table}", self.kubernetes, self.seconds)?;
        for (name, one) in &self.workloads {
            writeln!(f, "{name}: {}", one.explain)?;
        }
        Ok(())
    }
}
