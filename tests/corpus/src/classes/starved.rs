//! GPUs that wait for their input, and what mends it.

use super::parts;
use crate::case::Draft;
use crate::dice::Dice;
use crate::models::Training;
use serde_json::json;

const H100: &str = "NVIDIA H100 80GB HBM3";

/// The CPU that prepares the input is at its limit: that of each trainer, that of nodes which all trainers share, or
/// that of a service.
pub fn data_loader(dice: &mut Dice, index: u64) -> Draft {
    let slower = dice.real("slower", 2.3, 7.0);
    match index % 3 {
        0 => slow_loader(dice, index, slower),
        1 => shared_cores(dice, index, slower),
        _ => slow_service(dice, index, slower),
    }
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

/// Trainers without a limit of their own on nodes whose cores are too few for all of them.
fn shared_cores(dice: &mut Dice, index: u64, slower: f64) -> Draft {
    let cores = f64::from(dice.whole("coresOfReplica", 4, 24));
    let training = parts::trainer(dice, cores);
    let cpu = slower * (1.0 + training.exchange) * cores / training.rate();
    let draft = parts::trained(dice, index, cores, Training { cpu, ..training });
    let mut draft = Draft { cpu_limit: None, ..draft };
    draft.model["training"]["cpuPool"] = json!({"cores": cores * f64::from(draft.replicas)});
    let mended = json!(0.3 * cores / training.rate());
    Draft { mend: vec![("model.training.loader.cpuSecondsPerSample".into(), mended)], ..draft }
}

/// All replicas read from one storage that is too slow; data on the nodes mends it.
pub fn storage_stall(dice: &mut Dice, index: u64) -> Draft {
    let slower = dice.real("slower", 2.3, 7.0);
    let limit = f64::from(dice.whole("cpuLimit", 4, 24));
    let training = parts::trainer(dice, limit);
    let mut draft = parts::trained(dice, index, limit, training);
    let wanted = f64::from(draft.replicas) * training.rate() * training.bytes / (1.0 + training.exchange);
    draft.model["training"]["storage"]["bytesPerSecond"] = json!(wanted / slower);
    Draft { mend: vec![("model.training.storage.bytesPerSecond".into(), json!(wanted * 10.0))], ..draft }
}
