//! Trainers whose GPU memory, or the way into it, is the limit.

use super::{group, parts};
use crate::case::{Draft, Exporter};
use crate::dice::Dice;
use crate::models::span;
use serde_json::{Value, json};

/// So few samples fit at once that they leave the card half empty, and the allocator works before each of them, on an
/// exporter that sends SM activity; keeping fewer activations mends it, for a third more of computing.
pub fn memory_bound(dice: &mut Dice, index: u64) -> Draft {
    Draft { exporter: Exporter::Sm, ..tight(dice, index, false) }
}

/// The same on an exporter's default counters.
pub fn memory_bound_unseen(dice: &mut Dice, index: u64) -> Draft {
    Draft { exporter: Exporter::Default, ..tight(dice, index, false) }
}

/// The same where the replicas split the model: each further one leaves more room on all.
pub fn sharded(dice: &mut Dice, index: u64) -> Draft {
    Draft { mend: Vec::new(), sharded: true, ..tight(dice, index, true) }
}

/// Computing again what is not kept.
const AGAIN: f64 = 1.3;
/// Of the activations that are kept then, one in so many.
const KEPT: f64 = 8.0;

fn tight(dice: &mut Dice, index: u64, sharded: bool) -> Draft {
    let (training, draft) = group::fed(dice, index, false);
    let slower = dice.real("slower", 2.3, 6.0);
    let stalls = dice.real("stallsOfExtra", 0.5, 0.85) * (slower - 1.0);
    let fit = f64::from(dice.whole("samplesThatFit", 1, 6));
    let usable = parts::memory_of(draft.product) * dice.real("usable", 0.955, 0.985);
    let state = usable * dice.real("state", 0.6, 0.85);
    let sample = (usable - state) / (fit + 0.5);
    let footprint = |sample: f64, stall: f64| {
        json!({
            "usableMib": usable, "stateMib": if sharded { state * f64::from(draft.replicas) } else { state },
            "sharded": sharded, "sampleMib": sample, "fullSamples": fit * (slower - stalls),
            "stallSeconds": stall,
        })
    };
    let model = training.with(&[("memory", footprint(sample, stalls * training.compute * fit / training.samples))]);
    let mend = vec![
        ("model.training.memory".into(), footprint(sample / KEPT, 0.0)),
        ("model.training.gpuSecondsPerStep".into(), json!(AGAIN * training.compute)),
    ];
    Draft { model, mend, ..draft }
}

/// The batch does not fit: some time after each start the processes end for want of GPU memory; a smaller batch mends it.
pub fn out_of_memory(dice: &mut Dice, index: u64) -> Draft {
    let (training, draft) = group::fed(dice, index, index % 2 == 1);
    let batch = f64::from(dice.whole("samplesAtOnce", 8, 32));
    let fit = (batch / dice.real("tooLarge", 1.1, 3.0)).floor();
    let usable = parts::memory_of(draft.product) * dice.real("usable", 0.955, 0.985);
    let state = usable * dice.real("state", 0.3, 0.8);
    let footprint = |batch: f64, reached: f64| {
        json!({"usableMib": usable, "stateMib": state, "sampleMib": (usable - state) / (fit + 0.5),
            "microBatch": batch, "fullSamples": 1.0, "reached": span(reached)})
    };
    let model = training.with(&[("memory", footprint(batch, dice.real("endsAfterSeconds", 20.0, 150.0)))]);
    Draft { model, mend: vec![("model.training.memory".into(), footprint(fit, 0.0))], ..draft }
}

/// Kernels wait for copies from and to pageable memory in each step, on an exporter that sends SM activity; pinned memory
/// and copies beside the kernels mend it.
pub fn copies(dice: &mut Dice, index: u64) -> Draft {
    Draft { exporter: Exporter::Sm, ..copies_unseen(dice, index) }
}

/// The same on an exporter's default counters.
pub fn copies_unseen(dice: &mut Dice, index: u64) -> Draft {
    let (training, draft) = group::fed(dice, index, index % 2 == 1);
    let slower = dice.real("slower", 2.3, 6.0);
    let rate = dice.real("copyRate", 3e9, 1.2e10);
    let copies = json!({"bytesPerStep": (slower - 1.0) * training.compute * rate, "bytesPerSecond": rate});
    let model = training.with(&[("transfer", copies)]);
    let mend = vec![("model.training.transfer".into(), Value::Null)];
    Draft { model, mend, exporter: Exporter::Default, ..draft }
}
