//! Draws that several classes share.

use crate::case::{Draft, Exporter, Work};
use crate::dice::Dice;
use crate::models::{Llm, Service, Training, nothing, rate};

/// Products by the name that the driver gives them, and the bandwidth of their memory, bytes a second.
pub const PRODUCTS: [(&str, f64); 4] = [
    ("NVIDIA H100 80GB HBM3", 3.35e12),
    ("NVIDIA H200", 4.8e12),
    ("NVIDIA A100-SXM4-80GB", 2.04e12),
    ("NVIDIA L40S", 0.864e12),
];
/// Memory of each of them, MiB.
const MEMORY: [f64; 4] = [81_559.0, 143_771.0, 81_920.0, 46_068.0];
/// Bytes of a GiB.
pub const GIB: f64 = 1_073_741_824.0;
/// Launching the kernels of an iteration, ms.
pub const LAUNCHING: f64 = 4.0;
/// Length of a scenario, minutes: windows are longer for training.
const MINUTES: (u32, u32) = (24, 36);
/// So many times the work of the whole scenario waits when training begins.
const BACKLOG: f64 = 2.0;

/// Memory of a GPU of `product`, MiB.
pub fn memory_of(product: &str) -> f64 {
    PRODUCTS.iter().zip(MEMORY).find(|((name, _), _)| *name == product).map_or(MEMORY[0], |(_, memory)| memory)
}

/// Prompt and answer lengths, and the largest batch, as ranges.
pub struct Traffic {
    /// Tokens of a prompt.
    pub prompt: (u32, u32),
    /// Tokens of an answer.
    pub output: (u32, u32),
    /// Sequences in a batch.
    pub batch: (u32, u32),
}

/// Short prompts and answers of a chat.
pub const CHAT: Traffic = Traffic { prompt: (300, 1200), output: (100, 300), batch: (32, 64) };

/// A language-model server on a product whose memory sets its pace; its KV cache is ample.
pub fn llm(dice: &mut Dice, traffic: &Traffic) -> (Llm, &'static str) {
    let (product, bandwidth) = dice.one("product", &PRODUCTS);
    let weights = dice.real("weightsGib", 14.0, 40.0);
    let reading = 1000.0 * weights * GIB / (bandwidth * dice.real("bandwidthUsed", 0.2, 0.8));
    let llm = Llm {
        weights,
        decode_fixed: reading + LAUNCHING,
        decode_each: dice.real("decodeMsPerSequence", 0.2, 0.6),
        prefill_each: dice.real("prefillMsPerToken", 0.05, 0.25),
        prompt: dice.whole("prompt", traffic.prompt.0, traffic.prompt.1),
        output: dice.whole("output", traffic.output.0, traffic.output.1),
        batch: dice.whole("batch", traffic.batch.0, traffic.batch.1),
        kv: dice.whole("kvTokens", 200_000, 600_000),
        tokenizers: 4.0,
        tokenizing: dice.real("tokenizingMs", 1.0, 15.0),
    };
    (llm, product)
}

/// Fed well: the CPU has time left, and the storage is not what anything waits for.
pub fn trainer(dice: &mut Dice, limit: f64) -> Training {
    let compute = dice.real("gpuSecondsPerStep", 0.1, 0.6);
    let samples = f64::from(dice.whole("samplesPerStep", 64, 512));
    let exchange = dice.real("exchange", 0.0, 0.2);
    let cpu = dice.real("cpuNeeded", 0.15, 0.65) * limit * compute / samples;
    Training {
        compute,
        samples,
        exchange,
        workers: limit * dice.real("workers", 1.05, 2.0),
        cpu,
        bytes: dice.real("bytesPerSample", 20_000.0, 200_000.0),
        storage: None,
        together: None,
        backlog: 0.0,
    }
}

/// A service that its CPU feeds well on `limit` cores.
pub fn service(dice: &mut Dice, limit: f64) -> Service {
    let gpu = dice.real("gpuSecondsPerRequest", 0.02, 0.08);
    let cpu = dice.real("cpuNeeded", 0.1, 0.5) * limit * gpu;
    Service { gpu, cpu, wait: 0.0, concurrency: dice.whole("concurrency", 24, 64) }
}

/// What all drafts of serving have: replicas, a limit of their CPU, a target.
pub fn serving(dice: &mut Dice, index: u64, product: &'static str) -> Draft {
    let draft = blank(dice, index, Work::Inference, product);
    Draft { cpu_limit: Some(f64::from(dice.whole("cpuLimit", 8, 16))), ..draft }
}

/// A draft of `training`, with more samples waiting than its replicas can work through.
pub fn trained(dice: &mut Dice, index: u64, limit: f64, training: Training) -> Draft {
    let (product, _) = dice.one("product", &PRODUCTS);
    let draft = blank(dice, index, Work::Training, product);
    let seconds = f64::from(draft.minutes) * 60.0;
    let backlog = BACKLOG * f64::from(draft.replicas + 1) * training.rate() * seconds;
    Draft {
        model: Training { backlog, ..training }.json(),
        cpu_limit: Some(limit),
        gpus: 1 << (index % 3),
        target: training.rate() * dice.real("targetSeconds", 120.0, 600.0),
        ..draft
    }
}

fn blank(dice: &mut Dice, index: u64, work: Work, product: &'static str) -> Draft {
    let minutes = if work == Work::Inference { MINUTES.0 } else { MINUTES.1 };
    Draft {
        work,
        model: serde_json::Value::Null,
        arrivals: nothing(),
        neighbour: None,
        changes: Vec::new(),
        product,
        exporter: if index.is_multiple_of(2) { Exporter::Sm } else { Exporter::Default },
        own_metrics: work == Work::Inference || index % 4 < 2,
        replicas: dice.whole("replicas", 2, 8),
        gpus: 1,
        cpu_limit: None,
        target: 1.0,
        minutes,
        phases: Vec::new(),
        fault: None,
        slo: None,
        sharded: false,
        ended: Vec::new(),
        cause_from: 0.0,
        mend: Vec::new(),
        seed: dice.seed(),
    }
}

/// `llm` on `draft` under so many times what it can answer, after a calm start.
pub fn under_load(dice: &mut Dice, draft: Draft, llm: &Llm, load: f64) -> Draft {
    let calm = 60.0 * dice.real("calmMinutes", 0.0, 3.0);
    let capacity = f64::from(draft.replicas) * llm.rate();
    let target = (llm.concurrent() * dice.real("targetOfBatch", 0.7, 1.2)).ceil();
    Draft { model: llm.json(), arrivals: llm.arrivals(0.3 * capacity, &[(calm, load * capacity)]), target, ..draft }
}

/// `service` on `draft` under so many times what it can answer, after a calm start.
pub fn service_under_load(dice: &mut Dice, draft: Draft, service: &Service, load: f64) -> Draft {
    let calm = 60.0 * dice.real("calmMinutes", 0.0, 3.0);
    let capacity = f64::from(draft.replicas) * service.rate(draft.cpu_limit.unwrap_or(f64::INFINITY));
    let arrivals = rate(0.3 * capacity, &[(calm, load * capacity)], 1, 1);
    Draft { model: service.json(), arrivals, target: f64::from(service.concurrency), ..draft }
}
