//! Optimise first, then add: when growth is refused, for how long, and what is never refused.

use wellfed_engine::decision::{Reason, Step};
use wellfed_engine::evidence::Demand;
use wellfed_engine::facts::Facts;
use wellfed_engine::gate::{GateMemory, Verdict};
use wellfed_engine::memory::Moment;
use wellfed_engine::opinion::{Confidence, Finding, Gap, Lean, Opinion, Weight};
use wellfed_engine::policy::{Class, GateMode, OnUnknown};
use wellfed_engine::reading::Reading;
use wellfed_engine::rest::Answers;
use wellfed_engine::rules::{RULES, RuleName};
use wellfed_engine::testing::{
    Scenario, WorkloadBuilder, at, broken, gate, in_pool, secs, server, trainer, unlimited_pool, world,
};

const EVALUATIONS_TO_VETO: u32 = 3;

fn starved(workload: WorkloadBuilder) -> WorkloadBuilder {
    workload.gpu_activity(0.22).cpu_of_limit(0.97).throttled(0.40)
}

fn starved_trainer() -> WorkloadBuilder {
    starved(trainer("vision-train").running(4).wanting(8))
}

fn number(scenario: &Scenario) -> u32 {
    scenario.decision("vision-train").number.0
}

#[test]
fn a_trainer_that_waits_for_its_data_is_refused_and_told_so() {
    let world = world().workload(starved_trainer());

    let decision = world.after(EVALUATIONS_TO_VETO).decision("vision-train");

    assert_eq!(decision.number.0, 4);
    assert_eq!(decision.binding(), Step::Gate);
    assert_eq!(decision.findings(), [RuleName::DataLoader]);
}

#[test]
fn a_starved_server_is_refused_too_once_the_cause_has_a_name() {
    let chat = starved(server("chat").running(4).wanting(8));

    let decision = world().workload(chat).after(EVALUATIONS_TO_VETO).decision("chat");

    assert_eq!((decision.wanted.0, decision.number.0), (8, 4));
}

#[test]
fn a_busy_workload_grows_and_the_rule_that_speaks_for_it_is_named() {
    let decision = world().workload(server("chat").running(4).wanting(8).busy()).after(1).decision("chat");

    assert_eq!(decision.number.0, 8);
    assert_eq!(decision.steps[3].reason, Reason::GatePassed { by: Some(RuleName::Saturated) });
    assert_eq!(decision.findings(), []);
}

/// A backlog that grows by a tenth now and then is at its target after each replica more, however little that one does.
#[test]
fn work_that_piles_up_as_fast_as_replicas_are_added_is_judged_all_the_same() {
    let piling = |replicas, wanting| starved(server("chat").running(replicas).wanting(wanting));
    let mut world = world().workload(piling(4, 5)).remembered(true);
    for replicas in 5..8 {
        world =
            world.becomes(piling(replicas, replicas)).after(2).becomes(piling(replicas, replicas + 1)).remembered(true);
    }

    let decision = world.decision("chat");

    assert_eq!((decision.wanted.0, decision.number.0), (8, 7));
    assert_eq!(decision.binding(), Step::Gate);
}

#[test]
fn it_takes_three_evaluations_in_a_row_to_refuse() {
    let world = world().workload(starved_trainer().on_unknown(OnUnknown::Allow));
    let numbers: Vec<_> = (0..=4).map(|evaluations| number(&world.clone().after(evaluations))).collect();

    assert_eq!(numbers, [8, 8, 8, 4, 4]);
    let counting = Verdict::Unknown(Gap::Counting { seen: 2, needed: 3 });
    assert_eq!(world.after(2).decision("vision-train").verdict, counting);
}

#[test]
fn an_evaluation_in_between_without_the_cause_starts_the_count_anew() {
    let busy = trainer("vision-train").running(4).wanting(8).busy();
    let world = world().workload(starved_trainer()).after(2).becomes(busy).after(1).becomes(starved_trainer());

    assert_eq!(world.clone().after(2).decision("vision-train").findings(), []);
    assert_eq!(world.after(3).decision("vision-train").findings(), [RuleName::DataLoader]);
}

#[test]
fn one_quiet_evaluation_does_not_lift_a_veto_and_two_do() {
    let busy = trainer("vision-train").running(4).wanting(8).busy();
    let world = world().workload(starved_trainer()).after(EVALUATIONS_TO_VETO).becomes(busy);

    assert_eq!(number(&world.clone().after(1)), 4);
    assert_eq!(number(&world.after(2)), 8);
}

#[test]
fn evaluations_without_evidence_lift_a_veto_like_quiet_ones_and_growth_waits_a_window_and_a_half_for_others() {
    let unseen = trainer("vision-train").running(4).wanting(8).on_unknown(OnUnknown::Allow).seen(|gpu, _| {
        *gpu = wellfed_engine::evidence::GpuEvidence::default();
    });
    let world = world().workload(starved_trainer()).after(EVALUATIONS_TO_VETO).becomes(unseen);

    let refuses = |world: &Scenario| matches!(world.decision("vision-train").verdict, Verdict::Refuse { .. });
    assert_eq!([1, 2].map(|looks| refuses(&world.clone().after(looks))), [true, false]);
    // A window of ten minutes and a half from when it was last in force, at the first of these evaluations.
    assert_eq!([15, 16].map(|looks| number(&world.clone().after(looks))), [4, 8]);
}

#[test]
fn evaluations_closer_than_thirty_seconds_and_repeated_ones_count_once() {
    let mut world = world().workload(starved_trainer());
    for _ in 0..6 {
        world = world.later(10).evaluated().remembered(false).remembered(false).remembered(false);
    }

    let counting = Verdict::Unknown(Gap::Counting { seen: 2, needed: 3 });
    assert_eq!(world.decision("vision-train").verdict, counting);
}

#[test]
fn a_veto_that_nobody_confirms_ends_by_itself_after_half_an_hour() {
    let world = world().workload(starved_trainer()).after(EVALUATIONS_TO_VETO);
    let expires = Moment(at(3 * 60 + 30 * 60));
    let standing = world.decision("vision-train").verdict;
    let before = world.clone().later(30 * 60 - 1).decision("vision-train").verdict;
    let after = world.later(30 * 60).decision("vision-train").verdict;

    assert_eq!(standing, Verdict::Refuse { rule: RuleName::DataLoader, expires });
    assert_eq!(before, standing);
    assert!(matches!(after, Verdict::Unknown(_)), "{after:?}");
}

/// Kills: half an hour from when it began to stand.
#[test]
fn a_veto_that_fresh_evidence_confirms_stands_for_six_hours_and_nothing_grows() {
    let mut world = world().workload(starved_trainer().on_unknown(OnUnknown::Allow)).after(EVALUATIONS_TO_VETO);
    for _ in 0..6 * 60 {
        world = world.after(1);
        let decision = world.decision("vision-train");
        assert_eq!((decision.number.0, decision.findings()), (4, vec![RuleName::DataLoader]));
    }

    let expires = Moment(at(3 * 60 + 6 * 3_600 + 30 * 60));
    let decision = world.decision("vision-train");
    assert_eq!(decision.verdict, Verdict::Refuse { rule: RuleName::DataLoader, expires });
    let seen = &decision.memory.gate.shown()[0];
    assert_eq!([seen.first, seen.since, seen.last], [60, 180, 180 + 6 * 3_600].map(|seconds| Moment(at(seconds))));
}

/// Kills: an expiry that any evaluation puts off.
#[test]
fn a_look_that_does_not_show_the_cause_does_not_put_the_expiry_off() {
    let busy = trainer("vision-train").running(4).wanting(8).busy();
    let world = world().workload(starved_trainer()).after(EVALUATIONS_TO_VETO).later(20 * 60).becomes(busy).after(1);

    let refuses = |world: &Scenario| matches!(world.decision("vision-train").verdict, Verdict::Refuse { .. });
    assert_eq!([539, 540].map(|seconds| refuses(&world.clone().later(seconds))), [true, false]);
}

#[test]
fn an_expired_veto_needs_three_new_evaluations() {
    let world = world().workload(starved_trainer()).after(EVALUATIONS_TO_VETO).later(30 * 60);

    assert!(matches!(world.clone().after(2).decision("vision-train").verdict, Verdict::Unknown(_)));
    assert!(matches!(world.after(3).decision("vision-train").verdict, Verdict::Refuse { .. }));
}

#[test]
fn what_was_seen_a_window_ago_is_not_what_is_seen_now() {
    let world = world().workload(trainer("vision-train").running(4).wanting(8).busy()).after(1);

    assert_eq!(number(&world.clone().later(600)), 8);
    assert_eq!(world.later(601).decision("vision-train").verdict, Verdict::Unknown(Gap::NotAsked));
}

/// The lane's word while nobody answers: the evidence is as old as it was, and too little of the window is left.
fn unanswered(scenario: Scenario) -> Scenario {
    scenario.change("vision-train", |workload| {
        if let Some(opinion) = &mut workload.opinion {
            opinion.lean = Lean::Unknown(Gap::Unanswered { since: Moment::of(opinion.at) });
        }
    })
}

/// Kills: a look without an answer that counts, or that changes nothing.
#[test]
fn a_look_without_an_answer_ends_what_let_growth_pass_and_neither_makes_nor_ends_a_veto() {
    let verdict = |scenario: Scenario| {
        unanswered(scenario.later(60)).remembered(false).later(60).decision("vision-train").verdict
    };
    let busy = trainer("vision-train").running(4).wanting(8).busy();
    let vetoed = world().workload(starved_trainer()).after(EVALUATIONS_TO_VETO);

    let since = Moment(at(60));
    assert_eq!(verdict(world().workload(busy).after(1)), Verdict::Unknown(Gap::Unanswered { since }));
    assert!(matches!(verdict(vetoed.clone()), Verdict::Refuse { rule: RuleName::DataLoader, .. }));
    let seen = unanswered(world().workload(starved_trainer()).after(2).later(60)).remembered(false).later(60).after(1);
    assert!(matches!(seen.decision("vision-train").verdict, Verdict::Refuse { .. }), "it is the third in a row");
}

#[test]
fn a_window_without_an_answer_is_told_as_that() {
    let busy = || trainer("vision-train").running(4).wanting(8).busy();
    let silent = world().workload(busy()).after(2).later(601).remembered(false);

    let since = Moment(at(120));
    assert_eq!(silent.decision("vision-train").verdict, Verdict::Unknown(Gap::Unanswered { since }));
}

#[test]
fn evaluations_a_day_apart_are_not_in_a_row() {
    let world = world().workload(starved_trainer()).after(2).later(86_400).after(1);

    let counting = Verdict::Unknown(Gap::Counting { seen: 1, needed: 3 });
    assert_eq!(world.decision("vision-train").verdict, counting);
}

#[test]
fn a_veto_never_stops_shrinking() {
    let vetoed = world().workload(starved_trainer()).after(EVALUATIONS_TO_VETO);
    let calm = vetoed.becomes(starved(trainer("vision-train").running(4).wanting(1))).remembered(false).later(300);

    assert_eq!(number(&calm), 1);
}

#[test]
fn a_veto_never_lowers_the_number() {
    let vetoed = world().workload(starved_trainer()).after(EVALUATIONS_TO_VETO);

    assert_eq!(number(&vetoed.becomes(starved(trainer("vision-train").running(4).wanting(4)))), 4);
}

#[test]
fn a_veto_never_stops_what_the_minimum_asks_for() {
    let vetoed = world().workload(starved_trainer().min(6)).after(EVALUATIONS_TO_VETO);

    assert_eq!(number(&vetoed), 6);
}

#[test]
fn nothing_stops_a_wake_from_zero() {
    let asleep = trainer("vision-train").min(0).pool(unlimited_pool()).wanting(3);
    let remembering = world().workload(starved_trainer()).after(EVALUATIONS_TO_VETO).becomes(asleep);

    let decision = remembering.decision("vision-train");

    assert!(matches!(decision.verdict, Verdict::Refuse { .. }));
    assert_eq!(decision.number.0, 3);
    assert_eq!(decision.steps[3].reason, Reason::FromZero);
}

#[test]
fn advice_is_given_and_not_enforced() {
    let world = world().workload(starved_trainer().gate(GateMode::Advise)).after(EVALUATIONS_TO_VETO);

    let decision = world.decision("vision-train");

    assert_eq!(decision.number.0, 8);
    assert_eq!(decision.findings(), [RuleName::DataLoader]);
    let advised = Reason::GateRefused { rule: RuleName::DataLoader, mode: GateMode::Advise };
    assert_eq!(decision.steps[3].reason, advised);
}

#[test]
fn a_gate_that_is_off_is_not_asked() {
    let decision = world().workload(starved_trainer().gate(GateMode::Off)).after(3).decision("vision-train");

    assert_eq!(decision.number.0, 8);
    assert_eq!(decision.steps[3].reason, Reason::GateOff);
}

#[test]
fn unknown_means_what_the_class_makes_of_it() {
    let unasked = |workload: WorkloadBuilder, name| world().workload(workload).decision(name);
    let held = unasked(trainer("vision-train").running(4).wanting(8), "vision-train");
    let allowed = unasked(server("chat").running(4).wanting(8), "chat");

    assert_eq!((held.number.0, allowed.number.0), (4, 8));
    assert_eq!(held.steps[3].reason, Reason::GateUnknown { gap: Gap::NotAsked, then: OnUnknown::Hold });
    assert_eq!(allowed.steps[3].reason, Reason::GateUnknown { gap: Gap::NotAsked, then: OnUnknown::Allow });
}

#[test]
fn advice_without_evidence_does_not_hold_and_does_not_say_that_it_does() {
    let trainer = trainer("vision-train").running(4).wanting(8).gate(GateMode::Advise);

    let decision = world().workload(trainer).decision("vision-train");

    assert_eq!(decision.number.0, 8);
    assert_eq!(decision.steps[3].reason, Reason::GateUnknown { gap: Gap::NotAsked, then: OnUnknown::Allow });
}

#[test]
fn low_utilisation_alone_holds_training_and_only_advises_inference() {
    let quiet = |workload: WorkloadBuilder| workload.running(4).wanting(8).gpu_activity(0.10);
    let world = world().workload(quiet(trainer("vision-train"))).workload(quiet(server("chat"))).after(3);
    let (training, inference) = (world.decision("vision-train"), world.decision("chat"));

    assert_eq!((training.number.0, training.findings()), (4, vec![RuleName::Underused]));
    assert_eq!((inference.number.0, inference.findings()), (8, vec![RuleName::Underused]));
}

#[test]
fn a_veto_that_turns_into_advice_is_lifted() {
    let quiet = |workload: WorkloadBuilder| workload.running(4).wanting(8).gpu_activity(0.10);
    let vetoed = world().workload(quiet(trainer("search"))).after(EVALUATIONS_TO_VETO);
    let now_a_server = vetoed.becomes(quiet(server("search")));

    assert_eq!(now_a_server.clone().after(1).decision("search").number.0, 4);
    assert_eq!(now_a_server.after(2).decision("search").number.0, 8);
}

/// The gate says something about growth; a hold for lack of metrics is demand's, and a full pool is capacity's.
#[test]
fn the_gate_is_not_asked_when_nothing_grows() {
    let search = server("search").running(4).signal(broken("load", Reading::Missing));
    let full = trainer("vision-train").pool(in_pool("h100").running(4)).wanting(4);
    let world = world().pool("h100", &[0]).workload(search).workload(full);

    assert_eq!(world.decision("search").steps[3].reason, Reason::NotGrowing);
    assert_eq!(world.decision("vision-train").steps[3].reason, Reason::NotGrowing);
}

/// What is remembered must fit into a status: ten at a time, and advice goes first.
#[test]
fn of_too_many_findings_the_least_is_forgotten() {
    let all = RULES.iter().map(|rule| rule.name()).collect::<Vec<_>>();
    let advice: Vec<_> = all.iter().filter(|rule| **rule != RuleName::DataLoader).take(10).copied().collect();
    let found = |rule: &RuleName| found(*rule, Weight::Advice);
    let veto = Finding { weight: Weight::Veto, ..found(&RuleName::DataLoader) };
    let advised: Vec<_> = advice.iter().map(found).collect();
    let policy = gate(Class::Training);
    let mut memory = GateMemory::default();

    memory.count(Some(&opinion(0, &advised)), &policy, at(0));
    memory.count(Some(&opinion(60, &[vec![veto], advised].concat())), &policy, at(60));

    let rules: Vec<_> = memory.counts.iter().map(|count| count.rule).collect();
    assert_eq!(rules, [&advice[..9], &[RuleName::DataLoader]].concat());
}

#[test]
fn a_finding_that_speaks_for_more_gpus_and_is_said_is_both() {
    let full = found(RuleName::KvPressure, Weight::Either);
    let policy = gate(Class::Inference);
    let mut memory = GateMemory::default();
    for look in 0..3 {
        memory.count(Some(&opinion(60 * look, std::slice::from_ref(&full))), &policy, at(60 * look));
    }

    assert_eq!(memory.verdict(&policy), Verdict::Allow { by: Some(RuleName::KvPressure) });
    assert_eq!(memory.findings().map(|count| count.rule).collect::<Vec<_>>(), [RuleName::KvPressure]);
}

fn found(rule: RuleName, weight: Weight) -> Finding {
    Finding { rule, weight, confidence: Confidence::High, measured: Vec::new(), window: secs(600) }
}

fn opinion(at_seconds: i64, findings: &[Finding]) -> Opinion {
    let (at, findings) = (at(at_seconds), findings.to_vec());
    let (at_rest, facts) = (Answers::default(), Facts::default());
    Opinion { at, demand: Demand::Above, lean: Lean::Allow, findings, at_rest, facts }
}

/// §5.55 (prometheus-adapter #644, dcgm-exporter #42): evidence that is there at every second look neither lifts a refusal
/// nor keeps it from being counted again.
#[test]
fn evidence_that_comes_and_goes_keeps_a_refusal() {
    let unseen = || {
        let blank = wellfed_engine::evidence::GpuEvidence::default();
        trainer("vision-train").running(4).wanting(8).on_unknown(OnUnknown::Allow).seen(|gpu, _| *gpu = blank)
    };
    let starved = || starved_trainer().on_unknown(OnUnknown::Allow);
    let mut world = world().workload(starved()).after(EVALUATIONS_TO_VETO);
    for look in 0..10 {
        world = world.becomes(if look % 2 == 0 { unseen() } else { starved() }).after(1);

        let decision = world.decision("vision-train");
        assert!(matches!(decision.verdict, Verdict::Refuse { rule: RuleName::DataLoader, .. }), "look {look}");
        assert_eq!(decision.number.0, 4, "look {look}");
    }
}
