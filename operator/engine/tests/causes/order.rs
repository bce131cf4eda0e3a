//! Which cause is named where several show.

use super::{cpu, exact, found, gpu, server};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Lean, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{DataLoader, SerialRequests, Stalled, StorageStall, Throttled, Underused};
use wellfed_engine::testing::{evidence, starved_gpu};

#[test]
fn the_most_direct_cause_is_named_first_and_the_others_stay() {
    let throttled = ContainerEvidence { pressure: exact(0.4), io_pressure: exact(0.3), ..cpu(2.0) };
    let seen = evidence(Class::Inference, &[starved_gpu()], &[throttled]);
    let opinion = judge(&Evidence { servers: vec![server(1.0, 20.0)], ..seen });

    assert_eq!(opinion.lean, Lean::Refuse(SerialRequests));
    let veto = |rule| (rule, Weight::Veto);
    assert_eq!(found(&opinion), [veto(SerialRequests), veto(DataLoader), veto(StorageStall)]);
}

#[test]
fn a_gpu_that_is_never_without_a_kernel_hangs_and_waits_for_no_launch() {
    let hung = GpuEvidence { power: exact(0.2), ..gpu(1.0, 0.04, 0.0, 0.0) };
    let opinion = judge(&evidence(Class::Training, &[hung], &[cpu(1.0)]));

    assert_eq!(opinion.lean, Lean::Refuse(Stalled));
    assert_eq!(found(&opinion), [(Stalled, Weight::Veto)]);
}

#[test]
fn a_named_cause_silences_the_unnamed_one() {
    let fetching = ContainerEvidence { io_pressure: exact(0.3), ..cpu(1.0) };
    let opinion = judge(&evidence(Class::Training, &[starved_gpu()], &[fetching]));

    assert_eq!(found(&opinion), [(StorageStall, Weight::Veto)]);
}

/// Else losing the counter of clock events would turn growth into a refusal.
#[test]
fn advice_does_not_silence_a_refusal() {
    let hot = GpuEvidence { clocks_held: exact(0.9), ..starved_gpu() };
    let opinion = judge(&evidence(Class::Training, &[hot], &[cpu(1.0)]));

    assert_eq!(opinion.lean, Lean::Refuse(Underused));
    assert_eq!(found(&opinion), [(Underused, Weight::Veto), (Throttled, Weight::Advice)]);
}
