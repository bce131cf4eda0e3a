//! HPA's documented rules, as tables: what goes in, and the replicas that come out.

use wellfed_engine::decision::Reason;
use wellfed_engine::reading::{ReadFailure, Reading};
use wellfed_engine::testing::{Signal, average, broken, each, replicas, server, unlimited_pool, value, world};

fn wanted(running: u32, signals: &[Signal]) -> u32 {
    let workload = signals.iter().fold(server("chat").running(running), |chat, signal| chat.signal(signal.clone()));
    world().workload(workload).decision("chat").wanted.0
}

/// Source: "Algorithm details" of the Kubernetes documentation, desired = ceil(current × value / target).
#[test]
fn one_number_for_the_workload_asks_for_its_share_of_the_target() {
    let table = [
        // (running, value, target each, wanted, why)
        (4, 80.0, 10.0, 8, "twice the target"),
        (4, 20.0, 10.0, 2, "half the target"),
        (4, 41.0, 10.0, 4, "2.5 % above: within tolerance"),
        (4, 44.0, 10.0, 4, "1.1: the upper edge is within tolerance"),
        (4, 44.1, 10.0, 5, "just above 1.1"),
        (4, 36.0, 10.0, 4, "0.9: the lower edge is within tolerance"),
        (4, 35.9, 10.0, 4, "just below 0.9, but a started tenth needs a replica"),
        (10, 89.9, 10.0, 9, "just below 0.9"),
        (3, 0.0, 10.0, 0, "nothing to do"),
        (0, 0.0, 10.0, 0, "nothing to do, nothing there"),
        (0, 1.0, 10.0, 1, "from zero there is no tolerance"),
        (0, 45.0, 10.0, 5, "from zero"),
        (1, 1.1, 0.1, 11, "1.1 / 0.1 is 11 and not a little more"),
        (1, 0.3, 0.1, 3, "0.3 / 0.1 is 3 and not a little less"),
        (1, 1e18, 0.001, 2_147_483_647, "as large as a replica count can be"),
    ];
    for (running, number, target, expected, why) in table {
        assert_eq!(wanted(running, &[average("load", number, target)]), expected, "{why}");
    }
}

#[test]
fn a_value_moves_in_proportion_to_the_ready_replicas() {
    let table = [
        (4, 200.0, 100.0, 8, "twice the target"),
        (4, 50.0, 100.0, 2, "half the target"),
        (4, 110.0, 100.0, 4, "the upper edge"),
        (4, 110.1, 100.0, 5, "just above it"),
        (4, 90.0, 100.0, 4, "the lower edge"),
        (10, 89.9, 100.0, 9, "just below it"),
        (0, 250.0, 100.0, 3, "from zero the ratio itself is the number"),
        (0, 100.0, 100.0, 1, "from zero there is no tolerance"),
    ];
    for (running, number, target, expected, why) in table {
        assert_eq!(wanted(running, &[value("latency", number, target)]), expected, "{why}");
    }
    let half_ready =
        server("chat").pool(unlimited_pool().running(2).pending(2, 5)).signal(value("latency", 300.0, 100.0));
    assert_eq!(world().workload(half_ready).decision("chat").wanted.0, 6, "3 × 2 Ready replicas");
}

#[test]
fn the_number_of_replicas_can_be_the_signal() {
    assert_eq!(wanted(4, &[replicas("scale", 7.0)]), 7);
    assert_eq!(wanted(4, &[replicas("scale", 2.0)]), 2);
}

#[test]
fn one_number_a_pod_is_summed_over_the_ready_pods() {
    let table: &[(&[Option<f64>], u32, &str)] = &[
        (&[Some(20.0), Some(20.0), Some(20.0), Some(20.0)], 8, "twice the target"),
        (&[Some(5.0), Some(5.0), Some(5.0), Some(5.0)], 2, "half the target"),
        (&[Some(11.0), Some(11.0), Some(11.0), Some(11.0)], 4, "the upper edge"),
        (&[Some(9.0), Some(9.0), Some(9.0), Some(9.0)], 4, "the lower edge"),
        (&[Some(8.0), Some(8.0), Some(8.0), Some(8.0)], 4, "3.2 replicas are four"),
        (&[Some(40.0), Some(0.0), Some(0.0), Some(0.0)], 4, "one is hot, on average all is well"),
    ];
    for (rows, expected, why) in table {
        assert_eq!(wanted(4, &[each("queue", 10.0, rows)]), *expected, "{why}");
    }
}

/// Missing samples count as the target when shrinking and as nothing when growing.
#[test]
fn missing_samples_pull_towards_no_change() {
    let table: &[(&[Option<f64>], u32, &str)] = &[
        (&[Some(20.0), Some(20.0), Some(20.0), None], 6, "60 over 4 pods: 1.5"),
        (&[Some(20.0), Some(20.0), None, None], 4, "40 over 4 pods: no growth is left"),
        (&[Some(30.0), None, None, None], 4, "30 over 4 pods would shrink: no change"),
        (&[Some(1.0), Some(1.0), Some(1.0), None], 4, "1.3 replicas by HPA, but a Ready one is not seen"),
        (&[Some(10.0), Some(10.0), Some(10.0), None], 4, "exactly on target"),
    ];
    for (rows, expected, why) in table {
        assert_eq!(wanted(4, &[each("queue", 10.0, rows)]), *expected, "{why}");
    }
}

#[test]
fn pods_that_are_not_ready_only_damp_growth() {
    let wanted = |pool, rows: &[Option<f64>]| {
        let chat = server("chat").pool(pool).signal(each("queue", 10.0, rows));
        world().workload(chat).decision("chat").wanted.0
    };
    let two_ready = || unlimited_pool().running(2);

    assert_eq!(wanted(two_ready().pending(2, 5), &[Some(30.0), Some(30.0)]), 6, "60 over 4 pods: 1.5");
    assert_eq!(wanted(two_ready().starting(2, 5), &[Some(30.0), Some(30.0)]), 6, "60 over 4 pods: 1.5");
    assert_eq!(wanted(two_ready().pending(2, 5), &[Some(20.0), Some(20.0)]), 4, "40 over 4 pods: as it should be");
    assert_eq!(wanted(two_ready().pending(2, 5), &[Some(2.0), Some(2.0)]), 1, "they do not keep it from shrinking");
    assert_eq!(wanted(two_ready().ended(2), &[Some(30.0), Some(30.0)]), 6, "ended pods are no pods");
}

#[test]
fn the_largest_of_several_signals_wins() {
    let two = [average("load", 80.0, 10.0), average("tokens", 30.0, 10.0)];
    let chat = two.iter().fold(server("chat").running(4), |chat, signal| chat.signal(signal.clone()));

    let decision = world().workload(chat).decision("chat");

    assert_eq!(decision.wanted.0, 8);
    assert!(matches!(&decision.steps[0].reason, Reason::Signal { signal, .. } if signal.0 == "load"));
}

#[test]
fn a_signal_in_error_stops_shrinking_and_nothing_else() {
    let error = || broken("tokens", Reading::Failed(ReadFailure::Timeout));

    assert_eq!(wanted(4, &[average("load", 80.0, 10.0), error()]), 8, "growth goes on");
    assert_eq!(wanted(4, &[average("load", 10.0, 10.0), error()]), 4, "shrinking waits");
    assert_eq!(wanted(4, &[error(), average("load", 10.0, 10.0)]), 4, "in either order");
    assert_eq!(wanted(4, &[error(), error()]), 4, "nothing is known at all");
}
