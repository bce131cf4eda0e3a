//! Runs that get nowhere.

use super::{cpu, lean, lost_for, training, vetoes, weight};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, Exits, Source, TrainerEvidence, Trend};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Confidence, Lean, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::RunNotProgressing;
use wellfed_engine::testing::busy_gpu;

#[allow(clippy::unnecessary_wraps)] // as the fields of evidence are
fn moved(first: f64, last: f64) -> Option<Trend> {
    Some(Trend::Moved { first, last })
}

fn told(trainers: &[TrainerEvidence]) -> Evidence {
    Evidence { trainers: trainers.to_vec(), ..training(&[busy_gpu(); 4]) }
}

fn of_one(trainer: TrainerEvidence) -> Evidence {
    told(&[trainer])
}

fn loss(loss: Option<Trend>) -> TrainerEvidence {
    TrainerEvidence { loss, ..TrainerEvidence::default() }
}

#[test]
fn a_loss_that_is_no_number_holds_growth_whoever_of_the_ranks_tells() {
    let silent = TrainerEvidence::default();
    let seen = told(&[loss(Some(Trend::Diverged)), silent, silent, silent]);

    assert_eq!(lean(&seen), Lean::Refuse(RunNotProgressing));
    assert_eq!(judge(&seen).findings[0].confidence, Confidence::High, "it needs no SM activity");
    assert_eq!(lean(&Evidence { class: Class::Inference, ..seen }), Lean::Allow);
}

#[test]
fn a_run_whose_loss_and_evaluation_both_stand_still_is_a_plateau() {
    let at = |loss, quality| vetoes(&told(&[TrainerEvidence { loss, quality, ..TrainerEvidence::default() }; 4]));

    assert_eq!(at(moved(2.0, 1.9995), moved(0.71, 0.7105)), [RunNotProgressing]);
    assert_eq!(at(moved(2.0, 1.997), moved(0.71, 0.7105)), [], "the loss falls");
    assert_eq!(at(moved(2.0, 1.9995), moved(0.71, 0.715)), [], "the evaluation improves");
}

/// A gauge shows its last number until the next evaluation: late in pretraining, hours later.
#[test]
fn an_evaluation_that_repeats_its_last_number_was_not_made_again() {
    let told =
        |quality| told(&[TrainerEvidence { loss: moved(1.7, 1.6995), quality, ..TrainerEvidence::default() }; 4]);
    let at = |quality| (lean(&told(quality)), weight(&told(quality), RunNotProgressing));

    assert_eq!(at(moved(0.71, 0.71)), (Lean::Allow, Some(Weight::Advice)));
    assert_eq!(at(moved(0.71, 0.710_000_000_000_000_1)), (Lean::Allow, Some(Weight::Advice)), "but for rounding");
    assert_eq!(at(moved(0.71, 0.7101)), (Lean::Refuse(RunNotProgressing), Some(Weight::Veto)));
    let unlogged = TrainerEvidence { quality: moved(0.71, 0.7101), ..loss(moved(1.7, 1.7)) };
    assert_eq!(weight(&of_one(unlogged), RunNotProgressing), None, "nor was the loss logged");
}

/// Kills: a plateau by the size of the change alone.
#[test]
fn a_run_whose_loss_rises_while_its_evaluation_falls_gets_nowhere_either() {
    let at = |loss, quality| vetoes(&told(&[TrainerEvidence { loss, quality, ..TrainerEvidence::default() }; 4]));

    assert_eq!(at(moved(2.0, 2.2), moved(0.71, 0.65)), [RunNotProgressing]);
    assert_eq!(at(moved(2.0, 2.2), moved(0.71, 0.7105)), [RunNotProgressing], "or stands still");
    assert_eq!(at(moved(2.0, 2.2), moved(0.71, 0.72)), [], "a policy that explores: its reward rises");
    assert_eq!(at(moved(2.0, 2.08), moved(0.71, 0.65)), [], "4 % is within the noise of a loss");
    assert_eq!(at(moved(2.0, 1.8), moved(0.71, 0.65)), [], "the loss falls: it learns, if only by heart");
}

/// Late in a long run the loss hardly moves within half an hour.
#[test]
fn a_loss_alone_that_stands_still_only_advises() {
    let seen = told(&[loss(moved(1.7, 1.6995))]);

    assert_eq!((lean(&seen), weight(&seen, RunNotProgressing)), (Lean::Allow, Some(Weight::Advice)));
    let lost = TrainerEvidence { quality_lost: true, ..loss(moved(1.7, 1.6995)) };
    assert_eq!(weight(&told(&[lost]), RunNotProgressing), None, "the evaluation may improve");
    assert_eq!(weight(&told(&[loss(moved(0.0, 0.0))]), RunNotProgressing), None, "nothing over nothing is no share");
}

#[test]
fn one_rank_that_moves_is_a_run_that_moves() {
    let still = TrainerEvidence { loss: moved(2.0, 1.9995), quality: moved(0.7, 0.7001), ..TrainerEvidence::default() };

    assert_eq!(vetoes(&told(&[still, still])), [RunNotProgressing]);
    assert_eq!(vetoes(&told(&[still, TrainerEvidence { loss: moved(2.0, 1.9), ..still }])), []);
    let lost = TrainerEvidence { loss_lost: true, ..TrainerEvidence::default() };
    assert_eq!(lean(&told(&[still, lost])), lost_for(RunNotProgressing, Source::Loss), "it may move");
}

fn ending(exits: Exits) -> Evidence {
    let failing = ContainerEvidence { exits, ..cpu(1.0) };
    Evidence { containers: vec![failing, cpu(1.0), cpu(1.0), cpu(1.0)], ..training(&[busy_gpu(); 4]) }
}

#[test]
fn a_container_that_fails_again_and_again_is_a_run_that_gets_nowhere() {
    let failed = |failed, host_memory| vetoes(&ending(Exits { failed, host_memory, gpu_memory: 0 }));

    assert_eq!(failed(3, 0), [RunNotProgressing]);
    assert_eq!(failed(1, 2), [RunNotProgressing]);
    assert_eq!(failed(2, 0), []);
    assert_eq!(failed(u32::MAX, u32::MAX), [RunNotProgressing]);
    let cold = Exits { failed: 3, ..Exits::default() };
    assert_eq!(vetoes(&Evidence { ended: vec![cold.into()], ..training(&[busy_gpu(); 4]) }), [RunNotProgressing]);
}

/// Trap: a spot restart inside the window. Its pods are other pods, each ended once at most.
#[test]
fn a_spot_restart_is_no_restart_loop() {
    let once = ContainerEvidence { exits: Exits { failed: 1, ..Exits::default() }, ..cpu(1.0) };
    let seen = Evidence { containers: vec![once; 4], ..training(&[busy_gpu(); 4]) };

    assert_eq!(vetoes(&seen), []);
}
