//! GPUs at work: whoever refuses them more is wrong.

use super::group;
use super::parts::{self, CHAT, Traffic};
use crate::case::{Draft, Exporter};
use crate::dice::Dice;
use crate::models::{Llm, Service, rate};
use serde_json::json;

const VISION_GPU: &str = "NVIDIA A100-SXM4-80GB";
const PREFILL: Traffic = Traffic { prompt: (2000, 6000), output: (8, 40), batch: (16, 64) };
const DECODE: Traffic = Traffic { prompt: (40, 200), output: (400, 1000), batch: (16, 64) };
const LONG: Traffic = Traffic { prompt: (1500, 8000), output: (150, 600), batch: (64, 256) };

/// Long prompts, short answers: the tensor pipe is the limit.
pub fn prefill_heavy(dice: &mut Dice, index: u64) -> Draft {
    loaded(dice, index, &PREFILL)
}

/// A chat.
pub fn mixed(dice: &mut Dice, index: u64) -> Draft {
    loaded(dice, index, &CHAT)
}

/// Short prompts, long answers: memory bandwidth is the limit.
pub fn decode_heavy(dice: &mut Dice, index: u64) -> Draft {
    loaded(dice, index, &DECODE)
}

fn loaded(dice: &mut Dice, index: u64, traffic: &Traffic) -> Draft {
    let (llm, product) = parts::llm(dice, traffic);
    let draft = parts::serving(dice, index, product);
    let load = dice.real("load", 1.3, 2.6);
    parts::under_load(dice, draft, &llm, load)
}

/// Contexts so long that few of them, sometimes one, fit into the KV cache.
pub fn kv_limited(dice: &mut Dice, index: u64) -> Draft {
    let (llm, product) = parts::llm(dice, &LONG);
    let fit = dice.real("contextsThatFit", 1.1, 9.0);
    let kv = (fit * f64::from(llm.prompt + llm.output)).ceil() as u32;
    let draft = parts::serving(dice, index, product);
    let load = dice.real("load", 1.3, 2.6);
    parts::under_load(dice, draft, &Llm { kv, ..llm }, load)
}

/// A service of a fixed GPU time a request.
pub fn vision(dice: &mut Dice, index: u64) -> Draft {
    let draft = parts::serving(dice, index, VISION_GPU);
    let service = parts::service(dice, draft.cpu_limit.unwrap_or(1.0));
    let load = dice.real("load", 1.3, 2.6);
    parts::service_under_load(dice, draft, &service, load)
}

/// Training that waits for nothing but its GPUs.
pub fn training(dice: &mut Dice, index: u64) -> Draft {
    let limit = f64::from(dice.whole("cpuLimit", 4, 24));
    let training = parts::trainer(dice, limit);
    parts::trained(dice, index, limit, training)
}

/// Training at work whose GPUs are all held down by heat, each as much: one more works as fast as they do.
pub fn throttled(dice: &mut Dice, index: u64) -> Draft {
    let (training, draft) = group::fed(dice, index, false);
    let slow = json!({"replicas": 1000, "clock": dice.real("clock", 0.5, 0.85), "thermal": true});
    Draft { model: training.with(&[("slow", slow)]), exporter: Exporter::Everything, ..draft }
}

/// Requests of very different lengths in batches that are filled up to the longest.
pub fn padding(dice: &mut Dice, index: u64) -> Draft {
    let draft = parts::serving(dice, index, VISION_GPU);
    let max = dice.whole("batch", 8, 32);
    let (tokens, token) = (dice.whole("tokens", 100, 400), dice.real("secondsPerToken", 1e-5, 6e-5));
    let whole = dice.real("secondsPerBatch", 0.005, 0.03);
    let items = f64::from(max) * FILLED * f64::from(tokens) * token;
    let model = json!({"service": {"gpuSecondsPerRequest": whole, "cpuSecondsPerRequest": 0.001, "concurrency": 1,
        "batch": {"max": max, "secondsPerBatch": whole, "secondsPerItem": 1e-6, "secondsPerToken": token,
            "waitSeconds": 0.01, "staticPadding": true}}});
    let capacity = f64::from(draft.replicas) * f64::from(max) / (whole + items);
    let mut arrivals = rate(dice.real("load", 1.3, 2.6) * capacity, &[], tokens, 1);
    arrivals["rate"]["lengthSpread"] = json!(dice.real("lengthSpread", 0.7, 1.2));
    let target = f64::from(dice.whole("target", 8, 32));
    Draft { model, arrivals, target, ..draft }
}

/// So many times the mean length is the longest of a batch, about.
const FILLED: f64 = 3.0;

/// Each request asks another service before it gets to the GPU, which is seldom busy: replicas hold as many as they may,
/// and one more holds as many again.
pub fn asks_others(dice: &mut Dice, index: u64) -> Draft {
    let draft = parts::serving(dice, index, VISION_GPU);
    let service = parts::service(dice, draft.cpu_limit.unwrap_or(1.0));
    // The slots are full of requests that wait, and let the GPU work for that share of the time.
    let busy = dice.real("gpuBusy", 0.08, 0.28);
    let wait = service.gpu * f64::from(service.concurrency) / busy;
    let load = dice.real("load", 1.3, 2.6);
    parts::service_under_load(dice, draft, &Service { wait, ..service }, load)
}
