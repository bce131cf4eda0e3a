//! Servers that more GPUs do not help, and what mends them.

use super::parts::{self, CHAT, Traffic};
use crate::case::Draft;
use crate::dice::Dice;
use crate::models::{Llm, rate, span};
use serde_json::{Value, json};

/// One after another; batching mends it: continuous in a language-model server, dynamic in another each third time.
pub fn serial_requests(dice: &mut Dice, index: u64) -> Draft {
    if index % 3 == 2 { unbatched(dice, index) } else { batch_of(dice, index, 1) }
}

/// A batch that could be many times as large.
pub fn small_batch(dice: &mut Dice, index: u64) -> Draft {
    let batch = dice.whole("smallBatch", 2, 7);
    batch_of(dice, index, batch)
}

fn batch_of(dice: &mut Dice, index: u64, batch: u32) -> Draft {
    let (whole, product) = parts::llm(dice, &CHAT);
    let small = Llm { batch, ..whole };
    let draft = parts::serving(dice, index, product);
    let load = dice.real("load", 1.3, 2.6);
    let draft = parts::under_load(dice, draft, &small, load);
    let target = f64::from(dice.whole("target", 8, 32));
    Draft { target, mend: vec![("model.llm.batchCap".into(), json!(whole.batch))], ..draft }
}

/// A server in which most of a batch's time does not depend on its size, and each batch is one request.
fn unbatched(dice: &mut Dice, index: u64) -> Draft {
    let draft = parts::serving(dice, index, "NVIDIA A100-SXM4-80GB");
    let whole = dice.real("secondsPerBatch", 0.02, 0.08);
    let each = whole * dice.real("itemOfBatch", 0.01, 0.1);
    let batch = |max: u32| json!({"max": max, "secondsPerBatch": whole, "secondsPerItem": each, "waitSeconds": 0.001});
    let cpu = 0.1 * whole;
    let model = json!({"service": {"gpuSecondsPerRequest": whole + each, "cpuSecondsPerRequest": cpu,
        "concurrency": 1, "batch": batch(1)}});
    let capacity = f64::from(draft.replicas) / (whole + each);
    let arrivals = rate(dice.real("load", 1.3, 2.6) * capacity, &[], 1, 1);
    let target = f64::from(dice.whole("target", 8, 32));
    let max = dice.whole("batch", 8, 32);
    Draft { model, arrivals, target, mend: vec![("model.service.batch".into(), batch(max))], ..draft }
}

/// Answers of a few words to prompts that take the CPU long to prepare.
const SHORT: Traffic = Traffic { prompt: (300, 1200), output: (2, 12), batch: (32, 64) };

/// The stage before the engine uses all of the container's CPU and leaves the GPU idle most of the time, by being slower
/// than even an engine that serves requests one by one; a faster stage mends it.
pub fn cpu_stage(dice: &mut Dice, index: u64) -> Draft {
    let (llm, product) = parts::llm(dice, &SHORT);
    let cores = dice.whole("cpuLimit", 3, 8);
    let draft = Draft { cpu_limit: Some(f64::from(cores)), ..parts::serving(dice, index, product) };
    let alone = Llm { batch: 1, ..llm };
    // Of the limit one core is the engine's own.
    let threads = f64::from(cores);
    let tokenizing = dice.real("slower", 4.0, 10.0) * 1000.0 * (threads - 1.0) / alone.rate();
    behind(dice, draft, llm, Llm { tokenizers: threads, tokenizing, ..llm })
}

/// A few threads that are too slow for the engine's largest batch, but not for its GPU to be busy with a small one.
pub fn slow_tokeniser(dice: &mut Dice, index: u64) -> Draft {
    let (llm, product) = parts::llm(dice, &CHAT);
    let draft = parts::serving(dice, index, product);
    let threads = f64::from(dice.whole("tokenizerThreads", 1, 4));
    let tokenizing = dice.real("slower", 3.5, 10.0) * 1000.0 * threads / llm.rate();
    behind(dice, draft, llm, Llm { tokenizers: threads, tokenizing, ..llm })
}

fn behind(dice: &mut Dice, draft: Draft, llm: Llm, slow: Llm) -> Draft {
    let load = dice.real("load", 1.3, 2.6);
    let draft = parts::under_load(dice, draft, &slow, load);
    let target = f64::from(dice.whole("target", 8, 32));
    Draft { target, mend: vec![("model.llm.tokenizer.msPerRequest".into(), json!(llm.tokenizing))], ..draft }
}

/// Sessions stick to some replicas, which are more than full, while the others rest; routing by queue mends it.
pub fn imbalance(dice: &mut Dice, index: u64) -> Draft {
    let (llm, product) = parts::llm(dice, &CHAT);
    let draft = parts::serving(dice, index, product);
    let pinned = dice.real("pinned", 0.9, 1.0);
    let share = dice.real("shareOfReplicas", 0.15, 0.5);
    let to = (share * f64::from(draft.replicas)).round().max(1.0);
    let full = f64::from(draft.replicas) / (to / pinned);
    let load = (dice.real("load", 1.3, 2.2) / full).min(0.9);
    let calm = 60.0 * dice.real("calmMinutes", 0.0, 3.0);
    let capacity = f64::from(draft.replicas) * llm.rate();
    let mut model = llm.json();
    model["llm"]["router"] = json!({"pinned": pinned, "to": to as u32});
    let arrivals = llm.arrivals(0.1 * load * capacity, &[(calm, load * capacity)]);
    let target = f64::from(dice.whole("target", 8, 32));
    Draft { model, arrivals, target, mend: vec![("model.llm.router".into(), Value::Null)], ..draft }
}

/// A model whose replicas compile for a while after they turned Ready.
pub fn compiling(mut model: Value, seconds: f64) -> Value {
    for kind in ["llm", "service", "training"] {
        if model[kind].is_object() {
            model[kind]["warmUp"] = json!(span(seconds));
        }
    }
    model
}
