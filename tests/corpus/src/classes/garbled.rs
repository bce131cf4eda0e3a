//! Telemetry that is wrong in one way each, as clusters have it.

use super::{blind, parts, passing, starved, working};
use crate::case::{Draft, Fault};
use crate::dice::Dice;
use crate::models::Service;
use serde_json::Value;

/// MIG instances whose exporter sends the one field that is always zero there.
pub fn mig(dice: &mut Dice, index: u64) -> Draft {
    let draft = blind::any(dice, index);
    Draft { fault: Some(Fault::MigUtilisation), own_metrics: index % 4 == 2, mend: Vec::new(), ..draft }
}

/// GPUs that pods take turns on, of which the exporter names ours alone.
pub fn one_named(dice: &mut Dice, index: u64) -> Draft {
    Draft { fault: Some(Fault::OneNamed), ..blind::shared(dice, index) }
}

/// A service whose requests ask another one and keep half of the CPU at work, where the kubelet is scraped twice.
pub fn scraped_twice(dice: &mut Dice, index: u64) -> Draft {
    let draft = parts::serving(dice, index, "NVIDIA A100-SXM4-80GB");
    let limit = draft.cpu_limit.unwrap_or(1.0);
    let service = parts::service(dice, limit);
    let a_second = dice.real("gpuBusy", 0.08, 0.28) / service.gpu;
    let cpu = dice.real("cpuOfLimit", 0.44, 0.62) * limit / a_second;
    let inside = f64::from(service.concurrency);
    // As many as are inside share the cores.
    let wait = inside / a_second - service.gpu - cpu * (inside / limit).max(1.0);
    let load = dice.real("load", 1.3, 2.6);
    let draft = parts::service_under_load(dice, draft, &Service { cpu, wait, ..service }, load);
    Draft { fault: Some(Fault::ScrapedTwice), ..draft }
}

/// Containers that may use all of their node's CPU.
pub fn unlimited(dice: &mut Dice, index: u64) -> Draft {
    let draft = if index % 4 == 3 { working::asks_others(dice, index) } else { passing::at_work(dice, index) };
    Draft { cpu_limit: None, ..draft }
}

/// GPUs of two makes that nobody has heard of.
pub fn unknown_makes(dice: &mut Dice, index: u64) -> Draft {
    let draft = passing::at_work(dice, index);
    let clock = dice.real("clockOfOther", 0.4, 0.75);
    let replicas = draft.replicas.max(4);
    Draft { replicas, ..made(draft, clock, replicas) }
}

/// The same load for each of `replicas`.
fn made(mut draft: Draft, clock: f64, replicas: u32) -> Draft {
    let more = f64::from(replicas) / f64::from(draft.replicas);
    let scale = |value: &mut Value| *value = (value.as_f64().unwrap_or(0.0) * more).into();
    if let Some(rates) = draft.arrivals.get_mut("rate") {
        scale(&mut rates["perSecond"]);
        rates["steps"].as_array_mut().into_iter().flatten().for_each(|step| scale(&mut step["perSecond"]));
    }
    if let Some(backlog) = draft.model.get_mut("training").and_then(|training| training.get_mut("backlog")) {
        scale(backlog);
    }
    Draft { fault: Some(Fault::UnknownMakes(clock)), product: "NVIDIA Unheard 900", ..draft }
}

/// An exporter that sends what cannot be, in one of four samples.
pub fn impossible(dice: &mut Dice, index: u64) -> Draft {
    let bad = if index % 4 == 3 { 101.0 } else { -1.0 };
    Draft { fault: Some(Fault::Impossible(bad)), ..passing::at_work(dice, index) }
}

/// A service at work beside a pod of it that ended and was not taken away, and training beside one that failed once.
pub fn ended_at_work(dice: &mut Dice, index: u64) -> Draft {
    let draft = passing::at_work(dice, index);
    let second = 60.0 * dice.real("endedAtMinute", 0.0, 9.0);
    let training = draft.model["training"].is_object();
    // One that ran out of memory stops a trainer.
    let of = if training { wellfed_sim::scenario::End::Failed } else { wellfed_sim::scenario::End::GpuMemory };
    Draft { ended: vec![(second, of)], ..draft }
}

/// A workload whose loader is too slow, beside a pod that failed once.
pub fn ended_starved(dice: &mut Dice, index: u64) -> Draft {
    let draft = starved::data_loader(dice, index);
    let second = 60.0 * dice.real("endedAtMinute", 0.0, 9.0);
    Draft { ended: vec![(second, wellfed_sim::scenario::End::Failed)], ..draft }
}
