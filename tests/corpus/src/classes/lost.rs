//! Runs that get nowhere, and GPUs that wait for what no meter shows.

use super::{group, parts};
use crate::case::Draft;
use crate::dice::Dice;
use crate::models::span;
use serde_json::{Value, json};

/// The loss is no number, the model learns nothing more, or the processes end again and again, by turns. No replica
/// more gets a run further that gets nowhere; going back to a checkpoint with other settings mends it.
pub fn no_progress(dice: &mut Dice, index: u64) -> Draft {
    match index % 3 {
        0 => diverges(dice, index),
        1 => plateau(dice, index),
        _ => restarts(dice, index),
    }
}

fn diverges(dice: &mut Dice, index: u64) -> Draft {
    let (training, draft) = group::fed(dice, index, index % 2 == 1);
    let cause_from = 60.0 * dice.real("divergesAtMinute", 0.2, 6.0);
    let model = training.with(&[("diverges", json!({"at": span(cause_from)}))]);
    let mend = vec![("model.training.diverges".into(), Value::Null)];
    Draft { model, mend, cause_from, own_metrics: true, ..draft }
}

/// Loss and evaluation are told, and both stand still; the better half of the run before it must have left the window.
fn plateau(dice: &mut Dice, index: u64) -> Draft {
    let (training, draft) = group::fed(dice, index, index % 2 == 1);
    let cause_from = 60.0 * dice.real("standsAtMinute", 0.2, 4.0);
    let every = 60.0 * dice.real("evaluatesEveryMinutes", 1.5, 4.0);
    let phases = json!({"evaluation": {"every": span(every), "lasts": span(dice.real("evaluatesFor", 6.0, 20.0))}});
    let model = training.with(&[("plateaus", json!({"at": span(cause_from)})), ("phases", phases)]);
    let mend = vec![("model.training.plateaus".into(), Value::Null)];
    Draft { model, mend, cause_from, own_metrics: true, minutes: 55, ..draft }
}

fn restarts(dice: &mut Dice, index: u64) -> Draft {
    let (training, draft) = group::fed(dice, index, index % 2 == 1);
    let of = dice.one("endsOf", &["Failed", "HostMemory"]);
    let crash = json!({"after": span(dice.real("endsAfterSeconds", 20.0, 200.0)), "of": of});
    Draft {
        model: training.with(&[("crash", crash)]),
        mend: vec![("model.training.crash".into(), Value::Null)],
        ..draft
    }
}

/// All replicas read from one object store that is too slow, over sockets, so that no meter shows who waits for what, and
/// nobody counts it; a copy nearby mends it.
pub fn unexplained(dice: &mut Dice, index: u64) -> Draft {
    let slower = dice.real("slower", 4.5, 10.0);
    let limit = f64::from(dice.whole("cpuLimit", 4, 24));
    let training = parts::trainer(dice, limit);
    let mut draft = parts::trained(dice, index, limit, training);
    let wanted = f64::from(draft.replicas) * training.rate() * training.bytes / (1.0 + training.exchange);
    draft.model["training"]["storage"] = json!({"bytesPerSecond": wanted / slower, "remote": true});
    let mend = vec![("model.training.storage.bytesPerSecond".into(), json!(wanted * 10.0))];
    Draft { mend, own_metrics: false, ..draft }
}
