//! Situations that look like a starved workload and are none, each named after its trap.

use super::{JUSTIFIED, SATURATED, cpu, exact, found, gpu, lean, server, serving, training, vetoes, weight};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence, TrainerEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{DataLoader, Imbalance, KvPressure, Stalled, StorageStall};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{busy_gpu, evidence, secs, starved_gpu};

/// Evaluation and checkpoint phases: a fifth of the window without work, at storage.
#[test]
fn an_evaluation_or_a_checkpoint_inside_the_window_is_no_starvation() {
    let phases =
        GpuEvidence { swing: exact(0.37), memory: exact(0.7), nvlink: exact(0.12), ..gpu(0.78, 0.6, 0.35, 0.3) };
    let writing = ContainerEvidence { io_pressure: exact(0.18), ..cpu(1.0) };
    let seen = Evidence { containers: vec![writing; 8], ..training(&[phases; 8]) };

    assert_eq!(vetoes(&seen), []);
}

/// Compilation, autotuning and the download of a model: `gate.warmUp` keeps such pods out, and without others there is
/// nothing to judge.
#[test]
fn pods_that_warm_up_are_no_evidence() {
    let warming = Evidence { expected_gpus: 0, ..evidence(Class::Training, &[], &[]) };

    assert_eq!(lean(&warming), Lean::Unknown(Gap::NoWarmReplica));
}

/// A spot restart inside the window empties series for minutes: what is gone could have been anything.
#[test]
fn a_spot_restart_that_empties_series_is_no_starvation() {
    let reclaimed = GpuEvidence { engine: Span::of(&[0.25; 12], 30, 1.0), util: None, ..starved_gpu() };

    assert_eq!(vetoes(&training(&[reclaimed; 4])), []);
}

/// Samples at the same moment of each step: a mean over fewer than they should be is as wide as what is missing.
#[test]
fn aliasing_with_missing_samples_proves_nothing() {
    let aliased = GpuEvidence { engine: Span::of(&[0.0; 5], 20, 1.0), util: None, ..starved_gpu() };

    assert_eq!(vetoes(&evidence(Class::Training, &[aliased], &[cpu(7.8)])), []);
}

/// A CPU limit that is absent, or far above what is needed.
#[test]
fn an_absent_or_huge_cpu_limit_is_no_idle_and_no_full_cpu() {
    let of = |limit| ContainerEvidence { limit, throttled: None, ..cpu(8.0) };
    let idle = gpu(0.4, 0.35, 0.1, 0.1);

    for limit in [None, Some(192.0)] {
        assert_eq!(vetoes(&evidence(Class::Training, &[idle], &[of(limit)])), []);
        let pressed = ContainerEvidence { pressure: exact(0.3), ..of(limit) };
        assert_eq!(vetoes(&evidence(Class::Training, &[idle], &[pressed])), [DataLoader], "PSI needs no limit");
    }
}

/// `NCCL` kernels that spin read as 100 %: activity alone is no work, and no starvation either.
#[test]
fn activity_without_work_is_neither_saturated_nor_starved() {
    let spinning = GpuEvidence { sm: None, power: exact(0.6), ..gpu(1.0, 0.0, 0.05, 0.05) };

    assert_eq!(found(&judge(&training(&[spinning; 4]))), []);
}

/// Profiling before Hopper freezes or removes the profiling counters.
#[test]
fn counters_that_a_profiler_took_away_are_unknown() {
    let profiled = GpuEvidence { engine: None, engine_lost: true, sm: None, sm_lost: true, ..starved_gpu() };

    assert_eq!(lean(&training(&[profiled; 2])), Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 2 }));
}

/// The first epoch reads from storage, later ones from the page cache: the wait is the window's mean.
#[test]
fn an_epoch_from_the_page_cache_is_no_storage_stall() {
    let at = |io| {
        let reading = ContainerEvidence { io_pressure: exact(io), ..cpu(1.0) };
        weight(&evidence(Class::Training, &[gpu(0.45, 0.4, 0.2, 0.2)], &[reading]), StorageStall)
    };

    assert_eq!(at(0.3), Some(Weight::Veto));
    assert_eq!(at(0.02), None);
}

/// Decode with a batch of one is launch- and bandwidth-bound by nature.
#[test]
fn a_decoder_with_one_request_and_nobody_waiting_is_not_refused() {
    let seen = serving(&[gpu(0.7, 0.22, 0.5, 0.03)], &[server(1.0, 0.0)]);

    assert_eq!(vetoes(&seen), []);
}

/// Usage of the KV cache restarts at zero with the server, and stays high by prefix caching.
#[test]
fn kv_usage_alone_is_no_pressure() {
    let usage =
        |kv| weight(&serving(&[busy_gpu()], &[ServerEvidence { kv: exact(kv), ..server(30.0, 0.0) }]), KvPressure);

    assert_eq!(usage(0.99), None);
    assert_eq!(usage(0.0), None);
}

/// A bursty service: active half of the time, because requests come half of the time.
#[test]
fn bursts_are_not_gaps() {
    let bursts = GpuEvidence { swing: exact(0.48), ..gpu(0.55, 0.4, 0.25, 0.2) };
    let spiky = ContainerEvidence { throttled: exact(0.3), ..cpu(2.5) };

    assert_eq!(vetoes(&evidence(Class::Inference, &[bursts; 3], &[spiky; 3])), []);
}

/// Truth table, row 13: long prompts queue, the KV cache is a third full, the SMs are busy.
#[test]
fn a_queue_of_prompts_before_a_busy_gpu_may_grow() {
    let prefill = ServerEvidence { kv: exact(0.32), ..server(3.0, 12.0) };
    let opinion = judge(&serving(&[gpu(0.97, 0.85, 0.4, 0.5)], &[prefill]));

    assert_eq!((opinion.lean, found(&opinion)), (Lean::Allow, vec![SATURATED, JUSTIFIED]));
}

/// A trainer whose tokens come is no hang, whatever its counters say, and one whose steps are counted says so too.
#[test]
fn a_trainer_that_makes_steps_is_no_hang() {
    let hung = GpuEvidence { power: exact(0.2), ..gpu(1.0, 0.04, 0.0, 0.0) };
    let moving = |rate| {
        let trainer = TrainerEvidence { throughput: exact(rate), ..TrainerEvidence::default() };
        weight(&Evidence { trainers: vec![trainer; 4], ..training(&[hung; 4]) }, Stalled)
    };

    assert_eq!(moving(0.0), Some(Weight::Veto));
    assert_eq!(moving(40.0), None);
}

/// Truth table, row 11: where GPUs can't be attributed, what the servers count decides.
#[test]
fn what_servers_count_decides_where_gpus_are_not_seen() {
    let spread = [server(40.0, 30.0), server(0.0, 0.0)];
    let unseen = Evidence { expected_gpus: 2, gpus: Vec::new(), ..serving(&[busy_gpu(); 2], &spread) };

    assert_eq!(lean(&unseen), Lean::Refuse(Imbalance));
    let even = Evidence { servers: vec![server(40.0, 30.0); 2], ..unseen.clone() };
    assert_eq!(lean(&even), Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 2 }));
    let early = Evidence { covered: secs(60), gpus: vec![busy_gpu(); 2], ..unseen };
    assert!(matches!(lean(&early), Lean::Unknown(Gap::TooShort { .. })));
}
