//! Plays a hundred workloads over recorded load with the gate and without it, prints what that costs and gives, and fails
//! where the gate is not worth having.

use anyhow::{Context, Result};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Instant;
use wellfed_corpus::decide::bench::{Played, play};
use wellfed_corpus::decide::mixture::{Mixture, Part};
use wellfed_corpus::decide::row::Arm;
use wellfed_corpus::decide::sum::{Sum, sums};
use wellfed_corpus::decide::{table, verdict};

const OUTPUT: &str = "target/bench/decide.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    scenarios: Vec<Played>,
    saturated: Vec<Sum>,
    starved: Vec<Sum>,
    all: Vec<Sum>,
    against: Vec<String>,
}

/// `--mixture FILE` plays another mixture. Names of scenarios play these alone, and say nothing of the whole.
fn main() -> Result<ExitCode> {
    let mut only: Vec<String> = std::env::args().skip(1).collect();
    let began = Instant::now();
    let mut mixture = if only.first().is_some_and(|first| first == "--mixture") {
        let file: String = only.drain(..2.min(only.len())).next_back().unwrap_or_default();
        Mixture::parse(&std::fs::read_to_string(&file).with_context(|| format!("{file} cannot be read"))?, &file)?
    } else {
        Mixture::bundled()?
    };
    mixture.scenarios.retain(|entry| only.is_empty() || only.contains(&entry.name));
    let scenarios = play(&mixture, |one| println!("{}", table::of(one)))?;
    let part = |part| sums(&scenarios, part);
    let (saturated, starved, all) = (part(Some(Part::Saturated)), part(Some(Part::Starved)), part(None));
    println!("{}", table::summed("The saturated workloads together", &saturated));
    println!("{}", table::summed("The starved workloads together", &starved));
    println!("{}", table::summed("All together", &all));
    for arm in Arm::all() {
        let hours = verdict::starved_hours(&scenarios, arm);
        println!("  starved, GPU-hours a day for all of the work in time  {arm:<30}  {hours:>12.0}");
    }
    let against = verdict::against(&scenarios);
    for finding in &against {
        println!("AGAINST THE GATE  {finding}");
    }
    println!("{} seconds", began.elapsed().as_secs());
    let worth = against.is_empty();
    write(&Report { scenarios, saturated, starved, all, against })?;
    Ok(if worth { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(report: &Report) -> Result<()> {
    let text = serde_json::to_string_pretty(report)?;
    std::fs::create_dir_all("target/bench").context("target/bench cannot be made; run it in the repository's root")?;
    std::fs::write(OUTPUT, text + "\n").with_context(|| format!("{OUTPUT} cannot be written"))
}
