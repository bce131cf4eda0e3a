//! The fluid against the request-level model, which knows nothing of it.

#![allow(clippy::unwrap_used, clippy::panic)] // tests may panic

use std::{collections::BTreeMap, path::Path};
use wellfed_sim::flow::{Flow, Inflow};
use wellfed_sim::scenario::Scenario;
use wellfed_sim::sim::{Ledger, Replica, Sim, Tick, Usage};

/// Seconds before anything is measured, and seconds that are.
const WARM: f64 = 120.0;
const MEASURED: f64 = 600.0;

const LARGE: &str = "{llm: {modelName: m, prefillFixedMs: 20, prefillMsPerToken: 0.072, decodeFixedMs: 30.1, \
    decodeMsPerSequence: 0.296, batchCap: 32, kvCapacityTokens: 400000, weightsGib: 17, \
    tokenizer: {cores: 4, msPerRequest: 4}}}";
const SMALL: &str = "{llm: {modelName: m, prefillFixedMs: 15, prefillMsPerToken: 0.03, decodeFixedMs: 7, \
    decodeMsPerSequence: 0.1, batchCap: 8, kvCapacityTokens: 400000, weightsGib: 15, \
    tokenizer: {cores: 2, msPerRequest: 3}}}";
const SERIAL: &str = "{llm: {modelName: m, prefillFixedMs: 15, prefillMsPerToken: 0.03, decodeFixedMs: 7, \
    decodeMsPerSequence: 0.1, batchCap: 1, kvCapacityTokens: 400000, weightsGib: 15, \
    tokenizer: {cores: 2, msPerRequest: 3}}}";
const SHORT_OF_CACHE: &str = "{llm: {modelName: m, prefillFixedMs: 20, prefillMsPerToken: 0.072, decodeFixedMs: 30.1, \
    decodeMsPerSequence: 0.296, batchCap: 64, kvCapacityTokens: 9000, weightsGib: 17, \
    tokenizer: {cores: 4, msPerRequest: 4}}}";
const SHORT_OF_TOKENIZERS: &str = "{llm: {modelName: m, prefillFixedMs: 20, prefillMsPerToken: 0.072, \
    decodeFixedMs: 30.1, decodeMsPerSequence: 0.296, batchCap: 64, kvCapacityTokens: 400000, weightsGib: 17, \
    tokenizer: {cores: 1, msPerRequest: 400}}}";
const SERVICE: &str = "{service: {gpuSecondsPerRequest: 0.02, cpuSecondsPerRequest: 0.01, concurrency: 8}}";
const SERVICE_ON_CPU: &str = "{service: {gpuSecondsPerRequest: 0.01, cpuSecondsPerRequest: 0.2, concurrency: 12}}";
const SERVICE_ONE_BY_ONE: &str = "{service: {gpuSecondsPerRequest: 0.02, cpuSecondsPerRequest: 0.02, concurrency: 1}}";

fn scenario(model: &str, per_second: f64) -> Scenario {
    let text = format!(
        "workloads:\n- name: w\n  namespace: default\n  selector: {{matchLabels: {{app: w}}}}\n  model: {model}\n  \
         arrivals: {{rate: {{perSecond: {per_second}, promptTokens: 512, outputTokens: 128}}}}\n"
    );
    Scenario::parse(&text, "test", Path::new(".")).unwrap()
}

fn replicas() -> Vec<Replica> {
    ["a", "b"].map(|uid| Replica::ready(uid, 1, Some(8.0))).to_vec()
}

/// What two replicas do in a second.
#[derive(Clone, Copy, Debug)]
struct Did {
    finished: f64,
    used: Usage,
}

fn by_request(model: &str, per_second: f64) -> Did {
    let mut sim = Sim::new(&scenario(model, per_second)).unwrap();
    let pods = BTreeMap::from([("w".to_owned(), replicas())]);
    let mut until = |seconds: f64| {
        while sim.now() < seconds {
            sim.step(&pods);
        }
        let finished = match &sim.workloads()[0].state {
            wellfed_sim::sim::State::Llm(pool) => pool.finished() as f64,
            wellfed_sim::sim::State::Service(pool) => pool.finished as f64,
            wellfed_sim::sim::State::Training(run) => run.samples,
        };
        (finished, ["a", "b"].map(|uid| sim.ledger(uid).used))
    };
    between(until(WARM), until(WARM + MEASURED))
}

fn as_fluid(model: &str, per_second: f64, step: f64) -> Did {
    let scenario = scenario(model, per_second);
    let mut inflow = Inflow::new(&scenario.workloads[0], Path::new("."), 1).unwrap();
    let mut flow = Flow::new(&scenario.workloads[0]);
    let mut ledgers = BTreeMap::new();
    let mut now = 0.0;
    let mut until = |seconds: f64| {
        while now < seconds {
            flow.step(inflow.next(now, step), &replicas(), Tick { from: now, until: now + step }, &mut ledgers);
            now += step;
        }
        (flow.finished(), ["a", "b"].map(|uid| ledgers.get(uid).map_or(Usage::default(), |one: &Ledger| one.used)))
    };
    between(until(WARM), until(WARM + MEASURED))
}

fn between(before: (f64, [Usage; 2]), after: (f64, [Usage; 2])) -> Did {
    let mut sum = after.1[0];
    for more in [after.1[1], before.1[0] * -1.0, before.1[1] * -1.0] {
        sum += more;
    }
    let used = sum * (1.0 / (2.0 * MEASURED));
    Did { finished: (after.0 - before.0) / MEASURED, used }
}

#[test]
fn print() {
    for (name, model) in [
        ("large", LARGE),
        ("small", SMALL),
        ("serial", SERIAL),
        ("cache", SHORT_OF_CACHE),
        ("tokenizers", SHORT_OF_TOKENIZERS),
        ("service", SERVICE),
        ("cpu", SERVICE_ON_CPU),
        ("one", SERVICE_ONE_BY_ONE),
    ] {
        let most = by_request(model, 400.0).finished;
        let cap = Flow::new(&scenario(model, 1.0).workloads[0]).capacity(
            wellfed_sim::flow::Work { amount: 1.0, prompt_tokens: 512.0, output_tokens: 128.0 },
            2,
            Some(8.0),
        );
        println!("{name} most {most} capacity {cap}");
        for load in [0.03, 0.3, 0.8, 1.3] {
            let (a, b) = (by_request(model, load * most), as_fluid(model, load * most, 15.0));
            println!(
                "  {load}: thr {:.3} {:.3} busy {:.3} {:.3} sm {:.3} {:.3} tensor {:.4} {:.4} dram {:.3e} {:.3e} cpu {:.2} {:.2} thrott {:.2} {:.2}",
                a.finished,
                b.finished,
                a.used.gpu_busy,
                b.used.gpu_busy,
                a.used.sm_active,
                b.used.sm_active,
                a.used.tensor_active,
                b.used.tensor_active,
                a.used.dram_bytes,
                b.used.dram_bytes,
                a.used.cpu_seconds,
                b.used.cpu_seconds,
                a.used.cfs_throttled,
                b.used.cfs_throttled
            );
        }
    }
}
