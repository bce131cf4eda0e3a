//! All workloads in one pass.

use wellfed_engine::decide;
use wellfed_engine::decide::{Panicked, decide_with};
use wellfed_engine::decision::{Decision, Step};
use wellfed_engine::gate::Verdict;
use wellfed_engine::memory::Moment;
use wellfed_engine::opinion::Gap;
use wellfed_engine::policy::Mode;
use wellfed_engine::reading::Reading;
use wellfed_engine::testing::{Scenario, at, broken, latency, server, trainer, unlimited_pool, world};

#[test]
fn every_step_begins_where_the_last_one_ended() {
    let decision = world().workload(server("chat").running(4).wanting(80).max(6)).decision("chat");

    let steps: Vec<_> = decision.steps.iter().map(|record| record.step).collect();
    assert_eq!(steps, [Step::Demand, Step::Stabilise, Step::Bounds, Step::Gate, Step::Capacity, Step::Split]);
    let numbers: Vec<_> = decision.steps.iter().map(|record| (record.before.0, record.after.0)).collect();
    assert_eq!(numbers, [(4, 80), (80, 8), (8, 6), (6, 6), (6, 6), (6, 6)]);
    assert_eq!(decision.binding(), Step::Bounds);
}

#[test]
fn demand_binds_when_nothing_else_does() {
    assert_eq!(world().workload(server("chat").running(4).wanting(6)).decision("chat").binding(), Step::Demand);
    assert_eq!(world().workload(server("chat").running(4).wanting(4)).decision("chat").binding(), Step::Demand);
}

#[test]
fn the_maximum_wins_over_the_minimum() {
    let decision = world().workload(server("chat").running(4).wanting(4).min(9).max(2)).decision("chat");

    assert_eq!(decision.number.0, 2);
}

/// F5 (aibrix #436): workloads of one name, and signals of one name, do not share a memory.
#[test]
fn workloads_of_one_name_in_two_namespaces_are_two() {
    let elsewhere = world().workload(server("chat").running(4).wanting(9)).world.workloads.remove(0);
    let mut scenario = world().workload(server("chat").running(4).wanting(5));
    scenario.world.workloads.push(elsewhere);
    scenario.world.workloads[1].id.namespace = "web".to_owned();

    let numbers: Vec<_> =
        decide(&scenario.world).into_iter().flatten().map(|one| (one.id.namespace, one.number.0)).collect();

    assert_eq!(numbers, [("ml".to_owned(), 5), ("web".to_owned(), 8)]);
}

#[test]
fn one_panic_stops_no_other_workload() {
    let world =
        world().workload(server("broken").created(-90_000).running(1)).workload(server("chat").running(4)).world;

    let decided = decide_with(&world, |workload, _, _| {
        assert_ne!(workload.id.name, "broken", "a bug");
        Decision::unchanged(workload)
    });

    let Err(Panicked { id, message }) = &decided[0] else { panic!("it did not panic") };
    assert_eq!(id.name, "broken");
    assert!(message.contains("a bug"), "{message}");
    assert_eq!(decided[1].as_ref().unwrap().number.0, 4);
}

#[test]
fn nothing_is_decided_while_it_is_paused() {
    let paused = server("chat").running(4).min(6).wanting(9).mode(Mode::Paused);

    let decision = world().workload(paused).decision("chat");

    assert_eq!((decision.number.0, decision.changes()), (4, false));
    assert_eq!(decision.steps, []);
}

/// Half an hour of idling while nothing is decided must not become evidence afterwards.
#[test]
fn a_pause_ends_what_must_last_without_one() {
    let chat = || server("chat").running(4).wanting(9).signal(latency("p95", 0.5, 0.2));
    let before = world().workload(chat()).remembered(false).later(60).remembered(false);
    let paused = before.becomes(chat().mode(Mode::Paused)).later(60).remembered(false);
    let memory = |scenario: &Scenario| scenario.find("chat").unwrap().memory.clone();

    assert_eq!(memory(&paused).demand_above_since, None);
    assert!(memory(&paused).breached.is_empty());
    let resumed = paused.later(1_800).becomes(chat()).remembered(false);
    assert_eq!(memory(&resumed).demand_above_since, Some(at(1_920)));
    assert_eq!(memory(&resumed).breached.values().copied().collect::<Vec<_>>(), [Moment(at(1_920))]);
}

#[test]
fn a_veto_ends_with_its_expiry_while_paused() {
    let train = || trainer("vision-train").running(4).wanting(8).gpu_activity(0.22).throttled(0.40);
    let paused = world().workload(train()).after(3).becomes(train().mode(Mode::Paused));
    // It stands since the third evaluation, at 180 s.
    let verdict = |seconds: i64| paused.clone().later(seconds).decision("vision-train").verdict;

    assert!(matches!(verdict(1_799), Verdict::Refuse { .. }));
    assert_eq!(verdict(1_800), Verdict::Unknown(Gap::NotAsked));
    assert_eq!(paused.later(1_800).decision("vision-train").findings(), []);
}

#[test]
fn a_recommendation_is_the_number_that_would_be_written() {
    let with = |mode| {
        let trainer = trainer("vision-train").running(4).wanting(8).busy().mode(mode);
        world().workload(trainer).after(3).decision("vision-train")
    };

    assert_eq!(with(Mode::Recommend), with(Mode::Auto));
}

#[test]
fn since_when_demand_is_above_the_replicas_is_remembered_without_a_pause() {
    let chat = |wanted| server("chat").running(4).wanting(wanted);
    let above = world().workload(chat(6)).remembered(false).later(60).remembered(false);
    let since = |scenario: &Scenario| {
        let memory = &scenario.find("chat").unwrap().memory;
        (memory.demand_above_since, memory.backlog_since.map(|since| since.0))
    };
    let unread = server("chat").running(4).signal(broken("load", Reading::Missing));

    assert_eq!(since(&above), (Some(at(0)), Some(at(0))));
    assert_eq!(since(&above.clone().becomes(chat(4)).remembered(false)), (Some(at(0)), None), "still at its target");
    assert_eq!(since(&above.clone().becomes(chat(3)).remembered(false)), (None, None));
    assert_eq!(since(&above.becomes(unread).remembered(false)), (None, None), "nobody knows where it is");
}

/// Growth that passes while nothing is known yet must not begin the evidence anew with every step, or it is never judged.
#[test]
fn demand_stays_above_until_the_replicas_that_it_asked_for_are_ready() {
    let chat = |ready, starting, wanted| {
        server("chat").pool(unlimited_pool().running(ready).starting(starting, 60)).wanting(wanted)
    };
    let since = |scenario: &Scenario| scenario.find("chat").unwrap().memory.backlog_since.map(|since| since.0);

    let asked = world().workload(chat(4, 0, 8)).remembered(true).later(60);
    let starting = asked.becomes(chat(4, 4, 8)).remembered(true).later(60);
    assert_eq!(since(&starting), Some(at(0)));
    assert_eq!(since(&starting.clone().becomes(chat(8, 0, 8)).remembered(true)), None);
    assert_eq!(since(&starting.becomes(chat(4, 4, 3)).remembered(true)), None);

    let rolling = world().workload(chat(3, 1, 4)).remembered(true);
    assert_eq!(since(&rolling), None, "a replica that starts anew is no demand");
}
