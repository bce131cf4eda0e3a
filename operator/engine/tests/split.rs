//! Which pool takes which replicas.

use wellfed_engine::decision::{Decision, Reason};
use wellfed_engine::testing::{PoolBuilder, Scenario, in_pool, server, world};
use wellfed_engine::units::Replicas;

/// Two pools with much room.
fn roomy() -> Scenario {
    world().pool("od", &[8; 4]).pool("spot", &[8; 4])
}

fn split(world: Scenario, pools: [PoolBuilder; 2], wanted: u32) -> (u32, u32) {
    let decision = decided(world, pools, wanted);
    (decision.pools[0].to.0, decision.pools[1].to.0)
}

fn decided(world: Scenario, pools: [PoolBuilder; 2], wanted: u32) -> Decision {
    let chat = pools.into_iter().fold(server("chat").wanting(wanted), wellfed_engine::testing::WorkloadBuilder::pool);
    let unhurried = chat.policy(|policy| {
        policy.behavior.up.policies.clear();
        policy.behavior.down.window = wellfed_engine::testing::secs(0);
    });
    world.workload(unhurried).decision("chat")
}

#[test]
fn the_base_is_filled_first_and_the_rest_goes_to_the_pools_without_one() {
    let table = [(1, (1, 0)), (2, (2, 0)), (3, (2, 1)), (9, (2, 7))];
    for (wanted, expected) in table {
        assert_eq!(split(roomy(), [in_pool("od").base(2), in_pool("spot")], wanted), expected, "{wanted}");
    }
}

#[test]
fn pools_without_a_base_are_filled_in_their_order() {
    assert_eq!(split(roomy(), [in_pool("od"), in_pool("spot")], 9), (9, 0));
    assert_eq!(split(roomy(), [in_pool("od").max(4), in_pool("spot")], 9), (4, 5));
}

#[test]
fn what_the_first_does_not_hold_goes_to_the_next() {
    let small = || world().pool("od", &[8]).pool("spot", &[3]);

    assert_eq!(
        split(small(), [in_pool("od").base(2), in_pool("spot")], 9),
        (6, 3),
        "spot is full, so on-demand takes it"
    );
    assert_eq!(split(small(), [in_pool("od").base(2), in_pool("spot")], 90), (8, 3), "both are full");
}

#[test]
fn a_base_without_room_is_placed_elsewhere() {
    let full = || world().pool("od", &[0]).pool("spot", &[8]);

    assert_eq!(split(full(), [in_pool("od").base(2), in_pool("spot").running(1)], 4), (0, 4));
}

#[test]
fn a_percentage_is_of_the_number_and_rounded_down() {
    let table = [(1, (1, 0)), (2, (1, 1)), (4, (1, 3)), (5, (1, 4)), (9, (2, 7)), (10, (2, 8))];
    for (wanted, expected) in table {
        assert_eq!(
            split(roomy(), [in_pool("od").base(0), in_pool("spot").max_percent(80)], wanted),
            expected,
            "{wanted}"
        );
    }
}

#[test]
fn it_shrinks_in_the_opposite_order() {
    let running = |od, spot| [in_pool("od").base(2).running(od), in_pool("spot").running(spot)];

    assert_eq!(split(roomy(), running(5, 4), 7), (3, 4), "on-demand above its base goes first");
    assert_eq!(split(roomy(), running(5, 4), 4), (2, 2), "then spot");
    assert_eq!(split(roomy(), running(5, 4), 1), (1, 0), "the base goes last");
    let no_base = [in_pool("od").running(3), in_pool("spot").running(3)];
    assert_eq!(split(roomy(), no_base, 2), (2, 0), "without a base the last pool goes first");
}

#[test]
fn replicas_that_are_not_ready_are_taken_back_first() {
    let pools = [in_pool("od").base(2).running(2), in_pool("spot").running(2).pending(2, 5)];
    assert_eq!(split(roomy(), pools, 4), (2, 2));
    let pools = [in_pool("od").base(2).running(1).pending(1, 5), in_pool("spot").running(2)];
    assert_eq!(split(roomy(), pools, 3), (1, 2), "even where they are the base");
}

#[test]
fn nothing_moves_when_the_number_stays() {
    assert_eq!(split(roomy(), [in_pool("od").base(2).running(1), in_pool("spot").running(4)], 5), (1, 4));
}

#[test]
fn a_pool_above_its_maximum_gives_up_what_is_too_much() {
    assert_eq!(split(roomy(), [in_pool("od").base(1).running(1), in_pool("spot").max(2).running(4)], 5), (3, 2));
}

#[test]
fn replicas_that_do_not_start_are_placed_elsewhere_once_they_are_late() {
    let pools =
        |seconds| [in_pool("od").base(2).running(2), in_pool("spot").spill_after(180).running(1).pending(2, seconds)];
    let late = decided(roomy(), pools(180), 5);

    assert_eq!(split(roomy(), pools(179), 5), (2, 3));
    assert_eq!((late.pools[0].to.0, late.pools[1].to.0), (4, 1));
    assert_eq!(late.steps[5].reason, Reason::Spilled { pool: "spot".into(), replicas: Replicas(2) });
    assert_eq!(late.number.0, 5);
}

#[test]
fn they_are_moved_only_as_far_as_there_is_room_elsewhere() {
    let pools = || [in_pool("od").base(2).running(2), in_pool("spot").spill_after(180).running(1).pending(2, 600)];
    let room_for = |gpus| world().pool("od", &[gpus]).pool("spot", &[8]);

    assert_eq!(split(room_for(1), pools(), 5), (3, 2));
    assert_eq!(split(room_for(0), pools(), 5), (2, 3));
}

#[test]
fn without_a_deadline_they_wait() {
    assert_eq!(split(roomy(), [in_pool("od").running(2), in_pool("spot").pending(2, 6_000)], 4), (2, 2));
}

#[test]
fn a_pool_whose_own_replicas_do_not_start_takes_none_from_others() {
    let stuck = |name| in_pool(name).spill_after(180).running(1).pending(1, 600);

    assert_eq!(split(roomy(), [stuck("od"), stuck("spot")], 4), (2, 2));
}

#[test]
fn the_room_elsewhere_is_handed_out_once() {
    let stuck = |name: &str| in_pool(name).spill_after(180).pending(2, 600);
    let chat = server("chat").pool(stuck("a")).pool(stuck("b")).pool(in_pool("c").running(1)).wanting(5);

    let decision = world().pool("a", &[]).pool("b", &[]).pool("c", &[3]).workload(chat).decision("chat");

    let targets: Vec<_> = decision.pools.iter().map(|pool| pool.to.0).collect();
    assert_eq!(targets, [0, 1, 4]);
}

#[test]
fn what_is_not_wanted_any_more_is_taken_back_and_not_moved() {
    let decision = decided(roomy(), [in_pool("od").running(2), in_pool("spot").spill_after(180).pending(2, 600)], 2);

    assert_eq!((decision.pools[0].to.0, decision.pools[1].to.0), (2, 0));
    assert_eq!(decision.memory.spilled.len(), 0);
}

#[test]
fn a_pool_that_failed_to_start_replicas_is_tried_again_only_after_a_while() {
    let chat = |od, spot: PoolBuilder, wanted| {
        server("chat").pool(in_pool("od").base(2).running(od)).pool(spot.spill_after(180)).wanting(wanted)
    };
    let spilled = roomy().workload(chat(2, in_pool("spot").pending(2, 180), 4)).remembered(true);
    let moved = spilled.becomes(chat(4, in_pool("spot"), 6));
    let to = |decision: Decision| (decision.pools[0].to.0, decision.pools[1].to.0);

    assert_eq!(to(moved.clone().later(899).decision("chat")), (6, 0));
    assert_eq!(to(moved.later(900).decision("chat")), (4, 2));
}

/// A pool that has been short of pods does not make replicas late that were asked for just now.
#[test]
fn new_replicas_get_their_whole_time_to_start() {
    let chat = |spot: PoolBuilder, wanted| {
        server("chat").pool(in_pool("od").base(1).running(1)).pool(spot.spill_after(180)).wanting(wanted)
    };
    let growing = roomy().workload(chat(in_pool("spot").running(1).starting(1, 100), 3)).remembered(true);
    let asked = growing.later(170).becomes(chat(in_pool("spot").running(2).asked(4), 5)).later(10);

    assert_eq!(asked.decision("chat").pools[1].to.0, 4);
}
