//! Latency objectives: when they ask for more, and how often.

use wellfed_engine::decision::{Reason, Step};
use wellfed_engine::reading::Reading;
use wellfed_engine::testing::{Scenario, average, broken, latency, server, unlimited_pool, world};

/// p95 of `seconds` with an objective of 200 ms and two minutes of patience.
fn slow(running: u32, seconds: f64) -> Scenario {
    world().workload(server("chat").running(running).signal(latency("p95", seconds, 0.2)))
}

#[test]
fn a_latency_above_its_objective_asks_for_one_more_after_two_minutes() {
    let mut world = slow(4, 0.5);

    assert_eq!(world.decision("chat").number.0, 4);
    world = world.remembered(false).later(119);
    assert_eq!(world.decision("chat").number.0, 4);
    world = world.remembered(false).later(1);
    let decision = world.decision("chat");
    assert_eq!(decision.number.0, 5);
    assert!(matches!(decision.steps[0].reason, Reason::SloBreached { .. }));
}

#[test]
fn a_latency_within_its_objective_asks_for_nothing_and_shrinks_nothing() {
    let decision = slow(4, 0.1).decision("chat");

    assert_eq!((decision.number.0, decision.binding()), (4, Step::Demand));
}

#[test]
fn a_moment_within_the_objective_starts_the_patience_anew() {
    let world = slow(4, 0.5).remembered(false).later(100);
    let world = world.becomes(server("chat").running(4).signal(latency("p95", 0.1, 0.2))).remembered(false).later(20);
    let world = world.becomes(server("chat").running(4).signal(latency("p95", 0.5, 0.2))).remembered(false).later(60);

    assert_eq!(world.decision("chat").number.0, 4);
}

#[test]
fn no_more_is_asked_for_while_the_last_replica_is_still_loading() {
    let world = slow(4, 0.5).remembered(false).later(120);
    let loading = server("chat").pool(unlimited_pool().running(4).starting(1, 300)).signal(latency("p95", 0.5, 0.2));
    let world = world.becomes(loading).remembered(false).later(600);

    assert_eq!(world.decision("chat").number.0, 5);
}

#[test]
fn a_queue_may_shrink_what_a_met_objective_does_not_ask_for() {
    let chat = server("chat").running(8).signal(latency("p95", 0.1, 0.2)).signal(average("queue", 20.0, 10.0));

    assert_eq!(world().workload(chat).decision("chat").wanted.0, 2);
}

#[test]
fn an_objective_that_cannot_be_read_blocks_shrinking_only() {
    let chat = server("chat").running(8).signal(broken("p95", Reading::Missing)).signal(average("queue", 20.0, 10.0));

    assert_eq!(world().workload(chat).decision("chat").wanted.0, 8);
}
