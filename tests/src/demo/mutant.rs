//! One thing changed in the demo, so that its check must fail: the proof that the check can fail.

use super::stage::{NAMESPACE, Stage};
use anyhow::Result;
use clap::ValueEnum;
use serde_json::json;
use std::fmt;
use std::time::Duration;

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mutant {
    /// The gate of vision-train is off: it grows although its GPUs are starved.
    GateOff,
    /// chat's tokeniser is slow: its GPUs are starved, and more of them do not drain the queue.
    ChatStarved,
    /// search gets its metrics back.
    SearchRestored,
    /// Nobody does what vision-train is told.
    NeverCured,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GateOff => "the gate of vision-train is off",
            Self::ChatStarved => "chat waits for its tokeniser",
            Self::SearchRestored => "search gets its metrics back",
            Self::NeverCured => "nobody mends vision-train",
        })
    }
}

impl Mutant {
    /// What is changed before the traffic.
    pub async fn before(self, stage: &Stage) -> Result<()> {
        match self {
            Self::GateOff => {
                let patch = r#"{"spec":{"gate":{"mode":"Off"}}}"#;
                let kubectl = stage.plane.kubectl()?;
                kubectl.run(&["-n", NAMESPACE, "patch", "gpuw", "vision-train", "--type=merge", "-p", patch]).await?;
                Ok(())
            }
            Self::ChatStarved => stage.world.set("chat", "model.llm.tokenizer.msPerRequest", json!(8000)).await,
            Self::SearchRestored | Self::NeverCured => Ok(()),
        }
    }

    /// What is changed while it plays, every second anew.
    pub async fn at(self, played: Duration, stage: &Stage) -> Result<()> {
        match self {
            Self::SearchRestored if played > Duration::from_secs(100) => {
                stage.world.set("search", "telemetry.metrics", json!("Normal")).await
            }
            Self::GateOff | Self::ChatStarved | Self::SearchRestored | Self::NeverCured => Ok(()),
        }
    }
}
