//! GPUs at work for which a missed latency objective asks: requests slow each other down, a replica more less so.

use super::parts::{self, CHAT, Traffic};
use crate::case::{Draft, Objective, Slo};
use crate::dice::Dice;
use crate::models::Llm;
use serde_json::json;

/// Prompts that the GPU reads for up to some seconds.
const PROMPTS: Traffic = Traffic { prompt: (3000, 10_000), output: (20, 150), batch: (32, 64) };
/// Share of a GPU's memory that a server takes.
const TAKEN: f64 = 0.9;
/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;
/// Sampling a token of one sequence, ms.
const SAMPLING: f64 = 0.05;

/// More than the batch, or each second time the KV cache, has room for: requests wait in the server's queue.
pub fn queued(dice: &mut Dice, index: u64) -> Draft {
    let (ample, product) = parts::llm(dice, &CHAT);
    let fit = dice.whole("contextsThatFit", 4, 16);
    let small = Llm { kv: fit * (ample.prompt + ample.output), ..ample };
    let objective = dice.real("objective", 1.1, 2.0);
    let (llm, slo) = if index.is_multiple_of(2) {
        (ample, Slo { seconds: objective * ample.first(), of: Objective::FirstToken })
    } else {
        (small, Slo { seconds: objective * small.concurrent() / small.rate(), of: Objective::Whole })
    };
    let draft = Draft { slo: Some(slo), ..parts::serving(dice, index, product) };
    let load = dice.real("load", 1.1, 1.8);
    parts::under_load(dice, draft, &llm, load)
}

/// An iteration reads all caches beside the weights, so that each answer slows the others down, and none waits.
pub fn batched(dice: &mut Dice, index: u64) -> Draft {
    let (llm, bytes, product) = reader(dice);
    let draft = Draft { replicas: dice.whole("fewReplicas", 2, 5), ..parts::serving(dice, index, product) };
    let share = shared(dice.real("gain", 0.12, 0.2), draft.replicas);
    let slo = Slo { seconds: llm.alone() * reachable(dice, share, 1.0), of: Objective::Whole };
    let arrivals = llm.arrivals(f64::from(draft.replicas) * share / llm.own(), &[]);
    let mut model = llm.json();
    model["llm"]["kvBytesPerToken"] = json!(bytes);
    Draft { model, arrivals, slo: Some(slo), ..draft }
}

/// A server of long answers whose cache has the memory that its weights leave, and the bytes of a token in it.
fn reader(dice: &mut Dice) -> (Llm, f64, &'static str) {
    let (product, bandwidth) = dice.one("product", &parts::PRODUCTS);
    let memory = MIB * parts::memory_of(product);
    let weights = memory * dice.real("weightsOfMemory", 0.08, 0.2);
    let a_ms = bandwidth * dice.real("bandwidthUsed", 0.4, 0.8) / 1000.0;
    let (prompt, output) = (dice.whole("prompt", 200, 1000), dice.whole("output", 1000, 3000));
    let bytes = dice.real("kvBytesPerToken", 150_000.0, 800_000.0);
    let context = f64::from(prompt) + f64::from(output) / 2.0;
    let llm = Llm {
        weights: weights / parts::GIB,
        decode_fixed: weights / a_ms + parts::LAUNCHING,
        decode_each: context * bytes / a_ms + SAMPLING,
        prefill_each: dice.real("prefillMsPerToken", 0.05, 0.25),
        prompt,
        output,
        batch: dice.whole("batch", 256, 512),
        kv: ((TAKEN * memory - weights) / bytes) as u32,
        tokenizers: 4.0,
        tokenizing: dice.real("tokenizingMs", 1.0, 15.0),
    };
    (llm, bytes, product)
}

/// Long prompts of very unequal length, each of which holds up those that came meanwhile.
pub fn prefilled(dice: &mut Dice, index: u64) -> Draft {
    let (llm, product) = parts::llm(dice, &PROMPTS);
    let draft = parts::serving(dice, index, product);
    let share = shared(dice.real("gain", 0.18, 0.28), draft.replicas);
    let spread = dice.real("lengthSpread", 0.6, 1.0);
    // Half of the mean square of a log-normal length: what is met is half over, and longer than others.
    let met = (spread * spread).exp() / 2.0;
    let slo = Slo { seconds: llm.first() * reachable(dice, share, met), of: Objective::FirstToken };
    let mut arrivals = llm.arrivals(f64::from(draft.replicas) * share / llm.first(), &[]);
    arrivals["rate"]["lengthSpread"] = json!(spread);
    Draft { model: llm.json(), arrivals, slo: Some(slo), ..draft }
}

/// The share of its time for which a server must be taken, so that one more beside `replicas` shortens what takes
/// `1 / (1 - share)` of its time alone by `gain`.
fn shared(gain: f64, replicas: u32) -> f64 {
    let replicas = f64::from(replicas);
    gain * (replicas + 1.0) / gain.mul_add(replicas, 1.0)
}

/// An objective in times of a request alone, missed by servers of which `share` is taken and met by twice as many, where
/// each request that is met takes `met` of its time.
fn reachable(dice: &mut Dice, share: f64, met: f64) -> f64 {
    let time = |share: f64| 1.0 + met * share / (1.0 - share);
    let (now, twice) = (time(share), time(share / 2.0));
    twice + dice.real("objective", 0.1, 0.5) * (now - twice)
}
