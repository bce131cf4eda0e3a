//! A cause that refused growth is looked for first when demand comes back, and growth waits for that look, but not for long.

use wellfed_engine::decision::Reason;
use wellfed_engine::gate::Verdict;
use wellfed_engine::memory::Moment;
use wellfed_engine::opinion::Gap;
use wellfed_engine::policy::{GateMode, OnUnknown};
use wellfed_engine::rules::RuleName;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, at, server, world};

const NAME: &str = "chat";
const HOUR: i64 = 3_600;
/// One and a half windows of ten minutes.
const WAIT: i64 = 900;

fn chat() -> WorkloadBuilder {
    server(NAME).running(4).template("one")
}

fn starved() -> WorkloadBuilder {
    chat().wanting(8).gpu_activity(0.22).cpu_of_limit(0.97).throttled(0.40)
}

/// Nobody looks while nothing is wanted.
fn quiet(scenario: Scenario, seconds: i64) -> Scenario {
    scenario.becomes(chat().wanting(3)).change(NAME, |chat| chat.opinion = None).later(seconds).remembered(false)
}

/// Refused, and then so many seconds without demand.
fn refused_and_quiet(seconds: i64) -> Scenario {
    quiet(world().workload(starved()).after(3), seconds)
}

/// Demand is back, and there is no evidence yet.
fn back(scenario: Scenario) -> Scenario {
    scenario.becomes(chat().wanting(8)).remembered(false)
}

fn number(scenario: &Scenario) -> u32 {
    scenario.decision(NAME).number.0
}

#[test]
fn without_a_cause_a_service_grows_before_anything_is_known() {
    assert_eq!(number(&world().workload(chat().wanting(8))), 8);
}

#[test]
fn a_cause_that_refused_this_morning_holds_until_it_is_looked_for_this_evening() {
    let evening = back(refused_and_quiet(8 * HOUR));
    let decision = evening.decision(NAME);
    let until = Moment(at(3 * 60 + 8 * HOUR + WAIT));
    let gap = Gap::Recalled { rule: RuleName::DataLoader, until };

    assert_eq!((decision.wanted.0, decision.number.0), (8, 4));
    assert_eq!(decision.verdict, Verdict::Unknown(gap));
    assert_eq!(decision.steps[3].reason, Reason::GateUnknown { gap, then: OnUnknown::Hold });
}

#[test]
fn found_again_it_refuses_without_a_replica_in_between() {
    let numbers: Vec<_> =
        (0..=4).map(|looks| number(&back(refused_and_quiet(HOUR)).becomes(starved()).after(looks))).collect();

    assert_eq!(numbers, [4; 5]);
}

#[test]
fn one_look_that_finds_the_gpus_at_work_lets_growth_pass() {
    let mended = back(refused_and_quiet(HOUR)).becomes(chat().wanting(8).busy());

    assert_eq!((number(&mended), number(&mended.clone().after(1))), (4, 8));
}

#[test]
fn without_any_evidence_growth_waits_for_a_window_and_a_half_and_no_longer() {
    let evening = back(refused_and_quiet(HOUR));

    assert_eq!(number(&evening.clone().later(WAIT - 1)), 4);
    assert_eq!(number(&evening.later(WAIT)), 8);
}

#[test]
fn two_looks_that_do_not_show_it_forget_it() {
    let disproved = refused_and_quiet(HOUR).becomes(chat().wanting(8).busy()).after(2);

    assert_eq!(number(&back(quiet(disproved, HOUR))), 8);
}

#[test]
fn looks_without_evidence_do_not_forget_it() {
    let unseen = refused_and_quiet(HOUR).becomes(chat().wanting(8).seen(|gpu, _| *gpu = Default::default())).after(3);

    assert_eq!(number(&back(quiet(unseen, HOUR))), 4);
}

#[test]
fn another_pod_template_forgets_it() {
    let changed = refused_and_quiet(HOUR).becomes(chat().wanting(8).template("two")).remembered(false);

    assert_eq!(number(&changed), 8);
}

#[test]
fn a_week_forgets_it() {
    assert_eq!(number(&back(refused_and_quiet(7 * 24 * HOUR - 1))), 4);
    assert_eq!(number(&back(refused_and_quiet(7 * 24 * HOUR))), 8);
}

#[test]
fn a_gate_that_only_advises_holds_nothing() {
    let advised = refused_and_quiet(HOUR).becomes(chat().wanting(8).gate(GateMode::Advise));

    assert_eq!(number(&advised), 8);
}

#[test]
fn it_survives_a_restart() {
    let memory = refused_and_quiet(HOUR).find(NAME).unwrap().memory.clone();
    let text = serde_json::to_string(&memory).unwrap();
    let read = serde_json::from_str(&text).unwrap();

    assert_eq!(memory.gate.cause.map(|cause| cause.rule), Some(RuleName::DataLoader));
    assert_eq!(number(&world().workload(chat().wanting(8).remembering(read)).later(2 * HOUR)), 4);
}
