//! What the signals ask for when the world is not as it should be.

use wellfed_engine::decision::{Reason, Silent, Step};
use wellfed_engine::policy::FallbackBehavior;
use wellfed_engine::reading::{Oddity, ReadFailure, Reading, Trouble};
use wellfed_engine::testing::{
    NOW, Signal, at, average, broken, each, secs, server, unlimited_pool, unread, value, world,
};
use wellfed_engine::units::Replicas;
use wellfed_engine::world::PodState;

/// M1 (keda #965, #886, #3064, #3065, #1850): an empty, failed or late answer is never zero and never the minimum.
#[test]
fn an_answer_that_says_nothing_holds_the_number_and_says_why() {
    let unusable = [
        (Reading::Missing, Trouble::Missing),
        (Reading::Failed(ReadFailure::Http { status: 500 }), Trouble::Failed(ReadFailure::Http { status: 500 })),
        (Reading::Failed(ReadFailure::Timeout), Trouble::Failed(ReadFailure::Timeout)),
    ];
    for (reading, trouble) in unusable {
        let mut scenario = world().workload(server("search").running(6).signal(broken("load", reading)));
        for _ in 0..120 {
            scenario = scenario.remembered(true).later(5);
        }

        let decision = scenario.decision("search");

        assert_eq!(decision.number.0, 6, "{trouble:?}");
        assert_eq!(decision.troubles, [("load".into(), trouble)]);
        assert_eq!(decision.binding(), Step::Demand);
    }
}

/// M3 (keda #8036): a body of 0 under a status that is not 200 is no measurement.
#[test]
fn a_failed_read_is_not_the_zero_in_its_body() {
    let failed = Reading::Failed(ReadFailure::Http { status: 503 });
    for signal in [broken("load", failed), unread("queue", failed)] {
        assert_eq!(world().workload(server("search").running(6).signal(signal)).decision("search").wanted.0, 6);
    }
}

/// M5 (llm-d WVA #360): a replica without a series is not an idle replica.
#[test]
fn a_ready_replica_without_a_sample_stops_shrinking() {
    let chat = server("chat").running(3).signal(each("kv", 10.0, &[Some(1.0), Some(1.0), None]));

    let decision = world().workload(chat).decision("chat");

    assert_eq!(decision.wanted.0, 3);
    assert_eq!(decision.steps[0].reason, Reason::SamplesMissing { signal: "kv".into(), missing: 1, of: 3 });
}

/// Growth on the samples that are there hides nothing: the decision still says who is silent.
#[test]
fn a_ready_replica_without_a_sample_is_told_also_while_growing() {
    let chat = server("chat").running(3).signal(each("kv", 10.0, &[Some(90.0), Some(90.0), None]));

    let decision = world().workload(chat).decision("chat");

    assert_eq!(decision.wanted.0, 18);
    assert_eq!(decision.silent, [Silent { signal: "kv".into(), missing: 1, of: 3 }]);
}

/// A replica that turned Ready just now could not be scraped yet: the number waits for its sample, and the stabilisation
/// window, which would hold the number for minutes, does not.
#[test]
fn replicas_too_new_for_a_sample_hold_the_number_and_leave_no_mark_in_the_window() {
    let chat = |seconds| {
        let pool = unlimited_pool().running(3).turned_ready(2, seconds);
        server("chat").pool(pool).signal(each("queue", 10.0, &[Some(1.0), Some(1.0), Some(1.0)]))
    };
    let window = secs(300);

    let new = world().workload(chat(59)).decision("chat");
    let old = world().workload(chat(60)).decision("chat");

    assert_eq!((new.wanted.0, old.wanted.0), (5, 5));
    assert_eq!(new.steps[0].reason, Reason::SamplesMissing { signal: "queue".into(), missing: 2, of: 5 });
    assert_eq!(new.silent, []);
    assert_eq!(old.silent, [Silent { signal: "queue".into(), missing: 2, of: 5 }]);
    assert_eq!(new.memory.desires.lowest(NOW, window), Some(Replicas(1)));
    assert_eq!(old.memory.desires.lowest(NOW, window), Some(Replicas(5)));
}

/// New replicas damp growth like those that are not Ready yet.
#[test]
fn replicas_too_new_for_a_sample_damp_growth() {
    let pool = unlimited_pool().running(3).turned_ready(2, 10);
    let chat = server("chat").pool(pool).signal(each("queue", 10.0, &[Some(16.0), Some(16.0), Some(16.0)]));

    assert_eq!(world().workload(chat).decision("chat").wanted.0, 5);
}

/// A new replica whose sample is nonsense is not excused.
#[test]
fn a_new_replica_with_an_unbelievable_sample_is_told() {
    let pool = unlimited_pool().running(1).turned_ready(1, 10);
    let chat = server("chat").pool(pool).signal(each("queue", 10.0, &[Some(1.0), Some(f64::NAN)]));

    assert_eq!(world().workload(chat).decision("chat").silent, [Silent { signal: "queue".into(), missing: 1, of: 2 }]);
}

/// M7 (k/k #79158, #119788): a pod that never becomes Ready has no samples, and must not freeze the others.
#[test]
fn a_replica_that_never_started_does_not_stop_shrinking() {
    for pool in [unlimited_pool().running(3).pending(1, 4_200), unlimited_pool().running(3).starting(1, 4_200)] {
        let chat = server("chat").pool(pool).signal(each("queue", 10.0, &[Some(1.0), Some(1.0), Some(1.0)]));

        assert_eq!(world().workload(chat).decision("chat").wanted.0, 1);
    }
}

/// A signal in proportion to the replicas says nothing while none of them is Ready.
#[test]
fn a_total_outage_is_not_answered_by_shrinking() {
    let search = server("search").pool(unlimited_pool().starting(6, 60)).signal(value("latency", 1.0, 5.0));

    assert_eq!(world().workload(search).decision("search").wanted.0, 6);
}

/// M13 (dynamo PR #14575): an outage does not suspend the minimum.
#[test]
fn the_minimum_holds_during_an_outage() {
    let search = server("search").min(3).running(1).signal(broken("load", Reading::Missing));

    let decision = world().workload(search).decision("search");

    assert_eq!((decision.wanted.0, decision.number.0), (1, 3));
    assert_eq!(decision.binding(), Step::Bounds);
}

/// M15: ten minutes old and two minutes in the future are both too far from now.
#[test]
fn samples_that_are_too_old_or_from_the_future_hold() {
    for seconds in [-600, 121] {
        let reading = Reading::of(0.0, at(seconds), NOW, secs(60));
        let decision = world().workload(server("search").running(6).signal(broken("load", reading))).decision("search");

        assert_eq!(decision.wanted.0, 6);
        assert_eq!(decision.troubles, [("load".into(), Trouble::Stale { measured: at(seconds) })]);
    }
}

#[test]
fn a_known_value_that_can_not_be_a_measurement_is_no_measurement() {
    let odd = [
        (f64::NAN, Oddity::NotANumber),
        (f64::INFINITY, Oddity::Infinite),
        (-1.0, Oddity::Negative),
        (9_223_372_036_854_775_794.0, Oddity::Sentinel),
    ];
    for (number, oddity) in odd {
        let decision =
            world().workload(server("chat").running(6).signal(average("load", number, 10.0))).decision("chat");

        assert_eq!(decision.wanted.0, 6);
        assert_eq!(decision.troubles, [("load".into(), Trouble::Implausible(oddity))]);
    }
}

#[test]
fn a_target_that_nothing_can_be_divided_by_holds() {
    for target in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for signal in [average("load", 50.0, target), value("load", 50.0, target), each("load", target, &[Some(1.0)])] {
            assert_eq!(world().workload(server("chat").running(6).signal(signal)).decision("chat").wanted.0, 6);
        }
    }
}

#[test]
fn without_any_signal_the_number_stays() {
    assert_eq!(world().workload(server("chat").running(6)).decision("chat").number.0, 6);
}

#[test]
fn a_signal_that_the_world_forgot_to_read_is_missing_and_not_zero() {
    let chat = server("chat").running(6).signal(average("load", 10.0, 10.0)).signal(average("tokens", 60.0, 10.0));

    let scenario = world().workload(chat).change("chat", |chat| chat.signals.truncate(1));

    assert_eq!(scenario.decision("chat").wanted.0, 6);
}

/// F1 (k/k #98914, #72775, #84142, #90461, #87199): what a pod reports before it is Ready adds no demand.
#[test]
fn crash_loops_and_surge_pods_do_not_make_it_grow() {
    let rows = [Some(8.0), Some(8.0), Some(100.0), Some(100.0)];
    let crash_looping = unlimited_pool().running(2).starting(2, 30);
    let terminating = unlimited_pool().running(2).ended(2);
    for (pool, why) in [(crash_looping, "crash-looping"), (terminating, "terminating")] {
        let chat = server("chat").pool(pool.asked(2)).signal(each("queue", 10.0, &rows));

        assert_eq!(world().workload(chat).decision("chat").wanted.0, 2, "{why}");
    }
}

#[test]
fn replicas_that_do_not_start_stop_growth() {
    let chat = |seconds| server("chat").pool(unlimited_pool().running(3).pending(2, seconds)).wanting(9);
    let soon = world().workload(chat(899)).decision("chat");
    let late = world().workload(chat(900)).decision("chat");

    assert_eq!(soon.wanted.0, 9);
    assert_eq!(late.wanted.0, 5);
    assert_eq!(late.steps[0].reason, Reason::ReplicasNotStarting { replicas: 2, waited: secs(900) });
}

/// What a few of many do says nothing of what the next would do; a tenth bounds what piles up.
#[test]
fn replicas_that_do_not_start_are_no_reason_while_they_are_a_tenth_or_less() {
    let chat = |late| server("chat").pool(unlimited_pool().running(50 - late).pending(late, 900)).max(99).wanting(60);
    let wanted = |late| world().workload(chat(late)).decision("chat").wanted.0;

    assert_eq!((wanted(1), wanted(5), wanted(6)), (60, 60, 50));
}

#[test]
fn a_replica_that_stumbles_after_days_is_not_one_that_never_started() {
    let scenario = world().workload(server("chat").running(4).wanting(8)).change("chat", |chat| {
        chat.pools[0].pods[0].state = PodState::Starting { since: at(-20) };
    });

    assert_eq!(scenario.decision("chat").wanted.0, 8);
}

#[test]
fn replicas_without_a_pod_are_waited_for_since_pods_are_missing() {
    let quota_exceeded = server("chat").pool(unlimited_pool().running(3).asked(5)).wanting(5);
    let scenario = world().workload(quota_exceeded).remembered(true).later(900).change("chat", |chat| {
        chat.signals[0].value = wellfed_engine::world::SignalValue::External(Reading::Known { value: 90.0, at: NOW });
    });

    let decision = scenario.decision("chat");

    assert_eq!(decision.wanted.0, 5);
    assert_eq!(decision.steps[0].reason, Reason::ReplicasNotStarting { replicas: 2, waited: secs(900) });
}

/// A pool that grows every minute always has replicas that are not Ready, but none of them is late.
#[test]
fn steady_growth_is_not_taken_for_replicas_that_do_not_start() {
    let mut scenario = world().workload(server("chat").max(1_000).running(1).wanting(900));
    for _ in 0..30 {
        scenario = scenario.remembered(true).later(5).change("chat", |chat| start_missing(chat, 5)).later(25);
    }

    assert_eq!(scenario.decision("chat").wanted.0, 900);
}

/// Makes the pods that are asked for and not there, Ready since `seconds` ago is what the first ones are by then.
fn start_missing(workload: &mut wellfed_engine::world::Workload, seconds: i64) {
    let pool = &mut workload.pools[0];
    for number in pool.pods.len()..pool.asked.0 as usize {
        let name = format!("chat-default-{number}").as_str().into();
        let state = PodState::Ready { since: at(-seconds) };
        pool.pods.push(wellfed_engine::world::Pod { name, state, bound: true });
    }
}

/// F9 (aibrix #617, dynamo #14251): what waits for a GPU is taken back when nobody needs it.
#[test]
fn a_replica_that_pends_for_an_hour_does_not_stop_shrinking() {
    let chat = server("chat").pool(unlimited_pool().running(3).pending(1, 4_200)).wanting(1);
    let scenario = world().workload(chat).remembered(false).later(300);

    assert_eq!(scenario.decision("chat").number.0, 1);
}

#[test]
fn the_fallback_waits_for_its_threshold_and_then_holds_as_it_was_told() {
    let failing = |times| broken("load", Reading::Failed(ReadFailure::Unreachable)).failed(times);
    let wanted = |running, signal: Signal, behavior| {
        let search = server("search").running(running).signal(signal).fallback(3, 6, behavior);
        world().workload(search).decision("search").wanted.0
    };

    assert_eq!(wanted(4, failing(3), FallbackBehavior::Static), 4, "three failures are not more than three");
    assert_eq!(wanted(4, failing(4), FallbackBehavior::Static), 6);
    assert_eq!(wanted(8, failing(4), FallbackBehavior::Static), 6);
    assert_eq!(wanted(4, failing(4), FallbackBehavior::CurrentReplicas), 4);
    assert_eq!(wanted(4, failing(4), FallbackBehavior::CurrentReplicasIfHigher), 6);
    assert_eq!(wanted(8, failing(4), FallbackBehavior::CurrentReplicasIfHigher), 8);
    assert_eq!(wanted(4, failing(4), FallbackBehavior::CurrentReplicasIfLower), 4);
    assert_eq!(wanted(8, failing(4), FallbackBehavior::CurrentReplicasIfLower), 6);
}

#[test]
fn a_healthy_signal_can_ask_for_more_than_the_fallback() {
    let failing = broken("tokens", Reading::Failed(ReadFailure::Unreachable)).failed(4);
    let search = server("search").running(4).wanting(9).signal(failing).fallback(3, 6, FallbackBehavior::Static);

    assert_eq!(world().workload(search).decision("search").wanted.0, 9);
}

fn unreachable() -> Signal {
    broken("load", Reading::Failed(ReadFailure::Unreachable))
}

/// M9 (keda #5009, #7239, #7411): at zero replicas one signal is lost, and another says that work waits.
#[test]
fn a_sleeping_workload_wakes_by_the_signal_that_can_still_be_read() {
    let lost = [
        (unreachable(), Trouble::Failed(ReadFailure::Unreachable)),
        (each("load", 10.0, &[]), Trouble::Missing),
        (unread("load", Reading::Failed(ReadFailure::Timeout)), Trouble::Failed(ReadFailure::Timeout)),
    ];
    let asleep = || server("chat").min(0).pool(unlimited_pool());
    for (lost, trouble) in lost {
        for heard in [average("queue", 45.0, 10.0), value("queue", 45.0, 10.0)] {
            let lost_first = asleep().signal(lost.clone()).signal(heard.clone());
            let lost_last = asleep().signal(heard).signal(lost.clone());
            for chat in [lost_first, lost_last] {
                let decision = world().workload(chat).decision("chat");

                assert_eq!((decision.wanted.0, decision.number.0), (5, 4), "four pods in fifteen seconds, as in HPA");
                assert_eq!(decision.troubles, [("load".into(), trouble)]);
            }
        }
    }
}

/// M9 (keda #5009, #7239, #7411): nothing can be read, no pod is there to be Ready, and the user said what to do then.
#[test]
fn the_fallback_wakes_a_sleeping_workload() {
    let wanted = |failures, behavior| {
        let chat = server("chat").min(0).pool(unlimited_pool()).signal(unreachable().failed(failures));
        let decision = world().workload(chat.fallback(3, 6, behavior)).decision("chat");
        assert_eq!(decision.number.0, decision.wanted.0.min(4), "four pods in fifteen seconds, as in HPA");
        decision.wanted.0
    };

    assert_eq!(wanted(4, FallbackBehavior::Static), 6);
    assert_eq!(wanted(4, FallbackBehavior::CurrentReplicasIfHigher), 6);
    assert_eq!(wanted(4, FallbackBehavior::CurrentReplicas), 0);
    assert_eq!(wanted(4, FallbackBehavior::CurrentReplicasIfLower), 0);
    assert_eq!(wanted(3, FallbackBehavior::Static), 0, "three failures are not more than three");
}

/// §5.55 (prometheus-adapter #644, dcgm-exporter #42): no metrics now and then. The number goes neither to the minimum nor
/// to the maximum, and no proposal on the way does.
#[test]
fn a_signal_that_comes_and_goes_for_an_hour_changes_nothing() {
    let there = || server("search").running(6).signal(average("load", 60.0, 10.0));
    let gone = || server("search").running(6).signal(broken("load", Reading::Missing));
    let mut scenario = world().workload(there());
    for look in 0..240 {
        let next = if look % 2 == 0 { gone() } else { there() };
        scenario = scenario.remembered(true).later(15).becomes(next);

        let decision = scenario.decision("search");
        assert_eq!((decision.wanted.0, decision.number.0), (6, 6), "look {look}");
    }
}
