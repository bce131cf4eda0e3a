//! Phases in which GPUs rest for a good reason, and workloads that want no more.

use super::{parts, served, working};
use crate::case::{Draft, Phase, Work};
use crate::dice::Dice;
use crate::models::{Training, rate, span};
use serde_json::{Value, json};

/// A chat, a vision service or a training run that is at work, by turns.
pub fn at_work(dice: &mut Dice, index: u64) -> Draft {
    match index % 3 {
        0 => working::mixed(dice, index),
        1 => working::vision(dice, index),
        _ => working::training(dice, index),
    }
}

/// Quiet minutes, then a burst above what the replicas can answer, again and again.
pub fn bursty(dice: &mut Dice, index: u64) -> Draft {
    let draft = if index.is_multiple_of(2) { working::mixed(dice, index) } else { working::vision(dice, index) };
    let quiet = 60.0 * dice.real("quietMinutes", 2.0, 7.0);
    let burst = 60.0 * dice.real("burstMinutes", 2.0, 9.0);
    let rates = &draft.arrivals["rate"];
    let (low, high) = (number(&rates["perSecond"]), number(&rates["steps"][0]["perSecond"]));
    let rounds = (f64::from(draft.minutes) * 60.0 / (quiet + burst)).ceil() as u32;
    let starts = (0..rounds).map(|round| f64::from(round) * (quiet + burst));
    let steps: Vec<_> = starts.flat_map(|at| [(at, 0.4 * low), (at + quiet, high)]).collect();
    let tokens = |name: &str| rates[name].as_u64().unwrap_or(1) as u32;
    let arrivals = rate(0.4 * low, &steps, tokens("promptTokens"), tokens("outputTokens"));
    Draft { arrivals, ..draft }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// Some or all replicas load their weights while work waits already; a trainer's first reads are slow besides.
pub fn warm_up(dice: &mut Dice, index: u64) -> Draft {
    let draft = at_work(dice, index);
    let until = 60.0 * dice.real("loadingMinutes", 2.0, 9.0);
    let first = if index.is_multiple_of(2) { 0 } else { draft.replicas / 2 };
    let phases = (first..=draft.replicas).map(|replica| Phase { replica, from: 0.0, until, gone: false }).collect();
    // A server turns Ready when it can answer, a trainer when its process runs.
    let compiles = if draft.work == Work::Inference { (0.3, 3.0) } else { (1.0, 8.0) };
    let compiles = 60.0 * dice.real("compilingMinutes", compiles.0, compiles.1);
    let mut draft = Draft { phases, model: served::compiling(draft.model.clone(), compiles), ..draft };
    if draft.work == Work::Training {
        let cold = dice.real("coldMinutes", 1.0, 4.0) * 60.0;
        let slow = json!(reading(&draft) / dice.real("coldSlower", 2.0, 5.0));
        // Caches are cold for as long as it takes to read through once, not while nobody reads.
        draft.changes.push((until + compiles, STORAGE.into(), slow));
        draft.changes.push((until + compiles + cold, STORAGE.into(), Value::Null));
    }
    draft
}

const STORAGE: &str = "model.training.storage.bytesPerSecond";

/// Bytes a second that all replicas of a trainer read at full speed.
fn reading(draft: &Draft) -> f64 {
    let training = &draft.model["training"];
    let step = number(&training["gpuSecondsPerStep"]);
    let bytes = number(&training["samplesPerStep"]) * number(&training["loader"]["bytesPerSample"]);
    f64::from(draft.replicas) * bytes / step
}

/// Every some minutes a trainer does something else for a while: `during` and `after` are what it changes.
fn now_and_then(dice: &mut Dice, draft: Draft, during: &[(&str, Value)], after: &[(&str, Value)]) -> Draft {
    let period = 60.0 * dice.real("periodMinutes", 5.0, 14.0);
    let length = period * dice.real("shareOfPeriod", 0.05, 0.28);
    let mut changes = Vec::new();
    let rounds = (f64::from(draft.minutes) * 60.0 / period).floor() as u32;
    for begin in (1..=rounds).map(|round| f64::from(round) * period - length) {
        changes.extend(during.iter().map(|(path, value)| (begin, (*path).to_owned(), value.clone())));
        changes.extend(after.iter().map(|(path, value)| (begin + length, (*path).to_owned(), value.clone())));
    }
    Draft { changes, ..draft }
}

/// Evaluation: forward passes alone, of which each second time the loader makes too few.
pub fn evaluation(dice: &mut Dice, index: u64) -> Draft {
    if index.is_multiple_of(2) {
        return phase(dice, index, "evaluation");
    }
    let limit = f64::from(dice.whole("cpuLimit", 4, 24));
    let training = parts::trainer(dice, limit);
    let draft = parts::trained(dice, index, limit, training);
    let forward = dice.real("forwardOfStep", 0.2, 0.4);
    let loads = dice.real("loaderSlower", 1.2, 3.0);
    let (step, cpu) = ("model.training.gpuSecondsPerStep", "model.training.loader.cpuSecondsPerSample");
    let slow = loads * limit * forward / training.rate();
    let during = [(step, json!(forward * training.compute)), (cpu, json!(slow))];
    now_and_then(dice, draft, &during, &[(step, json!(training.compute)), (cpu, json!(training.cpu))])
}

/// Checkpoints: nothing is computed while they are written.
pub fn checkpoint(dice: &mut Dice, index: u64) -> Draft {
    phase(dice, index, "checkpoint")
}

fn phase(dice: &mut Dice, index: u64, name: &str) -> Draft {
    let mut draft = working::training(dice, index);
    let every = 60.0 * dice.real("periodMinutes", 5.0, 14.0);
    let lasts = every * dice.real("shareOfPeriod", 0.03, 0.28);
    draft.model["training"]["phases"] = json!({name: {"every": span(every), "lasts": span(lasts)}});
    draft
}

/// A replica or two are taken back, and others in their place load.
pub fn spot_restart(dice: &mut Dice, index: u64) -> Draft {
    let draft = at_work(dice, index);
    let from = 60.0 * dice.real("takenAtMinute", 4.0, 12.0);
    let back = from + 60.0 * dice.real("goneMinutes", 1.0, 5.0);
    let ready = back + 60.0 * dice.real("loadingMinutes", 1.0, 5.0);
    let lost = if draft.replicas > 3 { 1 + index as u32 % 2 } else { 1 };
    let life = |replica| {
        [Phase { replica, from, until: back, gone: true }, Phase { replica, from: back, until: ready, gone: false }]
    };
    Draft { phases: (0..lost).flat_map(life).collect(), ..draft }
}

/// Work that the replicas are up to.
pub fn idle(dice: &mut Dice, index: u64) -> Draft {
    let load = dice.real("idleLoad", 0.03, 0.4);
    let limit = f64::from(dice.whole("cpuLimit", 8, 16));
    let draft = match index % 3 {
        0 => {
            let (llm, product) = parts::llm(dice, &parts::CHAT);
            let draft = parts::serving(dice, index, product);
            parts::under_load(dice, draft, &llm, load)
        }
        1 => {
            let draft = parts::serving(dice, index, "NVIDIA L40S");
            let service = parts::service(dice, limit);
            parts::service_under_load(dice, draft, &service, load)
        }
        _ => {
            let training = parts::trainer(dice, limit);
            let draft = parts::trained(dice, index, limit, training);
            let arrivals = rate(load * f64::from(draft.replicas) * training.rate(), &[], 1, 1);
            Draft { model: Training { backlog: 0.0, ..training }.json(), arrivals, ..draft }
        }
    };
    Draft { cpu_limit: Some(limit), ..draft }
}
