//! Causes in GPU memory, and processes that end: the figures are worked out by hand.

#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]

mod lab;

use lab::{Lab, lab, near};
use serde_json::{Value, json};
use wellfed_sim::scenario::End;

/// 512 samples in 0.25 s of GPU time; a loader that is always ahead.
const TRAINING: &str = "training: {gpuSecondsPerStep: 0.25, samplesPerStep: 512, backlog: 1000000000,
      loader: {workers: 16, cpuSecondsPerSample: 0.001, bytesPerSample: 150000}}";

fn training(replicas: usize, memory: Value) -> Lab {
    lab(TRAINING, 0.0).replicas(replicas).set("model.training.memory", memory)
}

/// 60 GB are held, and of the other 20 GB four samples take 18 GB.
fn tight() -> Value {
    json!({"usableMib": 80_000, "stateMib": 60_000, "sampleMib": 4_500, "fullSamples": 8, "stallSeconds": 0.01})
}

#[test]
fn four_samples_at_once_fill_half_of_the_card_and_wait_for_the_allocator_128_times_a_step() {
    let mut lab = training(2, tight());

    let used = lab.rates(0, 40);

    // Twice 0.25 s of kernels and 128 × 10 ms.
    near(lab.training().pace.step, 1.78, 1e-6);
    near(used.gpu_busy, 0.5 / 1.78, 0.03);
    // 78 % of the SMs for 0.25 s: the other quarter of a second half of the card has nothing to do.
    near(used.sm_active, 0.78 * 0.25 / 1.78, 0.03);
    assert_eq!(lab.sim.ledger("w-0").level.gpu_memory_mib, 80_000.0);
}

#[test]
fn a_further_replica_leaves_more_room_only_where_the_model_is_split() {
    let at_once = |replicas, sharded: bool| {
        let mut memory = tight();
        // Split over two each holds half of 120 GB.
        (memory["sharded"], memory["stateMib"]) = (json!(sharded), json!(if sharded { 120_000 } else { 60_000 }));
        let mut lab = training(replicas, memory);
        lab.run(5);
        lab.training().pace.at_once
    };

    assert_eq!((at_once(2, false), at_once(3, false)), (4.0, 4.0));
    // 80 GB less 60 and less 40, in 4.5 GB.
    assert_eq!((at_once(2, true), at_once(3, true)), (4.0, 8.0));
}

#[test]
fn a_batch_that_does_not_fit_ends_all_processes_and_nothing_is_learned_however_many_there_are() {
    for replicas in [2, 5] {
        let mut memory = tight();
        (memory["microBatch"], memory["reached"]) = (json!(5), json!("30s"));
        let mut lab = training(replicas, memory);

        let truth = lab.run(200);

        // 30 s each and 10, 20, 40 s between them: at 30, 70, 120 and 190 s.
        let run = lab.training();
        let ends: Vec<f64> = run.ends().iter().filter(|end| end.uid == "w-1").map(|end| end.at.round()).collect();
        assert_eq!(ends, [30.0, 70.0, 120.0, 190.0]);
        assert!(run.ends().iter().all(|end| end.of == End::GpuMemory));
        assert_eq!((run.useful(), truth.useful), (0.0, 0.0));
        near(run.backlog, 1e9, 1e-9);
    }
}

#[test]
fn what_a_checkpoint_holds_outlives_the_process() {
    let mut lab = lab(TRAINING, 0.0)
        .replicas(1)
        .set("model.training.crash", json!({"after": "55s", "of": "HostMemory"}))
        .set("model.training.phases", json!({"checkpoint": {"every": "40s", "lasts": "4s"}}));

    lab.run(60);

    // 36 s until the first checkpoint, at 2 048 samples a second.
    near(lab.training().useful(), 36.0 * 2048.0, 0.01);
    assert_eq!(lab.training().ends()[0].of, End::HostMemory);
}

#[test]
fn a_run_whose_loss_is_no_number_learns_nothing_more() {
    let mut lab = lab(TRAINING, 0.0).replicas(1).set("model.training.diverges", json!({"at": "10s"}));

    let truth = lab.run(30);

    assert_eq!(truth.useful, 0.0);
    near(truth.throughput, 2048.0, 0.01);
    near(lab.training().useful(), 10.0 * 2048.0, 0.02);
}

#[test]
fn an_evaluation_stands_until_the_next_one_and_gets_better_while_something_is_learned() {
    let phases = json!({"evaluation": {"every": "60s", "lasts": "6s"}});
    let mut lab = lab(TRAINING, 0.0).replicas(1).set("model.training.phases", phases);

    let told: Vec<Option<f64>> = [30, 40, 30, 30]
        .map(|seconds| {
            lab.run(seconds);
            lab.training().quality
        })
        .to_vec();

    assert_eq!(told[0], None, "none was made");
    assert_eq!(told[1], told[2]);
    assert!(told[3] > told[1], "{told:?}");
}

#[test]
fn a_request_that_asks_another_service_holds_its_place_and_not_the_gpu() {
    let model = "service: {gpuSecondsPerRequest: 0.05, waitSecondsPerRequest: 0.95, concurrency: 4}";
    let mut lab = lab(model, 20.0).replicas(2);

    let used = lab.rates(0, 60);

    // Four at a time, a second each.
    near(lab.throughput(60), 8.0, 0.05);
    near(used.gpu_busy, 0.2, 0.06);
}
