//! Services whose objective is missed although no request waits: the model itself takes too long.

use super::parts::{self, Traffic};
use crate::case::{Draft, Objective, Slo};
use crate::dice::Dice;
use crate::models::{Llm, rate};
use serde_json::json;

const LONG_PROMPTS: Traffic = Traffic { prompt: (5000, 16000), output: (8, 24), batch: (32, 64) };
const LONG_ANSWERS: Traffic = Traffic { prompt: (50, 400), output: (400, 1500), batch: (32, 64) };
/// What the remedies leave of the time of a kernel.
const FASTER: f64 = 0.4;

/// Long prompts, long answers or a slow model, by turns, a few requests at a time; fewer bits or fused kernels mend it.
pub fn late(dice: &mut Dice, index: u64) -> Draft {
    match index % 3 {
        0 => of_prompts(dice, index),
        1 => of_answers(dice, index),
        _ => of_model(dice, index),
    }
}

fn of_prompts(dice: &mut Dice, index: u64) -> Draft {
    let (llm, product) = parts::llm(dice, &LONG_PROMPTS);
    let mend = vec![("model.llm.prefillMsPerToken".into(), json!(FASTER * llm.prefill_each))];
    let draft = Draft { mend, ..parts::serving(dice, index, product) };
    let running = dice.real("prefilling", 0.1, 0.35);
    served(dice, draft, &llm, running)
}

fn of_answers(dice: &mut Dice, index: u64) -> Draft {
    let (llm, product) = parts::llm(dice, &LONG_ANSWERS);
    let mend = vec![("model.llm.decodeFixedMs".into(), json!(FASTER * llm.decode_fixed))];
    let draft = Draft { mend, ..parts::serving(dice, index, product) };
    let running = dice.real("answering", 0.3, 1.2);
    served(dice, draft, &llm, running)
}

/// So many requests at a time in each replica, on the average, and an objective that one alone misses.
fn served(dice: &mut Dice, draft: Draft, llm: &Llm, running: f64) -> Draft {
    let alone = llm.alone();
    let slo = Some(Slo { seconds: alone * dice.real("objective", 0.4, 0.8), of: Objective::Whole });
    let arrivals = llm.arrivals(running * f64::from(draft.replicas) / alone, &[]);
    Draft { model: llm.json(), arrivals, slo, ..draft }
}

/// A model that takes one request after another, and is seldom asked.
fn of_model(dice: &mut Dice, index: u64) -> Draft {
    let draft = parts::serving(dice, index, "NVIDIA A100-SXM4-80GB");
    let seconds = dice.real("secondsPerRequest", 0.5, 3.0);
    let batch = |seconds: f64| json!({"max": 1, "secondsPerBatch": 0.9 * seconds, "secondsPerItem": 0.1 * seconds});
    let model = json!({"service": {"gpuSecondsPerRequest": seconds, "cpuSecondsPerRequest": 0.02 * seconds,
        "concurrency": 1, "batch": batch(seconds)}});
    let asked = dice.real("busy", 0.05, 0.25) * f64::from(draft.replicas) / seconds;
    let slo = Some(Slo { seconds: seconds * dice.real("objective", 0.4, 0.8), of: Objective::Whole });
    let mend = vec![("model.service.batch".into(), batch(FASTER * seconds))];
    Draft { model, arrivals: rate(asked, &[], 1, 1), slo, mend, ..draft }
}
