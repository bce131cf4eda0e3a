//! The classes of scenarios: each draws its causes, and nothing that a meter shows.

mod blind;
mod garbled;
mod group;
mod late;
mod lost;
mod memory;
mod objective;
mod parts;
mod passing;
mod served;
mod starved;
mod working;

use crate::case::{Case, Draft, Exporter, Fault, Group, NEIGHBOUR, WORKLOAD};
use crate::dice::{Dice, Half};
use crate::models::span;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;
use wellfed_sim::scenario::Scenario;

/// Scenarios of each class and half.
pub const EACH: u64 = 12;
/// Scenarios of each class that were played from seed B's ranges while the rules could still change. The bench plays those
/// that come after them.
pub const LOOKED_AT: u64 = 24;

/// A class of scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    draw: fn(&mut Dice, u64) -> Draft,
}

const fn class(name: &'static str, group: Group, draw: fn(&mut Dice, u64) -> Draft) -> Class {
    Class { name, group, draw }
}

/// Every class.
pub const CLASSES: &[Class] = &[
    class("DataLoader", Group::Cause("DataLoader"), starved::data_loader),
    class("StorageStall", Group::Cause("StorageStall"), starved::storage_stall),
    class("SerialRequests", Group::Cause("SerialRequests"), served::serial_requests),
    class("CpuStage", Group::Cause("CpuStage"), served::cpu_stage),
    class("Imbalance", Group::Cause("Imbalance"), served::imbalance),
    class("Stalled", Group::Cause("Stalled"), group::stalled),
    class("LaunchBound", Group::Cause("LaunchBound"), group::launch_bound),
    class("CommunicationBound", Group::Cause("CommunicationBound"), group::communication_bound),
    class("Straggler", Group::Cause("Straggler"), group::straggler),
    class("MemoryBound", Group::Cause("MemoryBound"), memory::memory_bound),
    class("GpuOutOfMemory", Group::Cause("GpuOutOfMemory"), memory::out_of_memory),
    class("HostDeviceTransfer", Group::Cause("HostDeviceTransfer"), memory::copies),
    class("LatencyNotQueueBound", Group::Cause("LatencyNotQueueBound"), late::late),
    class("RunNotProgressing", Group::Cause("RunNotProgressing"), lost::no_progress),
    class("mild-loader", Group::Mild("DataLoader"), starved::mild_loader),
    class("thin-kernels-no-sm", Group::Mild("LaunchBound"), group::launch_bound_unseen),
    class("exchange-no-sm", Group::Mild("CommunicationBound"), group::communication_bound_unseen),
    class("full-memory-no-sm", Group::Mild("MemoryBound"), memory::memory_bound_unseen),
    class("copies-no-sm", Group::Mild("HostDeviceTransfer"), memory::copies_unseen),
    class("remote-storage-uncounted", Group::Mild("Underused"), lost::unexplained),
    class("slow-tokeniser-busy-gpu", Group::Mild("CpuStage"), served::slow_tokeniser),
    class("small-batch", Group::Mild("SerialRequests"), served::small_batch),
    class("llm-prefill-heavy", Group::Working, working::prefill_heavy),
    class("llm-mixed", Group::Working, working::mixed),
    class("llm-decode-heavy", Group::Working, working::decode_heavy),
    class("llm-kv-limited", Group::Working, working::kv_limited),
    class("slo-queued", Group::Working, objective::queued),
    class("slo-batched", Group::Working, objective::batched),
    class("slo-prefill", Group::Working, objective::prefilled),
    class("vision-service", Group::Working, working::vision),
    class("training-at-work", Group::Working, working::training),
    class("training-sharded", Group::Working, memory::sharded),
    class("all-throttled", Group::Working, working::throttled),
    class("padded-batches", Group::Working, working::padding),
    class("asks-other-services", Group::Working, working::asks_others),
    class("training-linked", Group::Working, group::linked),
    class("bursty", Group::Working, passing::bursty),
    class("warm-up", Group::Working, passing::warm_up),
    class("evaluation-phase", Group::Working, passing::evaluation),
    class("checkpoint-phase", Group::Working, passing::checkpoint),
    class("spot-restart", Group::Working, passing::spot_restart),
    class("idle", Group::Idle, passing::idle),
    class("shared-device", Group::Unknown, blind::shared),
    class("broken-telemetry", Group::Unknown, blind::broken),
    class("mig-utilisation-only", Group::Unknown, garbled::mig),
    class("time-sliced-one-named", Group::Unknown, garbled::one_named),
    class("scraped-twice", Group::Working, garbled::scraped_twice),
    class("no-cpu-limit", Group::Working, garbled::unlimited),
    class("unknown-makes", Group::Working, garbled::unknown_makes),
    class("impossible-sample", Group::Working, garbled::impossible),
    class("ended-pod-at-work", Group::Working, garbled::ended_at_work),
    class("ended-pod-starved", Group::Cause("DataLoader"), garbled::ended_starved),
];

/// Every scenario of `half`.
pub fn corpus(half: Half) -> Result<Vec<Case>> {
    corpus_from(half, 0)
}

/// As many of `half`, drawn from the same ranges, after the first `beyond` of each class.
pub fn corpus_from(half: Half, beyond: u64) -> Result<Vec<Case>> {
    CLASSES.iter().flat_map(|class| (0..EACH).map(move |index| class.case(half, beyond + index))).collect()
}

impl Class {
    /// The class called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        CLASSES.iter().find(|class| class.name == name)
    }

    /// Scenario `index` of this class.
    pub fn case(&self, half: Half, index: u64) -> Result<Case> {
        let mut dice = Dice::of(half, number(self.name), index);
        let draft = fitted((self.draw)(&mut dice, index));
        let name = format!("{half:?}/{}/{index}", self.name);
        let text = scenario(&draft).to_string();
        let world = Scenario::parse(&text, &name, Path::new(".")).with_context(|| name.clone())?;
        Ok(Case { name, class: self.name, group: self.group, half, draft, world, drawn: dice.drawn })
    }
}

/// A trainer uses so much of its GPUs' memory, where nothing else is said of it: it fits on any.
const HELD: f64 = 0.64;

fn fitted(mut draft: Draft) -> Draft {
    if let Some(training) = draft.model.get_mut("training") {
        training["gpuMemoryMib"] = json!(HELD * parts::memory_of(draft.product));
    }
    draft
}

/// A number for a class that stays when others come and go.
fn number(name: &str) -> u64 {
    name.bytes().fold(7, |sum, byte| (sum * 31 + u64::from(byte)) % 0x000F_FFFF)
}

/// As a scenario file would be written.
fn scenario(draft: &Draft) -> Value {
    let mut own = workload(WORKLOAD, &draft.model, &draft.arrivals);
    if !draft.own_metrics {
        own["telemetry"] = json!({"metrics": "Off"});
    }
    let mut other = draft.neighbour.as_ref().map(|(model, arrivals)| workload(NEIGHBOUR, model, arrivals));
    if let (Some(Fault::OneNamed), Some(other)) = (draft.fault, &mut other) {
        other["telemetry"] = json!({"gpu": "Off"});
    }
    let changes = draft.changes.iter().map(|(at, path, value)| change(*at, path, value));
    json!({
        "tick": "250ms",
        "seed": draft.seed,
        "exporter": {
            "smActive": draft.exporter != Exporter::Default,
            "furtherCounters": draft.exporter == Exporter::Everything,
        },
        "workloads": std::iter::once(own).chain(other).collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
    })
}

fn workload(name: &str, model: &Value, arrivals: &Value) -> Value {
    let selector = json!({"matchLabels": {"app": name}});
    json!({"name": name, "namespace": WORKLOAD, "selector": selector, "model": model, "arrivals": arrivals})
}

fn change(at: f64, path: &str, value: &Value) -> Value {
    json!({"at": span(at), "workload": WORKLOAD, "set": {path: value}})
}
