//! What is measured does not tell what happens: no veto can rest on it.

use super::{served, starved, working};
use crate::case::{Draft, Fault, Work};
use crate::dice::Dice;
use crate::models::{Service, rate};
use serde_json::{Value, json};

/// A workload that starves or works, whose GPUs another one uses too.
pub fn shared(dice: &mut Dice, index: u64) -> Draft {
    let draft = any(dice, index);
    let other = Service { gpu: dice.real("neighbourGpuSeconds", 0.01, 0.05), cpu: 0.001, wait: 0.0, concurrency: 16 };
    let busy = dice.real("neighbourLoad", 0.02, 0.5);
    let arrivals = rate(busy * f64::from(draft.replicas) / other.gpu, &[], 1, 1);
    Draft { neighbour: Some((other.json(), arrivals)), fault: Some(Fault::Shared), mend: Vec::new(), ..draft }
}

/// A workload that starves or works, by turns.
pub fn any(dice: &mut Dice, index: u64) -> Draft {
    match index % 4 {
        // What a trainer counts itself it counts on a shared GPU too; here nobody counts.
        0 => Draft { own_metrics: false, ..starved::data_loader(dice, 0) },
        1 => working::vision(dice, index),
        2 => served::serial_requests(dice, index),
        _ => working::training(dice, index),
    }
}

/// A workload that starves or works, and an exporter that tells something else or nothing.
pub fn broken(dice: &mut Dice, index: u64) -> Draft {
    let at_start = |draft: Draft, state: &str| with(draft, 0.0, "telemetry.gpu", &json!(state));
    let draft = match index {
        0 => at_start(starved::data_loader(dice, 0), "Unattributed"),
        1 => at_start(served::serial_requests(dice, index), "NaN"),
        2 => at_start(starved::storage_stall(dice, index), "Off"),
        3 | 4 => frozen_at_rest(dice, index),
        5 => frozen_cold(dice, index),
        6 => gaps(dice, |dice| starved::data_loader(dice, 0)),
        7 => gaps(dice, |dice| served::serial_requests(dice, index)),
        8 => Draft { fault: Some(Fault::ProfilingZero), ..working::training(dice, index) },
        9 => Draft { fault: Some(Fault::ProfilingZero), ..working::mixed(dice, index) },
        10 => gaps(dice, |dice| working::training(dice, index)),
        _ => with(served::serial_requests(dice, index), 0.0, "telemetry.metrics", &json!("Off")),
    };
    // What a trainer counts itself needs no exporter.
    let own_metrics = draft.work == Work::Inference && draft.own_metrics;
    Draft { mend: Vec::new(), own_metrics, ..draft }
}

fn with(mut draft: Draft, at: f64, path: &str, value: &Value) -> Draft {
    draft.changes.push((at, path.into(), value.clone()));
    draft
}

fn gaps(dice: &mut Dice, draft: impl Fn(&mut Dice) -> Draft) -> Draft {
    let missing = dice.real("looksMissing", 0.55, 0.9);
    Draft { fault: Some(Fault::Gaps(missing)), ..draft(dice) }
}

/// The exporter stops to update while nothing is to be done; then work comes, and GPUs are busy with it.
fn frozen_at_rest(dice: &mut Dice, index: u64) -> Draft {
    let work_from = 60.0 * dice.real("workFromMinute", 3.0, 6.0);
    let draft = if index.is_multiple_of(2) { working::mixed(dice, index) } else { working::training(dice, index) };
    let mut draft = with(draft, work_from - 60.0, "telemetry.gpu", &json!("Frozen"));
    let rates = draft.arrivals["rate"].clone();
    if draft.work == Work::Training {
        let waiting = draft.model["training"]["backlog"].as_f64().unwrap_or(0.0);
        draft.model["training"]["backlog"] = json!(0.0);
        draft.arrivals = rate(0.0, &[(work_from, waiting / 60.0), (work_from + 60.0, 0.0)], 1, 1);
    } else {
        let tokens = |name: &str| rates[name].as_u64().unwrap_or(1) as u32;
        let busy = rates["steps"][0]["perSecond"].as_f64().unwrap_or(0.0);
        draft.arrivals = rate(0.0, &[(work_from, busy)], tokens("promptTokens"), tokens("outputTokens"));
    }
    draft
}

/// The exporter stops to update while a trainer reads its data for the first time, slowly.
fn frozen_cold(dice: &mut Dice, index: u64) -> Draft {
    let warm = 60.0 * dice.real("coldMinutes", 2.0, 5.0);
    let draft = starved::storage_stall(dice, index);
    let draft = with(draft, warm - 45.0, "telemetry.gpu", &json!("Frozen"));
    with(draft, warm, "model.training.storage.bytesPerSecond", &Value::Null)
}
