//! `make demo`: a real control plane, three GPU workloads, about four and a half minutes, and a check of what came of it.

mod check;
mod cure;
mod history;
mod look;
mod mutant;
mod stage;
mod summary;
mod table;

pub use mutant::Mutant;

use crate::binaries::Binaries;
use crate::supervise::Interrupts;
use anyhow::Context;
use cure::{CURED_AT, cure};
use look::{Looker, Peaks};
use stage::Stage;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long the traffic is played once the first replicas are Ready.
const PLAYED: Duration = Duration::from_mins(4);
/// How often the table is shown.
const SHOWN_EVERY: Duration = Duration::from_secs(5);
/// How long the first replicas may take.
const BEGIN_WITHIN: Duration = Duration::from_mins(2);

/// What to play.
#[derive(Clone, Debug)]
pub struct Play {
    /// Leave the control plane up at the end.
    pub keep: bool,
    /// One thing changed, so that the check must fail.
    pub mutant: Option<Mutant>,
    /// Where the summary goes.
    pub output: PathBuf,
}

/// Plays, shows and checks; true if everything came out as it should. An interrupt ends everything.
pub async fn run(play: &Play) -> anyhow::Result<bool> {
    let mut interrupts = Interrupts::listen()?;
    let (stage, failures) = tokio::select! {
        played = perform(play) => played?,
        signal = interrupts.next() => anyhow::bail!("interrupted ({signal}): everything was ended"),
    };
    if play.keep {
        stage.how_to_look_around().await;
        interrupts.next().await;
    }
    stage.strike().await?;
    Ok(failures.is_empty())
}

async fn perform(play: &Play) -> anyhow::Result<(Stage, Vec<String>)> {
    let started = Instant::now();
    say("starting etcd, kube-apiserver, controller-manager, scheduler, KWOK and Prometheus");
    let stage = Stage::set(Binaries::resolve().await?).await?;
    say(&format!("Kubernetes {} is up; installing the charts and applying examples/", stage.version));
    stage.open(play.mutant).await?;
    let peaks =
        watch(&stage, play).await.inspect_err(|_| eprintln!("the operator's last words:\n{}", stage.last_words()))?;
    let (summary, failures) = stage.close(&peaks, started.elapsed()).await?;
    summary.write(&play.output)?;
    println!("\n{summary}");
    println!("written to {}", play.output.display());
    for failure in &failures {
        println!("not as expected: {failure}");
    }
    Ok((stage, failures))
}

async fn watch(stage: &Stage, play: &Play) -> anyhow::Result<Peaks> {
    let mut looker = Looker::new(stage).await?;
    say("waiting for the first replicas to load their models");
    let since = Instant::now();
    while looker.look().await?.seconds.is_none() {
        anyhow::ensure!(since.elapsed() < BEGIN_WITHIN, "the first replicas were not Ready within {BEGIN_WITHIN:?}");
        sleep(Duration::from_secs(1)).await;
    }
    let begun = Instant::now();
    let mut shown: Option<Instant> = None;
    let mut cured = play.mutant == Some(Mutant::NeverCured);
    while begun.elapsed() < PLAYED {
        if let Some(mutant) = play.mutant {
            mutant.at(begun.elapsed(), stage).await.context("the mutant")?;
        }
        if !cured && begun.elapsed() >= CURED_AT {
            cure(stage).await.context("the cure of vision-train")?;
            cured = true;
        }
        let look = looker.look().await?;
        if shown.is_none_or(|at| at.elapsed() >= SHOWN_EVERY) {
            shown = Some(Instant::now());
            table::show(&look, PLAYED);
        }
        sleep(Duration::from_secs(1)).await;
    }
    Ok(looker.peaks())
}

fn say(text: &str) {
    println!("» {text}");
}
