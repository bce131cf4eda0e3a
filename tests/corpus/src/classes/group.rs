//! Trainers whose GPUs wait for each other, for one CPU core, or for ever.

use super::parts;
use crate::case::{Draft, Exporter};
use crate::dice::Dice;
use crate::models::{Training, span};
use serde_json::{Value, json};

/// A trainer that its CPU and storage feed well, whose replicas share one batch if `share` says so.
pub fn fed(dice: &mut Dice, index: u64, share: bool) -> (Training, Draft) {
    let limit = f64::from(dice.whole("cpuLimit", 4, 24));
    let training = Training { exchange: 0.0, ..parts::trainer(dice, limit) };
    let draft = parts::trained(dice, index, limit, training);
    let together = share.then(|| training.samples * f64::from(draft.replicas));
    let backlog = draft.model["training"]["backlog"].as_f64().unwrap_or(0.0);
    let training = Training { together, backlog, ..training };
    (training, Draft { model: training.json(), ..draft })
}

/// One replica never arrives at an exchange, and all others spin in it; a restart mends it.
pub fn stalled(dice: &mut Dice, index: u64) -> Draft {
    let (training, draft) = fed(dice, index, index % 2 == 1);
    let cause_from = 60.0 * dice.real("hangsAtMinute", 0.2, 4.0);
    let model = training.with(&[("hang", json!({"at": span(cause_from)}))]);
    Draft { model, minutes: 45, cause_from, mend: vec![("model.training.hang".into(), Value::Null)], ..draft }
}

/// Kernels so small that starting them takes longer than running them, on an exporter that sends SM activity; starting
/// them as one graph mends it.
pub fn launch_bound(dice: &mut Dice, index: u64) -> Draft {
    Draft { exporter: Exporter::Sm, ..launch_bound_unseen(dice, index) }
}

/// The same on an exporter's default counters, which tell small kernels from large ones badly.
pub fn launch_bound_unseen(dice: &mut Dice, index: u64) -> Draft {
    let (training, draft) = fed(dice, index, true);
    let slower = dice.real("slower", 1.4, 5.0);
    let kernel = 1e-6 * dice.real("kernelMicroseconds", 4.0, 14.0);
    let kernels = training.compute / kernel;
    let launch = json!({"kernelsPerStep": kernels, "secondsPerKernel": slower * kernel});
    let model = training.with(&[("launch", launch)]);
    let mend = vec![("model.training.launch.kernelsPerStep".into(), json!(kernels / 50.0))];
    Draft { model, mend, exporter: Exporter::Default, ..draft }
}

/// Products whose GPUs are linked: bytes a second of one direction of `NVLink`, and of `PCIe`.
const LINKED: [(&str, f64, f64); 4] = [
    ("NVIDIA H100 80GB HBM3", 4.5e11, 6.4e10),
    ("NVIDIA H200", 4.5e11, 6.4e10),
    ("NVIDIA A100-SXM4-80GB", 3e11, 3.2e10),
    ("NVIDIA H200", 4.5e11, 6.4e10),
];
/// Bytes a second of a network card: 100 Gb/s.
const NETWORK: f64 = 1.25e10;

/// A batch that is fixed for all replicas, and gradients that take longer over their link than to be computed, on an
/// exporter that sends links and SM activity; fewer bytes mend it.
pub fn communication_bound(dice: &mut Dice, index: u64) -> Draft {
    Draft { exporter: Exporter::Everything, ..communication_bound_unseen(dice, index) }
}

/// The same on an exporter's default counters, which show spinning kernels as work.
pub fn communication_bound_unseen(dice: &mut Dice, index: u64) -> Draft {
    let slower = dice.real("slower", 2.3, 5.0);
    exchanging(dice, index, slower)
}

/// Training at work whose exchange takes a small part of each step on the same links.
pub fn linked(dice: &mut Dice, index: u64) -> Draft {
    let slower = dice.real("slower", 1.03, 1.3);
    let draft = exchanging(dice, index, slower);
    let mut model = draft.model.clone();
    model["training"]["globalBatch"] = Value::Null;
    Draft { model, exporter: Exporter::Everything, mend: Vec::new(), ..draft }
}

fn exchanging(dice: &mut Dice, index: u64, slower: f64) -> Draft {
    let (training, draft) = fed(dice, index, true);
    let (product, nvlink, pcie) = dice.one("linked", &LINKED);
    let (over, peak) = [("NvLink", nvlink), ("Pcie", pcie), ("Network", NETWORK)][index as usize % 3];
    // A ring of large messages gets that much of its link.
    let carries = peak * dice.real("shareOfLink", 0.4, 0.9);
    let count = f64::from(draft.replicas);
    let bytes = (slower - 1.0) * training.compute * carries * count / (2.0 * (count - 1.0));
    let exchange = |bytes: f64| json!({"bytesPerStep": bytes, "bytesPerSecond": carries, "over": over});
    let model = training.with(&[("exchange", exchange(bytes))]);
    let mend = vec![("model.training.exchange".into(), exchange(bytes / 20.0))];
    Draft { model, gpus: 8, product, mend, exporter: Exporter::Default, ..draft }
}

/// One replica's GPUs run slowly, and all others wait for it in each step; another node mends it.
pub fn straggler(dice: &mut Dice, index: u64) -> Draft {
    let (training, draft) = fed(dice, index, index % 2 == 1);
    let slow = json!({"replicas": 1, "clock": dice.real("clock", 0.25, 0.6), "thermal": !index.is_multiple_of(3)});
    let model = training.with(&[("slow", slow)]);
    Draft { model, replicas: draft.replicas.max(3), mend: vec![("model.training.slow".into(), Value::Null)], ..draft }
}
