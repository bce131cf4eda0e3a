//! The fluid against the request-level model, which knows nothing of it.

#![allow(clippy::unwrap_used, clippy::panic)] // tests may panic

use std::{collections::BTreeMap, path::Path};
use wellfed_sim::flow::{Flow, Inflow, Work};
use wellfed_sim::scenario::Scenario;
use wellfed_sim::sim::{Ledger, Replica, Sim, Stage, State, Tick, Usage};

/// Seconds before anything is measured, and seconds that are.
const WARM: f64 = 120.0;
const MEASURED: f64 = 300.0;

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
const SERVICE_ON_CPU: &str = "{service: {gpuSecondsPerRequest: 0.01, cpuSecondsPerRequest: 0.2, concurrency: 6}}";
const SERVICE_ONE_BY_ONE: &str = "{service: {gpuSecondsPerRequest: 0.02, cpuSecondsPerRequest: 0.02, concurrency: 1}}";

const BATCHED: &str = "{service: {gpuSecondsPerRequest: 1, cpuSecondsPerRequest: 0.002, concurrency: 1, \
    batch: {max: 16, secondsPerBatch: 0.02, secondsPerItem: 0.002}}}";
const BATCHED_PATIENTLY: &str = "{service: {gpuSecondsPerRequest: 1, cpuSecondsPerRequest: 0.002, concurrency: 1, \
    batch: {max: 16, waitSeconds: 0.05, secondsPerBatch: 0.02, secondsPerItem: 0.001, secondsPerToken: 0.000002}}}";
const STICKY: &str = "{llm: {modelName: m, prefillFixedMs: 15, prefillMsPerToken: 0.03, decodeFixedMs: 7, \
    decodeMsPerSequence: 0.1, batchCap: 8, kvCapacityTokens: 400000, weightsGib: 15, \
    tokenizer: {cores: 2, msPerRequest: 3}, router: {pinned: 0.9, to: 1}, maxTokens: {asked: 100, runOn: 0.5}}}";
const STICKY_SERVICE: &str = "{service: {gpuSecondsPerRequest: 0.02, cpuSecondsPerRequest: 0.01, concurrency: 8, \
    router: {pinned: 0.8, to: 1}}}";
const TRAINING: &str = "{training: {gpuSecondsPerStep: 0.5, samplesPerStep: 64, communicationFraction: 0.2, \
    loader: {workers: 8, cpuSecondsPerSample: 0.02, bytesPerSample: 100000}}}";

fn scenario(model: &str, per_second: f64) -> Scenario {
    let text = format!(
        "workloads:\n- name: w\n  namespace: default\n  selector: {{matchLabels: {{app: w}}}}\n  model: {model}\n  \
         arrivals: {{rate: {{perSecond: {per_second}, promptTokens: 512, outputTokens: 128}}}}\n"
    );
    Scenario::parse(&text, "test", Path::new(".")).unwrap()
}

fn replica(uid: &str, stage: Stage) -> Replica {
    Replica { stage, ..Replica::ready(uid, 1, Some(8.0)) }
}

fn two() -> Vec<Replica> {
    ["a", "b"].map(|uid| replica(uid, Stage::Ready)).to_vec()
}

/// What can be seen of both models.
trait Played {
    fn finished(&self) -> f64;
    fn waiting(&self) -> f64;
    fn used(&self, uid: &str) -> Usage;
}

impl Played for Sim {
    fn finished(&self) -> f64 {
        match &self.workloads()[0].state {
            State::Llm(pool) => pool.finished() as f64,
            State::Service(pool) => pool.finished as f64,
            State::Training(run) => run.samples,
        }
    }

    fn waiting(&self) -> f64 {
        self.workloads()[0].truth().queue
    }

    fn used(&self, uid: &str) -> Usage {
        self.ledger(uid).used
    }
}

struct Fluid {
    flow: Flow,
    inflow: Inflow,
    ledgers: BTreeMap<String, Ledger>,
    now: f64,
    step: f64,
    arrived: f64,
}

impl Fluid {
    fn new(model: &str, per_second: f64, step: f64) -> Self {
        let workload = &scenario(model, per_second).workloads[0];
        let inflow = Inflow::new(workload, Path::new("."), 1).unwrap();
        Self { flow: Flow::new(workload), inflow, ledgers: BTreeMap::new(), now: 0.0, step, arrived: 0.0 }
    }

    fn play(&mut self, seconds: f64, replicas: &[Replica]) {
        let end = self.now + seconds;
        while self.now < end {
            let new = self.inflow.next(self.now, self.step);
            self.give(new, replicas);
        }
    }

    fn give(&mut self, new: Work, replicas: &[Replica]) {
        self.arrived += new.amount;
        self.flow.step(new, replicas, Tick { from: self.now, until: self.now + self.step }, &mut self.ledgers);
        self.now += self.step;
    }

    fn silence(&mut self, model: &str) {
        self.inflow.adopt(&scenario(model, 0.0).workloads[0]).unwrap();
    }
}

impl Played for Fluid {
    fn finished(&self) -> f64 {
        self.flow.finished()
    }

    fn waiting(&self) -> f64 {
        self.flow.queue()
    }

    fn used(&self, uid: &str) -> Usage {
        self.ledgers.get(uid).map_or(Usage::default(), |ledger| ledger.used)
    }
}

/// The request-level model and the fluid, which gets the very same arrivals, 15 s at a time.
struct Pair {
    sim: Sim,
    fluid: Fluid,
}

impl Pair {
    fn new(model: &str, per_second: f64) -> Self {
        Self { sim: Sim::new(&scenario(model, per_second)).unwrap(), fluid: Fluid::new(model, 0.0, 15.0) }
    }

    fn play(&mut self, seconds: f64, replicas: &[Replica]) {
        let pods = BTreeMap::from([("w".to_owned(), replicas.to_vec())]);
        let end = self.sim.now() + seconds;
        while self.sim.now() < end {
            (0..150).for_each(|_| self.sim.step(&pods));
            let amount = self.sim.workloads()[0].truth().arrivals - self.fluid.arrived;
            self.fluid.give(Work { amount, prompt_tokens: 512.0, output_tokens: 128.0 }, replicas);
        }
    }
}

/// Finished, and used by the two replicas.
type Seen = (f64, [Usage; 2]);

fn look(played: &impl Played) -> Seen {
    (played.finished(), ["a", "b"].map(|uid| played.used(uid)))
}

/// Finished a second, then of one replica the shares of time and the rates.
fn did(before: &Seen, after: &Seen) -> [(&'static str, f64); 6] {
    let mean = |what: fn(&Usage) -> f64| {
        (what(&after.1[0]) + what(&after.1[1]) - what(&before.1[0]) - what(&before.1[1])) / (2.0 * MEASURED)
    };
    [
        ("throughput", (after.0 - before.0) / MEASURED),
        ("GPU activity", mean(|used| used.gpu_busy)),
        ("SMs", mean(|used| used.sm_active)),
        ("tensor pipe", mean(|used| used.tensor_active)),
        ("GPU memory traffic", mean(|used| used.dram_bytes)),
        ("CPU", mean(|used| used.cpu_seconds)),
    ]
}

#[test]
fn throughput_and_meters_are_those_of_the_request_level_model_within_eight_percent() {
    for (name, model) in [
        ("large", LARGE),
        ("small", SMALL),
        ("serial", SERIAL),
        ("short of cache", SHORT_OF_CACHE),
        ("short of tokenizers", SHORT_OF_TOKENIZERS),
        ("service", SERVICE),
        ("service on CPU", SERVICE_ON_CPU),
        ("service one by one", SERVICE_ONE_BY_ONE),
        ("batched", BATCHED),
        ("batched patiently", BATCHED_PATIENTLY),
        ("sticky", STICKY),
        ("sticky service", STICKY_SERVICE),
        ("training", TRAINING),
        ("training with phases", &TRAINING.replace("}}}", "}, phases: {checkpoint: {every: 50s, lasts: 10s}}}}")),
    ] {
        let mut flood = Pair::new(model, 1_000.0);
        flood.play(WARM, &two());
        let most = flood.sim.finished() / WARM;
        for load in [0.3, 0.8, 1.3] {
            let mut pair = Pair::new(model, load * most);
            pair.play(WARM, &two());
            let before = (look(&pair.sim), look(&pair.fluid));
            pair.play(MEASURED, &two());

            let (expected, got) = (did(&before.0, &look(&pair.sim)), did(&before.1, &look(&pair.fluid)));
            for ((what, expected), (_, got)) in expected.iter().zip(&got) {
                let apart = (got / expected - 1.0).abs();
                assert!(apart < 0.08, "{name} at {load}: {what} is {got}, request by request {expected}");
            }
        }
    }
}

/// A second replica comes after two minutes of too much load; two minutes later arrivals end.
#[test]
fn a_backlog_grows_and_drains_as_request_by_request() {
    // Equal requests that begin together, after a warm-up, would go on sharing the fixed cost of their prefills.
    let warms_up = LARGE.replace("}}}", "}, warmUp: 40s}}").replace("prefillFixedMs: 20", "prefillFixedMs: 0");
    for (name, model, rate) in [
        ("large", LARGE, 9.0),
        ("large that warms up", &warms_up, 9.0),
        ("service", SERVICE, 80.0),
        ("service that warms up", &SERVICE.replace("}}", ", warmUp: 40s}}"), 80.0),
        ("batched", BATCHED, 400.0),
    ] {
        let mut pair = Pair::new(model, rate);
        for quarter in 0..24 {
            if quarter == 16 {
                pair.sim.set("w", "arrivals.rate.perSecond", &0.into()).unwrap();
            }
            let replicas = if quarter < 8 { &[replica("a", Stage::Ready)][..] } else { &two() };
            pair.play(15.0, replicas);

            // A fluid finishes from the first second on, requests come out after a whole stay: up to a batch apart.
            let bound = 32.0 + 0.03 * pair.fluid.arrived;
            let (sim, fluid) = (&pair.sim, &pair.fluid);
            for (what, got, expected) in
                [("finished", fluid.finished(), sim.finished()), ("waiting", fluid.waiting(), sim.waiting())]
            {
                assert!((got - expected).abs() < bound, "{name}, {quarter}: {got} {what}, {expected} expected");
            }
        }
    }
}

#[test]
fn a_first_token_takes_as_long_as_request_by_request() {
    for (name, model, rate) in [("large", LARGE, 3.0), ("small", SMALL, 4.0)] {
        let mut pair = Pair::new(model, rate);
        pair.play(600.0, &two());

        let State::Llm(pool) = &pair.sim.workloads()[0].state else { panic!("no LLM") };
        let (sum, total) = pool
            .engines
            .values()
            .fold((0.0, 0), |(sum, total), engine| (sum + engine.first_token.sum, total + engine.first_token.total));
        let (got, expected) = (pair.fluid.flow.latency().unwrap(), sum / f64::from(u32::try_from(total).unwrap()));
        assert!((got / expected - 1.0).abs() < 0.2, "{name}: {got} s, request by request {expected} s");
    }
}

#[test]
fn who_comes_in_behind_a_queue_waits_for_it() {
    let mut fluid = Fluid::new(SERVICE, 150.0, 15.0);
    fluid.play(120.0, &two());

    // 50 a second too many for 120 s, worked off at 100 a second; the noise of 18,000 arrivals is 134.
    let (queue, latency) = (fluid.waiting(), fluid.flow.latency().unwrap());
    assert!((5_500.0..6_500.0).contains(&queue), "{queue}");
    assert!((55.0..65.0).contains(&latency), "{latency}");
}

#[test]
fn nothing_is_lost_or_made_while_replicas_come_and_go() {
    for model in [LARGE, SHORT_OF_TOKENIZERS, SERVICE, SERVICE_ON_CPU] {
        let mut fluid = Fluid::new(model, 12.0, 5.0);
        for (a, b) in [
            (None, None),
            (Some(Stage::Starting), None),
            (Some(Stage::Ready), None),
            (Some(Stage::Ready), Some(Stage::Ready)),
            (Some(Stage::Draining), Some(Stage::Ready)),
            (None, Some(Stage::Ready)),
            (None, None),
            (Some(Stage::Ready), None),
        ] {
            let stages = [("a", a), ("b", b)].into_iter();
            let replicas: Vec<_> = stages.filter_map(|(uid, stage)| Some(replica(uid, stage?))).collect();
            fluid.play(30.0, &replicas);

            let accounted = fluid.finished() + fluid.flow.queue() + fluid.flow.running();
            assert!((accounted - fluid.arrived).abs() < 1e-6 * fluid.arrived, "{accounted} of {}", fluid.arrived);
        }
    }
}

#[test]
fn a_replica_that_drains_finishes_what_it_runs_and_takes_nothing_new() {
    for model in [LARGE, SERVICE] {
        let mut fluid = Fluid::new(model, 4.0, 15.0);
        fluid.play(60.0, &[replica("a", Stage::Ready)]);
        fluid.silence(model);
        fluid.play(300.0, &[replica("a", Stage::Draining)]);
        let before = fluid.flow.running();
        fluid.inflow.adopt(&scenario(model, 4.0).workloads[0]).unwrap();
        fluid.play(15.0, &[replica("a", Stage::Draining)]);

        assert!(before.abs() < f64::EPSILON && fluid.flow.running().abs() < f64::EPSILON);
        assert!(fluid.waiting() > 20.0, "{}", fluid.waiting());
        assert_eq!(fluid.flow.latency(), None);
    }
}

#[test]
fn an_idle_fluid_runs_dry() {
    let mut fluid = Fluid::new(LARGE, 4.0, 15.0);
    fluid.play(300.0, &two());
    fluid.silence(LARGE);
    fluid.play(300.0, &two());

    assert_eq!((fluid.flow.running(), fluid.flow.queue(), fluid.flow.throughput()), (0.0, 0.0, 0.0));
}

#[test]
fn the_length_of_a_step_hardly_matters() {
    let [short, long] = [1.0, 60.0].map(|step| {
        let mut fluid = Fluid::new(LARGE, 6.0, step);
        fluid.play(WARM, &two());
        let before = look(&fluid);
        fluid.play(MEASURED, &two());
        did(&before, &look(&fluid))
    });

    for ((what, short), (_, long)) in short.iter().zip(&long) {
        assert!((short / long - 1.0).abs() < 0.05, "{what}: {short} in steps of 1 s, {long} in steps of 60 s");
    }
}

/// What one replica can do, worked out by hand: 32 requests take 128 iterations of 39.572 ms and 32 prefills of
/// 512 × 0.072 ms each, with the fixed 20 ms for every 1.13 of them; a GPU that takes 20 ms a request; a step of
/// 64 samples that waits for 64 × 20 ms of CPU on 7.85 cores.
#[test]
fn capacity_is_what_the_causes_allow() {
    let work = Work { amount: 1.0, prompt_tokens: 512.0, output_tokens: 128.0 };
    for (model, replicas, limit, expected) in [
        (LARGE, 1, None, 4.69),
        (LARGE, 3, None, 14.08),
        (SERVICE, 2, None, 100.0),
        (SHORT_OF_TOKENIZERS, 1, None, 2.5),
        (SHORT_OF_TOKENIZERS, 1, Some(1.5), 1.25),
        (TRAINING, 1, None, 128.0),
        (TRAINING, 0, None, 0.0),
    ] {
        let got = Flow::new(&scenario(model, 1.0).workloads[0]).capacity(work, replicas, limit);
        assert!((got - expected).abs() < 0.01 * expected.max(0.01), "{got} for {expected}: {model}");
    }
}
