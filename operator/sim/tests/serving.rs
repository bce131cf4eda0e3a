//! What holds serving back, cause by cause: the figures are worked out by hand from the causes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]

mod lab;

use lab::{Lab, lab, near};
use serde_json::{Value, json};
use wellfed_sim::sim::llm::Engine;

const LLM: &str =
    "llm: {modelName: m, prefillFixedMs: 15, prefillMsPerToken: 0.08, decodeFixedMs: 14, decodeMsPerSequence: 0.3,
      batchCap: 64, kvCapacityTokens: 150000, weightsGib: 31, tokenizer: {cores: 4, msPerRequest: 4}}";
const SERVICE: &str = "service: {gpuSecondsPerRequest: 0.03, cpuSecondsPerRequest: 0.01, concurrency: 4}";

/// A batch takes 30 ms and 2 ms for each request in it.
fn batching(max: u32, per_second: f64) -> Lab {
    let batch = json!({"max": max, "waitSeconds": 0.005, "secondsPerBatch": 0.03, "secondsPerItem": 0.002});
    lab(SERVICE, per_second).replicas(1).set("model.service.batch", batch)
}

fn loads(lab: &Lab) -> Vec<usize> {
    lab.llm().engines.values().map(Engine::load).collect()
}

#[test]
fn one_by_one_a_service_does_a_tenth_of_what_it_does_in_batches() {
    // Alone 32 ms a request: 31.25 a second. In batches of 32, 94 ms: 340.4 a second.
    let (mut serial, mut batched) = (batching(1, 500.0), batching(32, 500.0));
    let (alone, together) = (serial.rates(0, 30), batched.rates(0, 30));

    near(serial.throughput(30), 31.25, 0.01);
    near(batched.throughput(30), 340.4, 0.02);
    near(alone.gpu_busy, 1.0, 0.01);
    // Two of 32 ms are spent on requests: 0.0625 × 0.25 + 0.9375 × 0.03; in batches 64 of 94.
    near(alone.tensor_active, 0.0438, 0.02);
    near(together.tensor_active, 0.1798, 0.02);
}

#[test]
fn the_mean_batch_is_one_when_requests_are_served_alone() {
    let ratio = |mut lab: Lab| {
        lab.run(30);
        let one = &lab.service().batchers["w-0"];
        (one.inferences as f64 / one.executions as f64, one.pending())
    };

    let (serial, waiting) = ratio(batching(1, 60.0));
    assert_eq!(serial, 1.0);
    assert!(waiting > 500, "{waiting}");
    let (batched, waiting) = ratio(batching(32, 60.0));
    assert!((2.0..4.0).contains(&batched) && waiting < 10, "{batched}, {waiting}");
}

#[test]
fn a_second_replica_helps_a_serial_service_less_than_batching_does() {
    let second = batching(1, 500.0).replicas(2).throughput(30);
    let mended = batching(1, 500.0).set("model.service.batch.max", 32).throughput(30);

    near(second, 62.5, 0.01);
    assert!(mended > 5.0 * second, "{mended}");
}

#[test]
fn requests_that_have_left_crowd_no_core() {
    // Whoever comes finds eleven others on eight cores: 12 in 0.1 × 11 / 8 + 0.005 seconds.
    let service = "service: {gpuSecondsPerRequest: 0.005, cpuSecondsPerRequest: 0.1, concurrency: 12}";
    let mut lab = lab(service, 200.0).cores(Some(8.0)).replicas(1);
    lab.run(10);

    near(lab.throughput(60), 84.2, 0.01);
}

#[test]
fn a_lone_request_waits_for_company_no_longer_than_it_was_told() {
    let mut lab = batching(32, 0.5);
    lab.run(600);

    let one = &lab.service().batchers["w-0"];
    near(one.queue_seconds / one.inferences as f64, 0.005, 0.05);
    near(one.compute_seconds / one.inferences as f64, 0.032, 0.02);
}

#[test]
fn a_full_batch_does_not_wait_for_more() {
    let batch = json!({"max": 2, "waitSeconds": 10, "secondsPerItem": 0.001});
    let mut lab = lab(SERVICE, 100.0).replicas(1).set("model.service.batch", batch);

    near(lab.throughput(60), 100.0, 0.03);
    let one = &lab.service().batchers["w-0"];
    // Every other request waits for one that comes 10 ms later.
    near(one.queue_seconds / one.inferences as f64, 0.005, 0.1);
}

#[test]
fn sessions_that_stick_drown_one_replica_while_the_others_rest() {
    let mut lab = lab(LLM, 10.0).replicas(3).set("model.llm.router", json!({"pinned": 0.8, "to": 1}));
    lab.run(120);
    let before = loads(&lab);

    lab.scale(4);
    lab.run(60);
    let after = loads(&lab);

    assert!(before[0] > 10 * before[1] && before[0] > 10 * before[2], "{before:?}");
    assert!(after[0] > before[0], "a fourth replica does not help: {after:?}");
    lab.change("model.llm.router", Value::Null);
    lab.run(240);
    let mended = loads(&lab);
    assert!(mended[0] < before[0] / 2, "{mended:?}");
}

#[test]
fn a_service_with_sticky_sessions_has_one_long_queue_and_idle_gpus() {
    let mut lab = lab(SERVICE, 60.0).replicas(4).set("model.service.router", json!({"pinned": 0.8, "to": 1}));

    // 48 a second stick to a replica that does 33.3; 12 are shared by the other three.
    let busy = lab.rates(1, 120).gpu_busy;

    near(busy, 0.12, 0.2);
    let hot = lab.service().batchers["w-0"].pending() as f64;
    near(hot, 120.0 * (48.0 - 33.3), 0.1);
    near(lab.throughput(60), 45.3, 0.1);
    lab.scale(5);
    near(lab.throughput(60), 45.3, 0.1);
}

#[test]
fn answers_that_run_on_end_at_the_cap_and_hold_the_batch() {
    let cap = json!({"asked": 2000, "runOn": 0.5});
    let mut lab = lab(LLM, 1.0).replicas(1).set("model.llm.maxTokens", cap);
    lab.run(600);

    let engine = &lab.llm().engines["w-0"];
    near(engine.cut as f64 / engine.finished as f64, 0.5, 0.05);
    // Half have 200 tokens, half 2 000.
    near(engine.answers.sum / engine.answers.total as f64, 1100.0, 0.05);
    assert_eq!(engine.caps.sum, 2000.0 * engine.finished as f64);
    assert_eq!(engine.prompts.sum, 1000.0 * engine.finished as f64);
}

#[test]
fn requests_without_a_cap_are_not_counted_as_if_they_had_one() {
    let mut lab = lab(LLM, 2.0).replicas(1);
    lab.run(60);

    let engine = &lab.llm().engines["w-0"];
    assert_eq!((engine.cut, engine.caps.total), (0, 0));
    assert!(engine.answers.total > 50);
}

#[test]
fn a_replica_that_warms_up_works_on_its_cpu_and_serves_nothing() {
    for (model, kind) in [(LLM, "llm"), (SERVICE, "service")] {
        let mut lab = lab(model, 2.0).replicas(1).set(&format!("model.{kind}.warmUp"), "30s");

        let used = lab.rates(0, 29);
        let truth = lab.truth();

        assert!(used.gpu_busy < 1e-3 && used.cpu_seconds > 0.9, "{kind}: {used:?}");
        assert!(truth.throughput == 0.0 && truth.queue > 30.0, "{kind}: {truth:?}");
        assert!(lab.throughput(60) > 1.8, "{kind}: then it catches up");
    }
}

#[test]
fn a_change_between_one_queue_and_batches_loses_no_request() {
    let mut lab = lab(SERVICE, 60.0).replicas(1);
    lab.run(30);
    lab.change("model.service.batch", json!({"max": 8, "secondsPerItem": 0.004}));
    lab.run(30);
    lab.change("model.service.batch", Value::Null);
    lab.change("arrivals.rate.perSecond", 0.0);

    let truth = lab.run(60);

    assert_eq!(lab.service().finished as f64, truth.arrivals);
}

#[test]
fn tokenizers_that_share_their_cores_feed_three_replicas_no_better_than_two() {
    let shared = |count| {
        let stage = json!({"cores": 4, "msPerRequest": 1000});
        let pool = json!({"cores": 6});
        let mut lab = lab(LLM, 12.0)
            .set("arrivals.rate.outputTokens", 20)
            .replicas(count)
            .set("model.llm.tokenizer", stage)
            .set("model.llm.cpuPool", pool);
        lab.run(60);
        lab
    };

    // Two engines keep a core each and leave four: 4 requests a second at 1 s; three leave three.
    near(shared(2).throughput(120), 4.0, 0.02);
    near(shared(3).throughput(120), 3.0, 0.02);
    let used = shared(3).rates(0, 60);
    assert!(used.gpu_busy < 0.5 && used.cpu_waiting > 0.9, "{used:?}");
    near(used.cpu_seconds, 2.0, 0.01);
    assert_eq!(used.cfs_throttled, 0.0);
    assert!(shared(3).set("model.llm.cpuPool", Value::Null).throughput(120) > 8.0);
}

#[test]
fn a_cpu_stage_on_shared_cores_starves_every_gpu_behind_it() {
    let shared = |count| {
        let batch = json!({"max": 8, "secondsPerItem": 0.004});
        lab(SERVICE, 500.0)
            .replicas(count)
            .set("model.service.batch", batch)
            .set("model.service.cpuSecondsPerRequest", 0.1)
            .set("model.service.cpuPool", json!({"cores": 8}))
    };

    // Eight cores at 100 ms a request.
    near(shared(2).throughput(60), 80.0, 0.02);
    near(shared(3).throughput(60), 80.0, 0.02);
    near(shared(2).rates(0, 60).gpu_busy, 40.0 * 0.004, 0.03);
}

#[test]
fn unequal_lengths_come_at_the_same_moments_as_equal_ones() {
    let moments = |spread: f64| {
        let mut lab = lab(LLM, 5.0).replicas(2).set("arrivals.rate.lengthSpread", spread);
        let arrived = (0..30).map(|_| lab.run(1).arrivals).collect::<Vec<_>>();
        lab.run(120);
        let prompts: Vec<_> = lab.llm().engines.values().map(|engine| engine.prompts.clone()).collect();
        (arrived, prompts)
    };

    let ((even, equal), (spread, unequal)) = (moments(0.0), moments(1.0));
    assert_eq!(even, spread);
    // Of 1 000 tokens each: none above 1 000, and a good part beyond 2 000.
    assert!(equal.iter().all(|one| one.counts[9] == one.total));
    assert!(unequal.iter().all(|one| one.counts[10] < one.total));
}
