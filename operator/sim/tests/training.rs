//! What holds training back, cause by cause: the figures are worked out by hand from the causes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp)]

mod lab;

use lab::{Lab, lab, near};
use serde_json::{Value, json};
use wellfed_sim::{meter::Meter, product::Product};

/// 512 samples in 0.25 s of GPU time; a loader that is always ahead.
const TRAINING: &str = "training: {gpuSecondsPerStep: 0.25, samplesPerStep: 512, backlog: 1000000000,
      loader: {workers: 16, cpuSecondsPerSample: 0.001, bytesPerSample: 150000}}";

fn training(replicas: usize) -> Lab {
    lab(TRAINING, 0.0).replicas(replicas)
}

/// The same 2 048 samples a step, however many replicas share them.
fn fixed_batch(replicas: usize) -> Lab {
    training(replicas).set("model.training.globalBatch", 2048)
}

#[test]
fn with_storage_at_its_limit_another_replica_brings_nothing() {
    let rate = |count| training(count).set("model.training.storage.bytesPerSecond", 6e8).throughput(30);

    // 6e8 / 150 000 = 4 000 samples a second.
    near(rate(3), 4000.0, 1e-3);
    near(rate(4), 4000.0, 1e-3);
}

#[test]
fn a_trainer_at_the_limit_of_its_storage_waits_for_io_with_an_idle_cpu() {
    let used = training(4).set("model.training.storage.bytesPerSecond", 6e8).rates(0, 20);

    assert!(used.io_waiting > 0.99, "some of 16 workers always waits: {}", used.io_waiting);
    assert_eq!((used.cpu_waiting, used.cfs_throttled.floor()), (0.0, 0.0));
    // 1 000 samples a second at 1 ms, and the training process.
    near(used.cpu_seconds, 1.15, 0.01);
    // 0.25 s of 0.512 s.
    near(used.gpu_busy, 0.488, 0.01);
}

#[test]
fn the_kernel_does_not_see_who_waits_for_an_object_store() {
    let storage = json!({"bytesPerSecond": 6e8, "remote": true});

    let used = training(4).set("model.training.storage", storage).rates(0, 20);

    assert_eq!(used.io_waiting, 0.0);
    near(used.gpu_busy, 0.488, 0.01);
}

#[test]
fn a_loader_on_too_few_cores_is_throttled_and_waits_for_cpu() {
    let mut lab =
        lab(TRAINING, 0.0).cores(Some(4.0)).replicas(2).set("model.training.loader.cpuSecondsPerSample", 0.03);

    let used = lab.rates(0, 20);

    // 16 workers want 16 cores and get the 3.85 that the training process leaves: 128.3 samples a second each.
    near(used.cfs_throttled / used.cfs_periods, 1.0, 1e-6);
    near(used.cpu_waiting, 1.0 - 3.85 / 16.0, 1e-3);
    near(used.cpu_seconds, 4.0, 1e-3);
    near(lab.throughput(20), 2.0 * 128.33, 1e-3);
}

#[test]
fn replicas_that_share_their_cores_load_no_faster_when_there_are_more() {
    let pooled = |count| {
        lab(TRAINING, 0.0)
            .cores(None)
            .replicas(count)
            .set("model.training.loader.cpuSecondsPerSample", 0.03)
            .set("model.training.cpuPool", json!({"cores": 48}))
    };

    // Two want 32 cores: there is room. Four want 64 of the 47.4 that the training processes leave; five of 47.25.
    near(pooled(2).throughput(20), 1066.7, 1e-3);
    near(pooled(4).throughput(20), 1580.0, 1e-3);
    near(pooled(5).throughput(20), 1575.0, 1e-3);
    assert!(pooled(2).rates(0, 20).cpu_waiting < 0.01);
    assert!(pooled(5).rates(0, 20).cpu_waiting > 0.9);
    let freed = pooled(4).set("model.training.cpuPool", Value::Null).throughput(20);
    near(freed, 64.0 / 0.03, 1e-3);
}

#[test]
fn over_a_slow_network_four_replicas_are_slower_than_three() {
    let slow = |count| {
        let exchange = json!({"bytesPerStep": 1e9, "bytesPerSecond": 1.25e9, "over": "Network"});
        fixed_batch(count).set("model.training.exchange", exchange)
    };

    // Three: 0.333 s of GPU time and 4/3 GB at 1.25 GB/s; four: 0.25 s and 6/4 GB.
    near(slow(3).throughput(30), 2048.0 / 1.4, 1e-3);
    near(slow(4).throughput(30), 2048.0 / 1.45, 1e-3);
    let used = slow(4).rates(0, 30);
    near(used.gpu_busy, 1.0, 1e-6);
    near(used.sm_active, (0.25 * 0.78 + 1.2 * 0.10) / 1.45, 1e-3);
    near(used.net_tx_bytes, 1.5e9 / 1.45, 1e-3);
    assert_eq!(used.nvlink_tx_bytes, 0.0);
}

#[test]
fn over_nvlink_the_fourth_replica_is_worth_its_price() {
    let linked = |count| {
        let exchange = json!({"bytesPerStep": 1e9, "bytesPerSecond": 3e11, "latencySeconds": 1e-3, "over": "NvLink"});
        fixed_batch(count).set("model.training.exchange", exchange)
    };

    // Three: 1/3 s, 4.44 ms and two latencies; four: 0.25 s, 5 ms and three.
    near(linked(3).throughput(30), 2048.0 / 0.339_78, 1e-3);
    near(linked(4).throughput(30), 2048.0 / 0.258, 1e-3);
    near(linked(4).rates(0, 30).nvlink_rx_bytes, 1.5e9 / 0.258, 1e-3);
}

#[test]
fn starting_small_kernels_takes_as_long_with_five_replicas_as_with_four() {
    let tiny = |count| {
        let launch = json!({"kernelsPerStep": 20000, "secondsPerKernel": 2e-5});
        fixed_batch(count).set("model.training.launch", launch)
    };

    near(tiny(4).throughput(30), 2048.0 / 0.4, 1e-3);
    near(tiny(5).throughput(30), 2048.0 / 0.4, 1e-3);
    let used = tiny(4).rates(0, 30);
    near(used.gpu_busy, 0.25 / 0.4, 1e-3);
    // Kernels of 12.5 µs fill a quarter of the card.
    near(used.sm_active, 0.625 * 0.25 * 0.78, 1e-3);
    assert!(used.dram_bytes < 0.1 * 3.35e12, "{}", used.dram_bytes);
    // One core starts kernels; 512 samples at 1 ms in 0.4 s; the process itself.
    near(used.cpu_seconds, 1.0 + 1.28 + 0.15, 1e-3);
    near(tiny(4).set("model.training.launch.secondsPerKernel", 1e-6).throughput(30), 2048.0 / 0.25, 1e-3);
}

#[test]
fn copies_that_kernels_wait_for_leave_gpu_and_cpu_idle_however_many_replicas_there_are() {
    let copying = |count| {
        let transfer = json!({"bytesPerStep": 8e9, "bytesPerSecond": 1e10});
        fixed_batch(count).set("model.training.transfer", transfer)
    };

    // 0.8 s of copies beside 0.25 s of kernels with four replicas, 0.2 s with five.
    near(copying(4).throughput(30), 2048.0 / 1.05, 1e-3);
    near(copying(5).throughput(30), 2048.0 / 1.0, 1e-3);
    let used = copying(4).rates(0, 30);
    near(used.gpu_busy, 0.25 / 1.05, 1e-3);
    near(used.pcie_rx_bytes, (8e9 + 512.0 * 150_000.0) / 1.05, 1e-3);
    assert!(used.cpu_seconds < 1.0, "{}", used.cpu_seconds);
}

#[test]
fn fp32_leaves_the_tensor_pipe_idle_and_takes_more_than_twice_as_long() {
    let mut lab = training(2).set("model.training.precision", "Fp32");
    let used = lab.rates(0, 30);
    assert_eq!(used.tensor_active, 0.0);
    near(used.fp32_active, 0.62, 1e-3);

    let before = lab.throughput(30);
    lab.change("model.training.precision", "Bf16");

    near(lab.throughput(30) / before, 2.2, 1e-3);
}

#[test]
fn a_hung_run_spins_without_a_step_and_draws_less_than_half_of_its_power_limit() {
    let mut lab = training(4).set("model.training.hang", json!({"at": "30s"}));
    lab.run(30);
    let (steps, mut meter) = (lab.training().progress["w-0"].steps, Meter::of("g"));
    meter.read(&lab.sim.ledger("w-0"), Product::named("H100"), 81_559.0, 30.0);

    lab.run(30);
    let sample = meter.read(&lab.sim.ledger("w-0"), Product::named("H100"), 81_559.0, 30.0);

    assert_eq!(lab.training().progress["w-0"].steps, steps);
    assert!(sample.busy > 0.97 && sample.sm < 0.03 && sample.tensor == 0.0, "{sample:?}");
    assert!(sample.power < 350.0, "{} W of 700", sample.power);
    lab.scale(5);
    assert_eq!(lab.throughput(30), 0.0, "another replica does not free it");
    lab.change("model.training.hang", Value::Null);
    near(lab.throughput(30), 5.0 * 2048.0, 1e-3);
}

#[test]
fn one_hot_replica_sets_the_pace_of_all_and_adding_one_does_not_shorten_a_step() {
    let mut lab = training(4).set("model.training.slow", json!({"replicas": 1, "clock": 0.5, "thermal": true}));

    let hot = lab.rates(0, 20);
    assert_eq!(lab.training().pace.step, 0.5);
    lab.scale(5);
    let cool = lab.rates(1, 20);
    assert_eq!(lab.training().pace.step, 0.5);

    near(hot.held_seconds, 1.0, 1e-6);
    assert_eq!((cool.held_seconds, lab.sim.ledger("w-1").level.clock_lost), (0.0, 0.0));
    assert_eq!(lab.sim.ledger("w-0").level.clock_lost, 0.5);
    // The others compute for half of the step and spin in the exchange for the other half.
    near(hot.sm_active, 0.78, 1e-3);
    near(cool.sm_active, 0.5 * 0.78 + 0.5 * 0.10, 1e-3);
    lab.change("model.training.slow", Value::Null);
    near(lab.throughput(20), 5.0 * 2048.0, 1e-3);
}

#[test]
fn evaluation_keeps_gpus_busy_and_checkpoints_let_them_rest_while_storage_works() {
    let mut lab = training(2)
        .set("model.training.phases.evaluation", json!({"every": "100s", "lasts": "20s"}))
        .set("model.training.phases.checkpoint", json!({"every": "200s", "lasts": "10s"}));

    near(lab.throughput(80), 4096.0, 1e-3);
    let evaluating = lab.rates(0, 20);
    near(lab.throughput(80), 4096.0, 1e-3);
    lab.run(10);
    let saving = lab.rates(0, 10);

    near(evaluating.gpu_busy, 1.0, 1e-3);
    assert_eq!((saving.gpu_busy, saving.io_waiting), (0.0, 1.0));
    // Of 160 s at 4 096 samples a second nothing came in evaluation or checkpoint.
    near(lab.training().samples, 160.0 * 4096.0, 1e-3);
}

#[test]
fn a_replica_that_joins_compiles_first_and_the_others_wait_for_it() {
    let mut lab = training(2).set("model.training.warmUp", "60s");
    let first = lab.rates(0, 60);
    near(first.gpu_busy, 0.05, 1e-3);
    near(first.cpu_seconds, 4.0, 1e-3);
    near(lab.throughput(30), 4096.0, 1e-3);

    lab.scale(3);

    assert_eq!(lab.throughput(59), 0.0);
    near(lab.throughput(30), 3.0 * 2048.0, 0.05);
}

#[test]
fn the_loss_falls_until_it_stands_still_or_is_no_number() {
    let mut lab = training(2);
    let early = lab.training().loss;
    lab.run(60);
    let late = lab.training().loss;
    assert!(late < 0.7 * early, "{early} fell to {late}");

    lab.change("model.training.plateaus", json!({"at": "60s"}));
    lab.run(600);
    near(lab.training().loss, late, 0.02);

    lab.change("model.training.diverges", json!({"at": "60s"}));
    lab.run(1);
    assert!(lab.training().loss.is_nan());
}
