//! GPU memory that is full, or did not suffice.

use super::{cpu, exact, gpu, lean, server, serving, training, value, vetoes, weight};
use wellfed_engine::evidence::{Evidence, Exits, GpuEvidence, ServerEvidence};
use wellfed_engine::explain::measured;
use wellfed_engine::judge;
use wellfed_engine::opinion::{Lean, Measure, Quantity, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{GpuOutOfMemory, MemoryBound};
use wellfed_engine::testing::{busy_gpu, evidence, secs};

/// Full, with a batch so small that most SMs have nothing to do.
fn full() -> GpuEvidence {
    GpuEvidence { memory: exact(0.96), ..gpu(0.6, 0.4, 0.3, 0.1) }
}

#[test]
fn memory_that_is_full_before_the_sms_are_holds_a_trainer() {
    let opinion = judge(&training(&[full(); 4]));

    assert_eq!(opinion.lean, Lean::Refuse(MemoryBound));
    let memory = Measure { what: Quantity::MemoryUsed, value: 0.96, threshold: Some(0.92) };
    assert_eq!(value(&opinion, Quantity::MemoryUsed), Some(memory));
}

#[test]
fn a_trainer_that_shards_its_model_may_grow_and_is_told() {
    let sharded = Evidence { sharded: true, ..training(&[full(); 4]) };

    assert_eq!((lean(&sharded), weight(&sharded, MemoryBound)), (Lean::Allow, Some(Weight::Advice)));
}

/// Trap of R6: vLLM, `SGLang` and TensorRT-LLM take 90 % at their start.
#[test]
fn a_server_that_takes_its_memory_in_advance_is_not_short_of_it() {
    let kv = ServerEvidence { kv: exact(0.3), ..server(20.0, 5.0) };
    assert_eq!(weight(&serving(&[full()], &[kv]), MemoryBound), None);
    assert_eq!(weight(&Evidence { class: Class::Batch, ..training(&[full()]) }, MemoryBound), None);
    let generating = |server| weight(&Evidence { servers: vec![server], ..training(&[full()]) }, MemoryBound);
    assert_eq!(generating(kv), None, "a trainer that generates with an engine");
    assert_eq!(generating(ServerEvidence { kv: None, kv_lost: true, ..kv }), None);
}

/// Trap of R6: `PyTorch`'s allocator keeps what it once had, JAX takes 75 %: full memory on busy GPUs is a good batch size.
#[test]
fn full_memory_on_busy_gpus_is_a_good_batch_size() {
    let at = |gpu: GpuEvidence| vetoes(&training(&[gpu; 4]));

    assert_eq!(at(GpuEvidence { memory: exact(0.99), ..busy_gpu() }), []);
    assert_eq!(at(GpuEvidence { sm: exact(0.5), ..full() }), []);
    assert_eq!(at(GpuEvidence { memory: exact(0.91), ..full() }), []);
    assert_eq!(at(GpuEvidence { memory: exact(0.75), ..full() }), [], "JAX");
    assert_eq!(at(GpuEvidence { engine: exact(0.9), dram: exact(0.5), ..full() }), [], "bound by bandwidth");
    let multiplying = |tensor: f64| GpuEvidence { engine: exact(0.9), tensor: exact(tensor), ..full() };
    assert_eq!(at(multiplying(0.25)), [], "it multiplies");
    assert_eq!(at(multiplying(0.24)), [MemoryBound], "a little, beside SMs of which most rest");
    assert_eq!(at(GpuEvidence { sm: None, ..multiplying(0.15) }), [], "nobody saw the SMs");
    let works = GpuEvidence { memory: exact(0.96), ..gpu(0.66, 0.48, 0.3, 0.33) };
    assert_eq!(at(works), [], "it multiplies, if not all the time");
    assert_eq!(at(GpuEvidence { engine: exact(0.49), ..works }), [MemoryBound], "it rests more than half of the time");
}

#[test]
fn without_sm_activity_a_trainer_with_full_memory_must_be_idle_half_of_the_time() {
    let at = |gpu: GpuEvidence| vetoes(&training(&[gpu; 4]));

    assert_eq!(at(GpuEvidence { sm: None, ..full() }), []);
    assert_eq!(at(GpuEvidence { sm: None, engine: exact(0.4), ..full() }), [MemoryBound]);
    assert_eq!(at(GpuEvidence { sm: None, sm_lost: true, engine: exact(0.4), ..full() }), []);
}

#[test]
fn activations_are_told_from_weights_where_they_come_and_go_and_else_it_is_said_that_they_are_not() {
    let said = |swing| {
        let seen = training(&[GpuEvidence { memory_swing: exact(swing), ..full() }; 4]);
        measured(judge(&seen).findings.iter().find(|finding| finding.rule == MemoryBound).unwrap())
    };

    assert!(said(0.08).contains("8 points come and go: activations"), "{}", said(0.08));
    let unknown = "0 points come and go: whether weights or activations fill it does not show";
    assert!(said(0.001).contains(unknown), "{}", said(0.001));
}

fn exits(gpu_memory: u32) -> Exits {
    Exits { gpu_memory, ..Exits::default() }
}

fn ending(class: Class, exits: &[Exits]) -> Evidence {
    let mut seen = Evidence { class, ..training(&vec![busy_gpu(); exits.len()]) };
    seen.containers =
        exits.iter().map(|exits| wellfed_engine::evidence::ContainerEvidence { exits: *exits, ..cpu(1.0) }).collect();
    seen
}

#[test]
fn gpu_memory_that_did_not_suffice_is_never_answered_with_replicas() {
    let none = exits(0);

    assert_eq!(vetoes(&ending(Class::Training, &[exits(1), none, none, none, none, none])), [GpuOutOfMemory]);
    assert_eq!(vetoes(&ending(Class::Inference, &[exits(3)])), [GpuOutOfMemory]);
    assert_eq!(vetoes(&ending(Class::Batch, &[exits(1), exits(1), none, none])), [GpuOutOfMemory]);
    assert_eq!(vetoes(&ending(Class::Batch, &[exits(1), none, none])), []);
    assert_eq!(vetoes(&ending(Class::Training, &[none; 4])), []);
}

#[test]
fn a_service_that_lost_one_replica_of_many_to_its_memory_may_grow_and_is_told() {
    let seen = ending(Class::Inference, &[exits(2), exits(0), exits(0), exits(0), exits(0), exits(0)]);

    assert_eq!((lean(&seen), weight(&seen, GpuOutOfMemory)), (Lean::Allow, Some(Weight::Advice)));
    let cold = Evidence { ended: vec![exits(2).into()], ..ending(Class::Inference, &[exits(0); 5]) };
    assert_eq!((lean(&cold), weight(&cold, GpuOutOfMemory)), (Lean::Allow, Some(Weight::Advice)), "one of six");
}

/// Kills: a share over all that ended, of which one that goes from the window would make the others more.
#[test]
fn a_replica_that_ended_for_another_reason_does_not_excuse_one_that_lacked_memory() {
    let other = Exits { failed: 1, ..Exits::default() };
    let with = |ended: &[Exits]| {
        lean(&Evidence {
            ended: ended.iter().copied().map(Into::into).collect(),
            ..ending(Class::Inference, &[exits(1), exits(1), exits(0), exits(0)])
        })
    };

    assert_eq!([with(&[]), with(&[other; 3])], [Lean::Refuse(GpuOutOfMemory); 2]);
}

#[test]
fn host_memory_is_another_matter() {
    let host = Exits { host_memory: 1, ..Exits::default() };

    assert_eq!(weight(&ending(Class::Training, &[host; 4]), GpuOutOfMemory), None);
}

/// A container that keeps ending is never warm: then its end is all that is known.
#[test]
fn replicas_that_all_end_for_want_of_memory_are_no_missing_evidence() {
    let ending = Evidence { ended: vec![exits(2).into(); 3], ..evidence(Class::Inference, &[], &[]) };
    let opinion = judge(&ending);

    assert_eq!(opinion.lean, Lean::Refuse(GpuOutOfMemory));
    let early = Evidence { covered: secs(60), ..ending };
    assert_eq!(lean(&early), Lean::Refuse(GpuOutOfMemory), "no replica is warm, however long one looks");
}
