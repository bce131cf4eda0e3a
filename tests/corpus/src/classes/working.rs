//! GPUs at work: whoever refuses them more is wrong.

use super::parts::{self, CHAT, Traffic};
use crate::case::Draft;
use crate::dice::Dice;
use crate::models::Llm;

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
