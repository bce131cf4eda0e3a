//! The models obey the laws that real systems obey.

#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]

use std::{collections::BTreeMap, path::Path};
use wellfed_world::{
    scenario::Scenario,
    sim::{Replica, Sim, Stage, State, Truth},
};

const LLM: &str =
    "llm: {modelName: m, prefillFixedMs: 15, prefillMsPerToken: 0.08, decodeFixedMs: 14, decodeMsPerSequence: 0.3,
      batchCap: 64, kvCapacityTokens: 150000, weightsGib: 31, tokenizer: {cores: 4, msPerRequest: 4}}";
const TRAINING: &str =
    "training: {gpuSecondsPerStep: 0.25, samplesPerStep: 512, communicationFraction: 0.08, backlog: 1000000000,
      loader: {workers: 64, cpuSecondsPerSample: 0.001, bytesPerSample: 150000}}";
const SERVICE: &str = "service: {gpuSecondsPerRequest: 0.03, cpuSecondsPerRequest: 0.01, concurrency: 4}";

struct Lab {
    sim: Sim,
    pods: BTreeMap<String, Vec<Replica>>,
}

/// One workload called `w` with this model and arrival rate.
fn lab(model: &str, per_second: f64) -> Lab {
    let text = format!(
        "seed: 11\nworkloads:\n- name: w\n  namespace: n\n  selector: {{matchLabels: {{app: w}}}}\n  model:\n    {model}\n  \
         arrivals: {{rate: {{perSecond: {per_second}, promptTokens: 1000, outputTokens: 200}}}}\n"
    );
    Lab { sim: Sim::new(&Scenario::parse(&text, "lab", Path::new(".")).unwrap()).unwrap(), pods: BTreeMap::new() }
}

impl Lab {
    fn replicas(mut self, count: usize) -> Self {
        self.scale(count);
        self
    }

    fn scale(&mut self, count: usize) {
        let pods = (0..count).map(|index| Replica::ready(format!("w-{index}"), 1, Some(16.0)));
        self.pods.insert("w".into(), pods.collect());
    }

    fn set(mut self, path: &str, value: impl Into<serde_json::Value>) -> Self {
        self.sim.set("w", path, &value.into()).unwrap();
        self
    }

    fn run(&mut self, seconds: u32) -> Truth {
        for _ in 0..seconds * 10 {
            self.sim.step(&self.pods);
        }
        self.sim.workloads()[0].truth()
    }

    /// Work finished a second over `seconds`.
    fn throughput(&mut self, seconds: u32) -> f64 {
        let done = |sim: &Sim| match &sim.workloads()[0].state {
            State::Llm(pool) => pool.finished() as f64,
            State::Training(run) => run.samples,
            State::Service(pool) => pool.finished as f64,
        };
        let before = done(&self.sim);
        self.run(seconds);
        (done(&self.sim) - before) / f64::from(seconds)
    }
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance * expected
}

#[test]
fn littles_law_holds_for_an_llm_pool() {
    let mut lab = lab(LLM, 6.0).replicas(3);
    lab.run(120);

    let mut inside = 0.0;
    for _ in 0..600 {
        let truth = lab.run(1);
        inside += (truth.queue + truth.running) / 600.0;
    }

    let State::Llm(pool) = &lab.sim.workloads()[0].state else { panic!("an LLM pool") };
    let (time, count) = pool
        .engines
        .values()
        .fold((0.0, 0), |(time, count), engine| (time + engine.whole.sum, count + engine.whole.total));
    assert!(near(inside, 6.0 * time / count as f64, 0.05), "L = {inside}, λW = {}", 6.0 * time / count as f64);
}

#[test]
fn the_utilisation_law_holds_for_a_service() {
    let mut lab = lab(SERVICE, 50.0).replicas(3);
    lab.run(600);

    let busy: f64 = (0..3).map(|index| lab.sim.ledger(&format!("w-{index}")).used.gpu_busy / 600.0).sum::<f64>() / 3.0;

    assert!(near(busy, 0.5, 0.03), "50 requests a second × 30 ms over 3 GPUs is 0.5, not {busy}");
}

#[test]
fn a_service_serves_no_more_than_its_gpus_can() {
    let mut lab = lab(SERVICE, 500.0).replicas(3);

    assert!(near(lab.throughput(60), 100.0, 0.02), "3 GPUs at 30 ms each");
}

#[test]
fn a_saturated_llm_pool_grows_its_queue_and_another_replica_lets_it_fall() {
    let mut lab = lab(LLM, 12.0).replicas(2);
    let (early, late) = (lab.run(30).queue, lab.run(60).queue);
    assert!(late > early + 60.0, "{early} then {late}");

    lab.scale(4);
    assert!(lab.run(120).queue < late / 2.0);
}

#[test]
fn replicas_beyond_what_the_shared_storage_feeds_add_nothing() {
    let rate = |count: usize| {
        lab(TRAINING, 0.0).replicas(count).set("model.training.storage.bytesPerSecond", 6e8).throughput(30)
    };

    // Storage feeds 6e8 / 150 000 = 4 000 samples a second; a replica takes 2 048 alone, a little less with peers.
    assert!(near(rate(1), 2048.0, 0.01), "one replica is bound by its GPU: {}", rate(1));
    assert!(near(rate(2), 3938.0, 0.01), "so are two, with their exchange: {}", rate(2));
    assert!(near(rate(4), 4000.0, 0.01), "four are bound by the storage: {}", rate(4));
    assert!(near(rate(8), 4000.0, 0.01), "and eight are no faster: {}", rate(8));
}

#[test]
fn a_starved_trainer_stays_starved_whatever_its_size() {
    for count in [1, 2, 4, 8, 16] {
        let mut lab = lab(TRAINING, 0.0).replicas(count).set("model.training.loader.cpuSecondsPerSample", 0.03);

        let activity = lab.run(30).gpu_activity;

        assert!(activity < 0.30, "{count} replicas: {activity}");
    }
}

#[test]
fn a_fed_trainer_is_busy() {
    assert!(lab(TRAINING, 0.0).replicas(4).run(30).gpu_activity > 0.99);
}

#[test]
fn a_trainer_is_as_busy_as_its_samples_allow() {
    let mut lab = lab(TRAINING, 2048.0).replicas(2).set("model.training.communicationFraction", 0.0);
    let State::Training(run) = &lab.sim.workloads()[0].state else { panic!("a training run") };
    assert!(run.backlog > 0.0);

    let fed = lab.run(10).gpu_activity;

    assert!(fed > 0.99, "a backlog keeps both busy: {fed}");
}

#[test]
fn a_slow_tokenizer_starves_the_gpus_of_an_llm_pool() {
    let mut lab = lab(LLM, 6.0).replicas(2).set("model.llm.tokenizer.msPerRequest", 8000.0);

    let truth = lab.run(120);

    assert!(truth.gpu_activity < 0.6, "activity {}", truth.gpu_activity);
    let State::Llm(pool) = &lab.sim.workloads()[0].state else { panic!("an LLM pool") };
    assert!(pool.engines.values().all(|engine| engine.waiting.is_empty()), "the engines wait for text, not for room");
    assert!(truth.queue > 100.0, "the requests wait in front: {}", truth.queue);
}

#[test]
fn a_full_kv_cache_preempts() {
    let mut lab = lab(LLM, 12.0).replicas(2).set("model.llm.kvCapacityTokens", 8000);
    lab.run(60);

    let State::Llm(pool) = &lab.sim.workloads()[0].state else { panic!("an LLM pool") };
    assert!(pool.engines.values().all(|engine| engine.preemptions > 0 && engine.kv_usage() > 0.8));
}

#[test]
fn requests_of_a_replica_that_goes_away_are_answered_by_others() {
    let mut lab = lab(LLM, 4.0).replicas(3);
    lab.run(60);
    lab.scale(2);
    lab = lab.set("arrivals.rate.perSecond", 0.0);

    let truth = lab.run(60);

    let State::Llm(pool) = &lab.sim.workloads()[0].state else { panic!("an LLM pool") };
    assert_eq!(pool.finished() as f64, truth.arrivals, "none is lost, none is answered twice");
}

#[test]
fn a_draining_replica_finishes_what_runs_and_takes_nothing_new() {
    let mut lab = lab(LLM, 4.0).replicas(2);
    lab.run(30);
    lab.pods.get_mut("w").unwrap()[0].stage = Stage::Draining;

    lab.run(30);

    let State::Llm(pool) = &lab.sim.workloads()[0].state else { panic!("an LLM pool") };
    assert_eq!(pool.engines["w-0"].load(), 0);
    assert!(pool.engines["w-1"].load() > 0);
}

#[test]
fn requests_wait_for_the_first_ready_replica() {
    let mut lab = lab(LLM, 2.0);
    let waiting = lab.run(30).queue;
    lab.scale(2);

    assert!(waiting > 30.0, "{waiting}");
    assert!(lab.run(60).queue < 5.0);
}

#[test]
fn the_same_seed_and_pods_give_the_same_history() {
    let history = || lab(LLM, 6.0).replicas(3).run(60);

    assert_eq!(history(), history());
}
