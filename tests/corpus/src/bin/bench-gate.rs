//! Prints how often the gate is right on both halves of the corpus, and fails where that is not often enough.

use anyhow::{Context, Result};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Instant;
use wellfed_corpus::case::Case;
use wellfed_corpus::classes::{Class, LOOKED_AT};
use wellfed_corpus::dice::Half;
use wellfed_corpus::inloop::followed;
use wellfed_corpus::label::label;
use wellfed_corpus::score::{Score, judge_all};
use wellfed_corpus::table::{render, seen, told};
use wellfed_corpus::watch::{Watch, defaults};

const OUTPUT: &str = "target/bench/gate.json";

/// Seed A's result with that of seed B beside it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    #[serde(flatten)]
    seed_a: Score,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed_b: Option<Score>,
}

/// `--only-a` leaves seed B alone, which is for results and never for tuning; `--beyond N` plays as many scenarios of the same
/// ranges after the first N of each class, of seed B or with `--only-a` of seed A, and writes nothing; `--all` lists every
/// scenario; `--explain CLASS INDEX` tells minute by minute what the gate saw and said in one scenario of seed A, and
/// `--follow CLASS INDEX` what it said and what was decided in the loop.
fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|one| one == name);
    if let [flag @ ("--explain" | "--follow"), class, index] = words(&arguments).as_slice() {
        let index = index.parse().context("the index of a scenario is a number")?;
        return if *flag == "--follow" { follow(class, index) } else { explain(class, index) };
    }
    let started = Instant::now();
    if let Some(at) = arguments.iter().position(|one| one == "--beyond") {
        let beyond = arguments.get(at + 1).and_then(|number| number.parse().ok());
        let beyond = beyond.context("how many scenarios to pass over is a number")?;
        let (title, half) = if has("--only-a") { ("seed A, beyond", Half::A) } else { ("seed B, beyond", Half::B) };
        scored(title, (half, beyond), has("--all"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let seed_a = scored("seed A", (Half::A, 0), has("--all"))?;
    let seed_b = if has("--only-a") { None } else { Some(scored("seed B", (Half::B, LOOKED_AT), false)?) };
    println!("{} seconds", started.elapsed().as_secs());
    let reached = seed_a.reaches_the_goal() && seed_b.as_ref().is_none_or(Score::reaches_the_goal);
    let report = serde_json::to_string_pretty(&Report { seed_a, seed_b })?;
    std::fs::create_dir_all("target/bench").context("target/bench cannot be made; run it in the repository's root")?;
    std::fs::write(OUTPUT, report + "\n").with_context(|| format!("{OUTPUT} cannot be written"))?;
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn scored(title: &str, (half, beyond): (Half, u64), all: bool) -> Result<Score> {
    let judged = judge_all(half, beyond)?;
    let score = Score::of(&judged);
    println!("{}", render(title, &score, &judged));
    if all {
        for one in &judged {
            println!("  {}", told(one));
        }
    }
    Ok(score)
}

fn case(class: &str, index: u64) -> Result<Case> {
    let class = Class::named(class).with_context(|| format!("there is no class \"{class}\""))?;
    class.case(Half::A, index)
}

fn follow(class: &str, index: u64) -> Result<ExitCode> {
    let case = case(class, index)?;
    println!("{}\n{}\n{:?}", case.name, case.draft.model, case.drawn);
    let looped = followed(&case, &mut |line| println!("{line}"))?;
    println!("{looped:?}");
    Ok(ExitCode::SUCCESS)
}

fn explain(class: &str, index: u64) -> Result<ExitCode> {
    let case = case(class, index)?;
    let mut watch = Watch::new(&case, defaults(case.draft.work)?);
    let label = label(&case, &mut watch)?;
    println!("{}\n{}\n{:?}\n{label:?}", case.name, case.draft.model, case.drawn);
    for said in &watch.said {
        println!("minute {:.0}: {}", said.second / 60.0, seen(said));
    }
    Ok(ExitCode::SUCCESS)
}
