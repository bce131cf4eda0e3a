//! What a workload's own signals of roles `Throughput`, `Progress` and `Quality` say outranks what hardware lets one infer.

use super::{exact, gpu, lean, lost_for, server, training, vetoes, weight};
use wellfed_engine::evidence::{Evidence, GpuEvidence, OwnEvidence, ServerEvidence, Source, TrainerEvidence, Trend};
use wellfed_engine::opinion::{Lean, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{RunNotProgressing, Stalled};
use wellfed_engine::span::Span;
use wellfed_engine::testing::busy_gpu;

const NONE: OwnEvidence = OwnEvidence {
    throughput: None,
    throughput_noise: None,
    throughput_lost: false,
    progress: None,
    progress_lost: false,
    quality: None,
    quality_lost: false,
};

fn moved(first: f64, last: f64) -> Option<Trend> {
    Some(Trend::Moved { first, last })
}

/// Four trainers that look as if they hang.
fn hung() -> Evidence {
    let gpu = GpuEvidence { power: exact(0.2), ..gpu(1.0, 0.04, 0.0, 0.0) };
    training(&[gpu; 4])
}

fn hangs(own: OwnEvidence) -> Lean {
    lean(&Evidence { own, ..hung() })
}

#[test]
fn work_that_the_workload_counts_is_no_hang_however_slow() {
    let work = |rate| hangs(OwnEvidence { throughput: exact(rate), ..NONE });

    assert_eq!(work(0.0), Lean::Refuse(Stalled));
    assert_eq!(work(0.004), Lean::Allow, "a step in four minutes");
    let gaps = OwnEvidence { throughput: Span::of(&[0.0; 9], 10, f64::INFINITY), ..NONE };
    assert_eq!(hangs(gaps), Lean::Allow, "it may have worked meanwhile");
    let lost = OwnEvidence { throughput_lost: true, ..NONE };
    assert_eq!(hangs(lost), lost_for(Stalled, Source::Throughput));
}

#[test]
fn a_loss_or_an_evaluation_that_moves_is_no_hang() {
    assert_eq!(hangs(OwnEvidence { progress: moved(2.0, 1.99), ..NONE }), Lean::Allow);
    assert_eq!(hangs(OwnEvidence { quality: moved(0.7, 0.71), ..NONE }), Lean::Allow);
    assert_eq!(hangs(OwnEvidence { progress: moved(2.0, 2.0), ..NONE }), Lean::Refuse(Stalled), "made before it hung");
    assert_eq!(hangs(OwnEvidence { progress_lost: true, ..NONE }), lost_for(Stalled, Source::Loss));
}

/// Most servers count their answers in a metric of their own; a service that does not may say so in a signal.
#[test]
fn a_service_whose_own_signal_counts_no_work_is_stuck_and_one_that_does_is_not() {
    let serves = |rate, server: ServerEvidence| {
        let own = OwnEvidence { throughput: exact(rate), ..NONE };
        lean(&Evidence { class: Class::Inference, own, servers: vec![server; 4], ..hung() })
    };
    let silent = server(8.0, 30.0);

    assert_eq!(serves(0.0, silent), Lean::Refuse(Stalled));
    assert_eq!(serves(2.0, silent), Lean::Allow);
    let counts = |rate| ServerEvidence { progress: exact(rate), ..silent };
    assert_eq!(serves(2.0, counts(0.0)), Lean::Allow, "the workload's own word outranks the server's");
    assert_eq!(serves(0.0, counts(40.0)), Lean::Allow, "whoever sees work is believed");
}

fn runs(own: OwnEvidence, trainer: TrainerEvidence) -> Evidence {
    Evidence { own, trainers: vec![trainer; 4], ..training(&[busy_gpu(); 4]) }
}

#[test]
fn a_signal_of_role_progress_that_is_no_number_holds_growth() {
    let diverged = OwnEvidence { progress: Some(Trend::Diverged), ..NONE };

    assert_eq!(lean(&runs(diverged, TrainerEvidence::default())), Lean::Refuse(RunNotProgressing));
    let service = Evidence { class: Class::Inference, ..runs(diverged, TrainerEvidence::default()) };
    assert_eq!(lean(&service), Lean::Allow);
}

#[test]
fn signals_of_roles_progress_and_quality_that_both_stand_still_are_a_plateau() {
    let at = |progress, quality| vetoes(&runs(OwnEvidence { progress, quality, ..NONE }, TrainerEvidence::default()));

    assert_eq!(at(moved(2.0, 1.9995), moved(-0.12, -0.11995)), [RunNotProgressing], "an error rate of 12 %");
    assert_eq!(at(moved(2.0, 1.9995), moved(-0.12, -0.11)), [], "which falls");
    assert_eq!(at(moved(2.0, 1.9), moved(-0.12, -0.11995)), []);
    let alone = runs(OwnEvidence { progress: moved(2.0, 1.9995), ..NONE }, TrainerEvidence::default());
    assert_eq!(weight(&alone, RunNotProgressing), Some(Weight::Advice), "without an evaluation");
}

/// The trainers' metrics have names that are the same for the whole cluster, and may mean another run.
#[test]
fn the_workloads_own_signals_outrank_what_its_trainers_say() {
    let plateau =
        TrainerEvidence { loss: moved(2.0, 1.9995), quality: moved(0.7, 0.7001), ..TrainerEvidence::default() };
    let at = |own| lean(&runs(own, plateau));

    assert_eq!(at(NONE), Lean::Refuse(RunNotProgressing));
    assert_eq!(at(OwnEvidence { progress: moved(2.0, 1.9), ..NONE }), Lean::Allow);
    assert_eq!(at(OwnEvidence { quality: moved(0.7, 0.75), ..NONE }), Lean::Allow);
    let lost = OwnEvidence { quality_lost: true, ..NONE };
    assert_eq!(at(lost), lost_for(RunNotProgressing, Source::Quality), "the trainers do not stand in for it");
}
