//! Storage that GPUs wait for.

use super::{cpu, exact, found, gpu, lean, value};
use wellfed_engine::evidence::{ContainerEvidence, Evidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Lean, Measure, Quantity, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{DataLoader, StorageStall};
use wellfed_engine::testing::{busy_gpu, evidence, starved_gpu};

fn fetching(cores: f64, io: f64) -> ContainerEvidence {
    ContainerEvidence { io_pressure: exact(io), ..cpu(cores) }
}

fn reading(container: ContainerEvidence) -> Evidence {
    evidence(Class::Inference, &[starved_gpu()], &[container])
}

#[test]
fn gpus_and_cpu_that_wait_together_wait_for_storage() {
    for class in [Class::Training, Class::Batch, Class::Inference] {
        let opinion = judge(&evidence(class, &[starved_gpu()], &[fetching(1.6, 0.35)]));

        assert_eq!((opinion.lean, found(&opinion)), (Lean::Refuse(StorageStall), vec![(StorageStall, Weight::Veto)]));
        let io = Measure { what: Quantity::IoPressure, value: 0.35, threshold: Some(0.1) };
        assert_eq!(value(&opinion, Quantity::IoPressure), Some(io));
    }
}

#[test]
fn the_thresholds_of_a_storage_stall_are_where_the_page_says() {
    let at = |cores, io| lean(&reading(fetching(cores, io)));

    assert_eq!(at(3.99, 0.261), Lean::Refuse(StorageStall));
    assert_eq!(at(4.0, 0.261), Lean::Allow, "the CPU is half busy");
    assert_eq!(at(1.0, 0.259), Lean::Allow, "GPUs idle for three times as long as it waits");
    let works_half = |io| lean(&evidence(Class::Inference, &[gpu(0.49, 0.4, 0.2, 0.1)], &[fetching(1.0, io)]));
    assert_eq!((works_half(0.171), works_half(0.169)), (Lean::Refuse(StorageStall), Lean::Allow));
}

/// The trap of the node's iowait: it is a neighbour's as often as not, so only the container's own wait counts.
#[test]
fn without_the_containers_own_wait_or_its_limit_there_is_no_storage_stall() {
    assert_eq!(lean(&reading(ContainerEvidence { io_pressure: None, ..cpu(1.0) })), Lean::Allow);
    assert_eq!(lean(&reading(ContainerEvidence { limit: None, ..fetching(1.0, 0.4) })), Lean::Allow);
}

/// Without a limit the request tells, or else the node, that a CPU is idle; neither tells that it is at its limit.
#[test]
fn a_cpu_without_a_limit_idles_beside_what_it_can_count_on_and_is_at_no_limit() {
    let of = |cores, at_hand| ContainerEvidence {
        limit: None,
        at_hand: Some(at_hand),
        throttled: None,
        ..fetching(cores, 0.4)
    };
    let opinion = judge(&reading(of(1.0, 4.0)));

    assert_eq!(opinion.lean, Lean::Refuse(StorageStall));
    let idle = Measure { what: Quantity::CpuOfAtHand, value: 0.25, threshold: Some(0.5) };
    assert_eq!(value(&opinion, Quantity::CpuOfAtHand), Some(idle));
    assert_eq!(lean(&reading(of(3.9, 4.0))), Lean::Allow, "busy, and at no limit");
    assert_eq!(lean(&reading(of(2.0, 0.5))), Lean::Allow, "far above its request, and at no limit");
}

#[test]
fn a_busy_gpu_that_also_reads_is_not_stalled() {
    assert_eq!(lean(&evidence(Class::Training, &[busy_gpu()], &[fetching(1.0, 0.6)])), Lean::Allow);
}

#[test]
fn a_cpu_at_its_limit_is_a_data_loader_however_long_it_also_reads() {
    assert_eq!(lean(&reading(fetching(7.8, 0.4))), Lean::Refuse(DataLoader));
}
