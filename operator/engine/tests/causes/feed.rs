//! What GPUs wait for by the trainers' own count, and copies between host and GPU.

use super::{cpu, exact, found, gpu, lean, server, serving, training, value, vetoes, weight};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence, TrainerEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Measure, Quantity, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{
    AddingJustified, DataLoader, HostDeviceTransfer, Saturated, StorageStall, Underused,
};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{busy_gpu, evidence, starved_gpu};

fn step(wait: Option<f64>) -> TrainerEvidence {
    TrainerEvidence { step_seconds: exact(1.0), data_wait_seconds: wait.and_then(exact), ..TrainerEvidence::default() }
}

fn told(gpu: GpuEvidence, container: ContainerEvidence, trainer: TrainerEvidence) -> Evidence {
    Evidence { trainers: vec![trainer; 4], ..evidence(Class::Training, &[gpu; 4], &[container; 4]) }
}

/// Utilisation without profiling counters: it overstates.
fn utilisation(share: f64) -> GpuEvidence {
    GpuEvidence { util: exact(share), ..GpuEvidence::default() }
}

fn at_limit() -> ContainerEvidence {
    ContainerEvidence { throttled: exact(0.4), ..cpu(7.8) }
}

fn reading() -> ContainerEvidence {
    ContainerEvidence { io_pressure: exact(0.3), ..cpu(1.0) }
}

#[test]
fn a_trainer_that_counts_its_wait_for_data_is_believed_however_busy_its_gpus_look() {
    let seen = told(utilisation(0.97), cpu(6.0), step(Some(0.3)));
    let opinion = judge(&seen);

    assert_eq!((opinion.lean, found(&opinion)), (Lean::Refuse(DataLoader), vec![(DataLoader, Weight::Veto)]));
    let share = Measure { what: Quantity::DataWaitShare, value: 0.3, threshold: Some(0.2) };
    assert_eq!(value(&opinion, Quantity::DataWaitShare), Some(share));
    assert_eq!(vetoes(&told(gpu(0.9, 0.3, 0.2, 0.1), cpu(6.0), step(Some(0.2)))), [DataLoader]);
    assert_eq!(vetoes(&told(gpu(0.9, 0.3, 0.2, 0.1), cpu(6.0), step(Some(0.19)))), []);
}

/// DS-Analyzer: a fetch stall leaves the CPU idle, a preparation stall does not.
#[test]
fn a_wait_beside_an_idle_cpu_is_one_for_storage_of_whatever_kind() {
    assert_eq!(vetoes(&told(utilisation(0.97), cpu(1.0), step(Some(0.3)))), [StorageStall]);
    assert_eq!(vetoes(&told(starved_gpu(), reading(), step(Some(0.3)))), [StorageStall]);
    let unknown = ContainerEvidence { limit: None, ..cpu(1.0) };
    assert_eq!(vetoes(&told(starved_gpu(), unknown, step(Some(0.3)))), [DataLoader]);
}

#[test]
fn a_trainer_that_does_not_wait_for_data_outranks_what_its_hardware_looks_like() {
    let idle = gpu(0.4, 0.35, 0.1, 0.1);

    assert_eq!(vetoes(&told(idle, at_limit(), step(None))), [DataLoader]);
    assert_eq!(vetoes(&told(idle, at_limit(), step(Some(0.05)))), []);
    assert_eq!(vetoes(&told(idle, reading(), step(None))), [StorageStall]);
    assert_eq!(vetoes(&told(idle, reading(), step(Some(0.05)))), []);
}

#[test]
fn a_count_that_is_missing_is_unknown_and_never_a_veto() {
    let idle = gpu(0.4, 0.35, 0.1, 0.1);
    let unknown = Lean::Unknown(Gap::DataWaitLost);
    let lost = TrainerEvidence { data_wait_lost: true, ..step(None) };
    let gaps = TrainerEvidence { data_wait_seconds: Span::of(&[0.05; 5], 10, f64::INFINITY), ..step(None) };
    let stepless = TrainerEvidence { step_seconds: None, ..step(Some(0.05)) };

    for trainer in [lost, gaps, stepless] {
        assert_eq!(lean(&told(idle, at_limit(), trainer)), unknown);
        assert_eq!(lean(&told(idle, reading(), trainer)), unknown);
        assert_eq!(lean(&told(busy_gpu(), at_limit(), trainer)), Lean::Allow, "it outranks nothing here");
    }
    let underused = told(starved_gpu(), at_limit(), lost);
    assert_eq!(lean(&underused), Lean::Refuse(Underused), "which needs no data");
}

#[test]
fn one_rank_that_waits_is_not_most() {
    let mut seen = told(gpu(0.4, 0.35, 0.1, 0.1), at_limit(), step(Some(0.05)));
    seen.trainers[0] = step(Some(0.5));

    assert_eq!(lean(&seen), Lean::Unknown(Gap::DataWaitLost));
    seen.trainers = vec![step(Some(0.5)); 4];
    seen.trainers.push(step(None));
    assert_eq!(lean(&seen), Lean::Refuse(DataLoader));
}

/// A host that runs ahead of its GPU counts waits that the GPU never sees.
#[test]
fn a_counted_wait_beside_gpus_that_are_at_work_only_advises() {
    let seen = told(gpu(0.95, 0.72, 0.3, 0.4), cpu(6.0), step(Some(0.4)));

    assert_eq!((lean(&seen), weight(&seen, DataLoader)), (Lean::Allow, Some(Weight::Advice)));
    assert_eq!(weight(&told(busy_gpu(), cpu(1.0), step(Some(0.4))), StorageStall), Some(Weight::Advice));
    let lost = GpuEvidence { sm: None, sm_lost: true, ..busy_gpu() };
    assert_eq!(weight(&told(lost, cpu(6.0), step(Some(0.4))), DataLoader), Some(Weight::Advice));
}

/// The exporter's default counters: memory bandwidth and tensor pipe stand in for SMs that were never seen.
#[test]
fn a_counted_wait_beside_pipes_at_work_only_advises_where_no_sm_was_ever_seen() {
    let default = GpuEvidence { sm: None, ..gpu(0.97, 0.0, 0.5, 0.45) };
    let at = |gpu| weight(&told(gpu, cpu(6.0), step(Some(0.25))), DataLoader);

    assert_eq!(at(default), Some(Weight::Advice));
    assert_eq!(at(GpuEvidence { tensor: exact(0.1), ..default }), Some(Weight::Advice));
    assert_eq!(at(GpuEvidence { dram: exact(0.3), ..default }), Some(Weight::Advice));
    let neither = GpuEvidence { dram: exact(0.3), tensor: exact(0.1), ..default };
    assert_eq!(at(neither), Some(Weight::Veto));
    assert_eq!(at(GpuEvidence { dram: None, dram_lost: true, ..neither }), Some(Weight::Advice), "it may be at work");
    assert_eq!(at(GpuEvidence { tensor: None, tensor_lost: true, ..neither }), Some(Weight::Advice));
    assert_eq!(at(GpuEvidence { engine: exact(0.69), ..default }), Some(Weight::Veto), "it rests");
    let few_sms = GpuEvidence { sm: exact(0.3), ..default };
    assert_eq!(at(few_sms), Some(Weight::Veto), "SMs tell more than pipes");
}

/// R3: gaps that a mean of 60 % hides.
#[test]
fn a_trainer_whose_gpus_swing_beside_a_cpu_at_its_limit_waits_for_it() {
    let at = |class, engine, swing| {
        let gaps = GpuEvidence { swing: exact(swing), ..gpu(engine, 0.4, 0.2, 0.2) };
        vetoes(&evidence(class, &[gaps], &[at_limit()]))
    };

    assert_eq!(at(Class::Training, 0.6, 0.25), [DataLoader]);
    assert_eq!(at(Class::Training, 0.6, 0.24), []);
    assert_eq!(at(Class::Training, 0.7, 0.30), [], "active most of the time");
    assert_eq!(at(Class::Inference, 0.6, 0.30), [], "requests come in bursts by themselves");
}

/// Trap of R3, kubernetes-mixin #108: a container that mostly sleeps is throttled whenever it wakes.
#[test]
fn throttling_of_a_container_that_mostly_sleeps_is_no_bottleneck() {
    let at = |cores| {
        vetoes(&evidence(
            Class::Inference,
            &[gpu(0.4, 0.3, 0.1, 0.1)],
            &[ContainerEvidence { throttled: exact(0.3), ..cpu(cores) }],
        ))
    };

    assert_eq!(at(5.6), [DataLoader]);
    assert_eq!(at(5.5), []);
}

fn copying(rate: f64, sm: Option<Span>) -> GpuEvidence {
    GpuEvidence { pcie_rx: exact(rate), sm, ..starved_gpu() }
}

fn transferring(gpu: GpuEvidence, container: ContainerEvidence) -> Evidence {
    evidence(Class::Inference, &[gpu], &[container])
}

#[test]
fn copies_that_fill_the_step_beside_an_idle_cpu_are_the_cause() {
    let at = |gpu| vetoes(&transferring(gpu, cpu(1.0)));

    assert_eq!(at(copying(1.0e9, exact(0.2))), [HostDeviceTransfer]);
    assert_eq!(at(copying(0.9e9, exact(0.2))), [], "too slow to be the cause");
    assert_eq!(at(copying(1.0e9, exact(0.3))), [], "the SMs are at work");
    assert_eq!(at(copying(1.0e9, None)), [HostDeviceTransfer], "no more SMs are at work than the engine is active");
    assert_eq!(at(GpuEvidence { engine: exact(0.3), ..copying(1.0e9, None) }), [], "nobody saw the SMs");
    assert_eq!(at(GpuEvidence { sm_lost: true, ..copying(1.0e9, None) }), [], "nobody sees the SMs any more");
    assert_eq!(at(GpuEvidence { engine: exact(0.5), ..copying(1.0e9, exact(0.2)) }), [], "active half of the time");
    let back = GpuEvidence { pcie: exact(0.2), ..copying(0.0, exact(0.2)) };
    assert_eq!(at(back), [HostDeviceTransfer], "the way back counts too");
}

#[test]
fn copies_beside_a_cpu_at_its_limit_are_a_data_loader() {
    assert_eq!(vetoes(&transferring(copying(2.0e9, exact(0.2)), at_limit())), [DataLoader]);
}

/// Trap of R3: `ZeRO-Offload` moves gradients and parameters by design, and keeps the CPU busy with its optimizer.
#[test]
fn an_optimizer_on_the_cpu_copies_by_design() {
    assert_eq!(weight(&transferring(copying(8.0e9, exact(0.2)), cpu(5.0)), HostDeviceTransfer), None);
    let no_limit = ContainerEvidence { limit: None, ..cpu(1.0) };
    assert_eq!(weight(&transferring(copying(8.0e9, exact(0.2)), no_limit), HostDeviceTransfer), None);
}

/// Trap of R3: an engine that keeps part of its weights or of its KV cache on the host.
#[test]
fn a_server_that_offloads_because_it_must_is_only_advised() {
    let kv = ServerEvidence { kv: exact(0.9), ..server(20.0, 0.0) };
    let seen = serving(&[copying(8.0e9, exact(0.2))], &[kv]);

    assert_eq!((lean(&seen), weight(&seen, HostDeviceTransfer)), (Lean::Allow, Some(Weight::Advice)));
    let lost = ServerEvidence { kv: None, kv_lost: true, ..kv };
    assert_eq!(lean(&serving(&[copying(8.0e9, exact(0.2))], &[lost])), Lean::Allow);
}

/// Weight loading streams at full speed beside busy SMs of other requests.
#[test]
fn a_busy_gpu_that_is_sent_much_is_saturated() {
    let opinion = judge(&training(&[GpuEvidence { pcie_rx: exact(12.0e9), ..busy_gpu() }]));

    assert_eq!(found(&opinion), [(Saturated, Weight::Support), (AddingJustified, Weight::Either)]);
}
