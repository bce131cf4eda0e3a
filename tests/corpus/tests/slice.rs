//! One scenario of each class, end to end, and the proof that the corpus notices when a rule is broken.

#![allow(clippy::unwrap_used, clippy::panic)]

use wellfed_corpus::case::{Case, Group};
use wellfed_corpus::classes::{CLASSES, Class};
use wellfed_corpus::dice::Half;
use wellfed_corpus::inloop::played;
use wellfed_corpus::label::label;
use wellfed_corpus::score::{Judged, Score, judged_with};
use wellfed_corpus::watch::defaults;
use wellfed_engine::policy::GatePolicy;

fn case(class: &str, index: u64) -> Case {
    Class::named(class).unwrap().case(Half::A, index).unwrap()
}

/// What becomes of `case` with the default gate, changed by `change`.
fn judged(case: &Case, change: impl FnOnce(&mut GatePolicy)) -> Judged {
    let mut gate = defaults(case.draft.work).unwrap();
    change(&mut gate);
    judged_with(case, gate).unwrap()
}

fn first_of_each() -> Vec<Judged> {
    CLASSES.iter().map(|class| judged(&class.case(Half::A, 2).unwrap(), |_| {})).collect()
}

#[test]
fn the_gate_is_right_about_one_scenario_of_each_class() {
    let all: Vec<Judged> = first_of_each();

    let wrong: Vec<&Judged> = all.iter().filter(|one| !one.is_well()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let score = Score::of(&all);
    assert_eq!((score.false_vetoes_saturated, score.vetoes_on_unknown), (0, 0));
}

#[test]
fn no_replica_more_helps_a_run_that_gets_nowhere_or_a_batch_that_does_not_fit() {
    for (class, index) in
        [("GpuOutOfMemory", 0), ("RunNotProgressing", 0), ("RunNotProgressing", 1), ("RunNotProgressing", 2)]
    {
        let label = label(&case(class, index), &mut ()).unwrap();

        assert!(!label.helped && label.free, "{class} {index}: {label:?}");
        assert!(label.as_is.throughput < 1e-6 && label.mended.throughput > 1.0, "{class} {index}: {label:?}");
    }
}

/// A trainer behind a storage that all share is held at what it has; one that works grows to its maximum.
#[test]
fn in_the_loop_the_same_gate_holds_and_lets_grow() {
    let looped = |class: &str| played(&case(class, 0)).unwrap().unwrap();

    let (held, grown) = (looped("StorageStall"), looped("training-at-work"));
    assert_eq!((held.ended, held.grown), (held.began, 0.0));
    assert!(held.held > 0.0 && held.refusals.iter().any(|(rule, _)| rule.to_string() == "StorageStall"), "{held:?}");
    assert!(grown.ended > grown.began && grown.refusals.is_empty(), "{grown:?}");
}

#[test]
fn every_working_scenario_is_one_in_which_a_replica_more_helps() {
    for one in first_of_each().iter().filter(|one| one.group == Group::Working) {
        assert!(one.label.asked.is_some() && one.label.helped, "{one:?}");
    }
}

#[test]
fn an_idle_workload_is_never_asked() {
    let idle = judged(&case("idle", 0), |_| {});

    assert_eq!((idle.label.asked, idle.refusals), (None, vec![]));
}

/// A storage that all replicas share is right by the strict definition, a loader of its own only by the other half.
#[test]
fn labels_tell_shared_causes_from_those_of_each_replica() {
    let (shared, own) = (judged(&case("StorageStall", 0), |_| {}), judged(&case("DataLoader", 0), |_| {}));

    assert_eq!((shared.label.helped, shared.label.free), (false, true));
    assert_eq!((own.label.helped, own.label.free), (true, true));
    assert!(shared.label.veto_is_strictly_right(shared.group) && !own.label.veto_is_strictly_right(own.group));
}

#[test]
fn labels_are_the_same_each_time() {
    let label = || label(&case("llm-mixed", 1), &mut ()).unwrap();

    assert_eq!(label(), label());
}

/// Mutant: the loader's rule sees no CPU at its limit any more.
#[test]
fn without_a_rule_its_scenarios_are_missed() {
    let off = judged(&case("DataLoader", 0), |gate| {
        gate.thresholds.starved_below = 0.0;
        gate.thresholds.data_wait_from = 2.0;
    });

    assert!(!off.is_well());
    assert_eq!(Score::of(&[off]).rates.recall, Some(0.0));
}

/// Mutant: GPUs that work nearly all the time count as starved.
#[test]
fn with_a_broken_threshold_working_gpus_are_refused() {
    let broken = |gate: &mut GatePolicy| {
        gate.thresholds.starved_below = 0.99;
        gate.thresholds.cpu_of_limit_from = 0.05;
    };

    let score = Score::of(&[judged(&case("llm-mixed", 0), broken)]);

    assert_eq!(score.false_vetoes_saturated, 1);
    assert_eq!(score.rates.precision, Some(0.0));
    assert!(!score.reaches_the_goal());
}

/// It is asked every half a minute at each of two replicas: most minutes have no latency.
#[test]
fn a_service_that_is_seldom_asked_is_judged_all_the_same() {
    let late = judged(&case("LatencyNotQueueBound", 8), |_| {});

    assert!(late.due() && late.is_well(), "{late:?}");
}

/// Mutant: a look is written anew, without what the trainer counts, under another name of its product.
#[test]
fn in_the_loop_a_hang_is_told_by_its_power_where_the_trainer_counts_nothing() {
    let looped = played(&case("Stalled", 6)).unwrap().unwrap();

    assert!(looped.refusals.iter().any(|(rule, _)| rule.to_string() == "Stalled"), "{looped:?}");
}
