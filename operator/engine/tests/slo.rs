//! Latency objectives: when they ask for more, and how often.

use wellfed_engine::decision::{Reason, Step};
use wellfed_engine::reading::Reading;
use wellfed_engine::testing::{
    NOW, PoolBuilder, Scenario, WorkloadBuilder, average, broken, latency, server, unlimited_pool, world,
};
use wellfed_engine::world::{SignalValue, Workload};

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

/// p95 of half a second with an objective of 200 ms, in `pool`.
fn slow_in(pool: PoolBuilder) -> WorkloadBuilder {
    server("chat").pool(pool).signal(latency("p95", 0.5, 0.2))
}

/// A large spot fleet never has every replica Ready: one is taken and made anew, one crash-loops, one finds no node.
#[test]
fn one_replica_of_fifty_that_is_not_ready_does_not_silence_an_objective() {
    let of_fifty = || unlimited_pool().running(49);
    let lacking = [
        ("taken", of_fifty().asked(50)),
        ("made anew", of_fifty().pending(1, 5)),
        ("crash-looping", of_fifty().starting(1, 300)),
        ("without a node", of_fifty().pending(1, 3_600)),
        ("broken", of_fifty().starting(1, 86_400)),
    ];
    for (why, pool) in lacking {
        let decision = world().workload(slow_in(pool)).remembered(false).later(120).decision("chat");

        assert_eq!(decision.wanted.0, 51, "{why}");
        assert!(matches!(decision.steps[0].reason, Reason::SloBreached { .. }), "{why}");
    }
}

/// Kills: an objective that asks again while what it asked for starts, and one whose patience goes on meanwhile.
#[test]
fn a_step_waits_until_the_replicas_of_the_last_are_ready_and_then_its_patience_anew() {
    let stepped = slow(4, 0.5).remembered(false).later(120).remembered(true);
    let loading = stepped.becomes(slow_in(unlimited_pool().running(4).starting(1, 0))).remembered(false).later(600);
    assert_eq!(loading.decision("chat").number.0, 5);

    let arrived = loading.becomes(slow_in(unlimited_pool().running(5))).remembered(false);

    assert_eq!(arrived.clone().later(119).decision("chat").number.0, 5);
    assert_eq!(arrived.later(120).decision("chat").number.0, 6);
}

/// The store shows the new number, and no pod of it yet.
#[test]
fn replicas_that_have_no_pod_yet_are_waited_for_too() {
    let stepped = slow(4, 0.5).remembered(false).later(120).remembered(true);
    let unmade = stepped.becomes(slow_in(unlimited_pool().running(4).asked(5))).remembered(false).later(300);

    assert_eq!(unmade.decision("chat").number.0, 5);
}

#[test]
fn a_replica_of_the_last_step_that_never_starts_is_waited_for_a_quarter_of_an_hour() {
    let stepped = world().workload(slow_in(unlimited_pool().running(50))).remembered(false).later(120).remembered(true);
    let mut stuck = stepped.becomes(slow_in(unlimited_pool().running(50).starting(1, -120))).remembered(false);
    stuck = stuck.later(899).remembered(false);
    assert_eq!(stuck.decision("chat").number.0, 51);

    stuck = stuck.later(1).remembered(false);

    assert_eq!(stuck.clone().later(119).decision("chat").number.0, 51);
    assert_eq!(stuck.later(120).decision("chat").number.0, 52);
}

/// Kills: patience that outlives a sample that is lost.
#[test]
fn a_sample_that_is_lost_starts_the_patience_anew() {
    let silence = |chat: &mut Workload| chat.signals[0].value = SignalValue::External(Reading::Missing);
    let speak =
        |chat: &mut Workload| chat.signals[0].value = SignalValue::External(Reading::Known { value: 0.5, at: NOW });
    let lost = slow(50, 0.5).remembered(false).later(110).change("chat", silence).remembered(false);

    let found = lost.later(10).change("chat", speak).remembered(false);

    assert_eq!(found.clone().later(119).decision("chat").number.0, 50);
    assert_eq!(found.later(120).decision("chat").number.0, 51);
}

/// Kills: a fleet that lost a fifth of its spot nodes and asks for more while they come back.
#[test]
fn more_than_a_tenth_on_their_way_are_waited_for_whoever_asked_for_them() {
    let wanted = |coming: u32| {
        let pool = unlimited_pool().running(50 - coming).pending(coming, 60);
        world().workload(slow_in(pool)).remembered(false).later(120).decision("chat").wanted.0
    };

    assert_eq!((wanted(5), wanted(6)), (51, 50));
}
