//! Causes that more GPUs do not fix, and what mends each.

use super::parts::{self, CHAT};
use crate::case::Draft;
use crate::dice::Dice;
use crate::models::Training;
use serde_json::json;

const H100: &str = "NVIDIA-H100-80GB-HBM3";

/// The CPU that prepares the input is at its limit: of a trainer, or each third time of a service.
pub fn data_loader(dice: &mut Dice, index: u64) -> Draft {
    let slower = dice.real("slower", 2.3, 7.0);
    if index % 3 == 2 { slow_service(dice, index, slower) } else { slow_loader(dice, index, slower) }
}

/// The same, by less than half of the GPUs' time.
pub fn mild_loader(dice: &mut Dice, index: u64) -> Draft {
    let slower = dice.real("slower", 1.2, 1.9);
    slow_loader(dice, index, slower)
}

/// The loader takes `slower` times as long as the GPUs; decoding on the GPU mends it.
fn slow_loader(dice: &mut Dice, index: u64, slower: f64) -> Draft {
    let limit = f64::from(dice.whole("cpuLimit", 4, 24));
    let training = parts::trainer(dice, limit);
    let cpu = slower * (1.0 + training.exchange) * limit / training.rate();
    let draft = parts::trained(dice, index, limit, Training { cpu, ..training });
    let mended = json!(0.3 * limit / training.rate());
    Draft { mend: vec![("model.training.loader.cpuSecondsPerSample".into(), mended)], ..draft }
}

fn slow_service(dice: &mut Dice, index: u64, slower: f64) -> Draft {
    let draft = parts::serving(dice, index, H100);
    let limit = draft.cpu_limit.unwrap_or(1.0);
    let service = parts::service(dice, limit);
    let mended = json!(0.3 * limit * service.gpu);
    let service = crate::models::Service { cpu: slower * limit * service.gpu, ..service };
    let load = dice.real("load", 1.3, 2.6);
    let draft = parts::service_under_load(dice, draft, &service, load);
    Draft { mend: vec![("model.service.cpuSecondsPerRequest".into(), mended)], ..draft }
}

/// All replicas read from one storage that is too slow; data on the nodes mends it.
pub fn storage_stall(dice: &mut Dice, index: u64) -> Draft {
    let slower = dice.real("slower", 2.3, 7.0);
    let limit = f64::from(dice.whole("cpuLimit", 4, 24));
    let training = parts::trainer(dice, limit);
    let draft = parts::trained(dice, index, limit, training);
    let wanted = f64::from(draft.replicas) * training.rate() * training.bytes / (1.0 + training.exchange);
    let model = Training { storage: Some(wanted / slower), backlog: 0.0, ..training }.json();
    let backlog = draft.model["training"]["backlog"].clone();
    let mut draft = Draft { model, ..draft };
    draft.model["training"]["backlog"] = backlog;
    Draft { mend: vec![("model.training.storage.bytesPerSecond".into(), json!(wanted * 10.0))], ..draft }
}

/// A batch of one; continuous batching mends it.
pub fn serial_requests(dice: &mut Dice, index: u64) -> Draft {
    batch_of(dice, index, 1)
}

/// A batch that could be many times as large.
pub fn small_batch(dice: &mut Dice, index: u64) -> Draft {
    let batch = dice.whole("smallBatch", 2, 7);
    batch_of(dice, index, batch)
}

fn batch_of(dice: &mut Dice, index: u64, batch: u32) -> Draft {
    let (whole, product) = parts::llm(dice, &CHAT);
    let small = crate::models::Llm { batch, ..whole };
    let draft = parts::serving(dice, index, product);
    let load = dice.real("load", 1.3, 2.6);
    let draft = parts::under_load(dice, draft, &small, load);
    let target = f64::from(dice.whole("target", 8, 32));
    Draft { target, mend: vec![("model.llm.batchCap".into(), json!(whole.batch))], ..draft }
}
