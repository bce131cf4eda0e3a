//! Public reports about other autoscalers, as far as the steps of a decision answer them. Those about the exporters of
//! GPU metrics are tested beside the evidence, those about single rules beside the rules.

use proptest::prelude::*;
use wellfed_engine::reading::{ReadFailure, Reading};
use wellfed_engine::testing::{Scenario, WorkloadBuilder, average, broken, server, unlimited_pool, value, world};

/// One cycle, fifteen seconds: what was decided runs when the next one begins.
fn followed(scenario: Scenario, next: impl Fn(u32) -> WorkloadBuilder) -> (Scenario, u32) {
    let number = scenario.decision("chat").number.0;
    (scenario.remembered(true).later(15).becomes(next(number)), number)
}

/// M13 (dynamo PR #14575): an outage of the metrics is no reason to stay below the minimum.
#[test]
fn the_minimum_holds_while_no_metric_can_be_read() {
    let failed = Reading::Failed(ReadFailure::Timeout);
    let chat = server("chat").min(4).running(2).signal(broken("load", failed));

    assert_eq!(world().workload(chat).decision("chat").number.0, 4);
}

/// F7 (kubeai #383, #382, #265): after a restart with nothing to do it still shrinks, one window later.
#[test]
fn an_idle_workload_shrinks_after_a_restart_too() {
    let idle = |running| server("chat").running(running).signal(average("load", 0.0, 10.0));
    let mut scenario = world().workload(idle(5).new_here());
    let mut number = 5;
    for _ in 0..=24 {
        (scenario, number) = followed(scenario, idle);
    }

    assert_eq!(number, 1);
}

/// F9 (aibrix PRs #2538, #2549): replicas that wait for a GPU do not keep the number up.
#[test]
fn pending_replicas_never_block_shrinking() {
    let waiting = |_| {
        let pool = unlimited_pool().running(1).pending(4, 4_200);
        server("chat").pool(pool).signal(average("load", 0.0, 10.0))
    };
    let mut scenario = world().workload(waiting(5));
    let mut number = 5;
    for _ in 0..=24 {
        (scenario, number) = followed(scenario, waiting);
    }

    assert_eq!(number, 1);
}

/// How often the number changes within an hour once it had half an hour to find its place.
fn changes_once_settled(mut scenario: Scenario, next: impl Fn(u32) -> WorkloadBuilder) -> usize {
    let mut numbers = Vec::new();
    for _ in 0..360 {
        let number;
        (scenario, number) = followed(scenario, &next);
        numbers.push(number);
    }
    numbers[120..].windows(2).filter(|pair| pair[0] != pair[1]).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// F11: a constant load makes no limit cycle, whichever kind of target carries it. Kills the mutant that applies the
    /// ratio of a proportional signal twice: it overshoots, and comes back.
    #[test]
    fn a_constant_load_settles(load in 0.0..1_000_000.0_f64, running in 1_u32..100) {
        let queue = |replicas: u32| server("chat").running(replicas).signal(average("load", load, 10_000.0));
        let shared = |replicas: u32| {
            server("chat").running(replicas).signal(value("latency", load / f64::from(replicas), 10_000.0))
        };

        prop_assert!(changes_once_settled(world().workload(queue(running)), queue) <= 1);
        prop_assert!(changes_once_settled(world().workload(shared(running)), shared) <= 1);
    }
}
