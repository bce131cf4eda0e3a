//! Whether there are GPUs: whole replicas, on one node each, that nobody else has.

use wellfed_engine::decision::{Reason, Step};
use wellfed_engine::policy::Mode;
use wellfed_engine::testing::{Scenario, in_pool, server, world};
use wellfed_engine::units::Replicas;

fn wanting(wanted: u32) -> wellfed_engine::testing::WorkloadBuilder {
    server("chat").pool(in_pool("h100").running(2)).wanting(wanted).policy(|policy| policy.behavior.up.policies.clear())
}

fn number(world: &Scenario) -> u32 {
    world.decision("chat").number.0
}

#[test]
fn it_grows_into_what_is_free_and_no_further() {
    let decision = world().pool("h100", &[4, 1]).workload(wanting(20)).decision("chat");

    assert_eq!(decision.number.0, 7);
    assert_eq!(decision.binding(), Step::Capacity);
    assert_eq!(decision.steps[4].reason, Reason::NoCapacity { room: Replicas(5) });
}

/// What other owners' pods use is not free: the node's free count is already without it.
#[test]
fn gpus_that_others_use_are_not_there() {
    assert_eq!(number(&world().pool("h100", &[0, 0]).workload(wanting(20))), 2);
}

#[test]
fn a_replica_needs_all_its_gpus_on_one_node() {
    let table = [(8, &[4, 4][..], 2), (8, &[8, 4], 3), (4, &[7, 7, 3], 4), (3, &[8], 4), (2, &[1, 1, 1, 1], 2)];
    for (each, free, expected) in table {
        let decision = world().pool("h100", free).workload(wanting(20).gpus_each(each)).decision("chat");
        assert_eq!((decision.number.0, decision.steps[4].after.0), (expected, expected), "{each} {free:?}");
    }
}

/// MIG instances and places on shared GPUs: nobody counts them, which does not mean that there are none.
#[test]
fn parts_of_gpus_are_limited_by_the_pools_limit_alone() {
    let parts = || wanting(20).policy(|policy| policy.whole_gpus = false);
    let unknown = world().pool("h100", &[]).workload(parts()).decision("chat");
    assert_eq!((unknown.number.0, &unknown.steps[4].reason), (20, &Reason::RoomUnknown));

    let limited = world().pool("h100", &[]).limit("h100", 5).workload(parts()).decision("chat");
    assert_eq!((limited.number.0, &limited.steps[4].reason), (5, &Reason::NoCapacity { room: Replicas(3) }));
    let older = parts().created(-1);
    let both = world()
        .pool("h100", &[1])
        .workload(older)
        .workload(server("whole").pool(in_pool("h100").running(1)).wanting(4));
    assert_eq!(both.decision("whole").number.0, 2, "they take no whole GPU of a node");
}

#[test]
fn replicas_that_wait_for_a_node_have_its_room_already() {
    let chat = server("chat").pool(in_pool("h100").running(2).pending(3, 20)).wanting(8);

    assert_eq!(number(&world().pool("h100", &[4]).workload(chat)), 6);
}

#[test]
fn replicas_without_a_pod_have_their_room_already() {
    let chat = server("chat").pool(in_pool("h100").running(2).asked(5)).wanting(8);

    assert_eq!(number(&world().pool("h100", &[4]).workload(chat)), 6);
}

#[test]
fn older_workloads_are_served_first() {
    let older = server("older").created(-2).pool(in_pool("h100").running(1)).wanting(4);
    let newer = server("newer").created(-1).pool(in_pool("h100").running(1)).wanting(4);

    let world = world().pool("h100", &[4]).workload(newer).workload(older);

    assert_eq!((world.decision("older").number.0, world.decision("newer").number.0), (4, 2));
}

#[test]
fn what_is_only_recommended_takes_no_room_from_what_is_written() {
    let trial = server("trial").created(-2).mode(Mode::Recommend).pool(in_pool("h100").running(1)).wanting(4);
    let chat = server("chat").created(-1).pool(in_pool("h100").running(1)).wanting(4);

    let world = world().pool("h100", &[4]).workload(trial).workload(chat);

    assert_eq!((world.decision("trial").number.0, world.decision("chat").number.0), (2, 4));
}

#[test]
fn a_limit_counts_what_all_workloads_ask_for() {
    let other = server("other").created(-90_000).pool(in_pool("h100").running(3)).wanting(3);

    assert_eq!(number(&world().pool("h100", &[90]).limit("h100", 10).workload(wanting(20)).workload(other)), 7);
}

#[test]
fn the_minimum_is_asked_for_whether_or_not_there_is_room() {
    let decision = world().pool("h100", &[1]).workload(wanting(20).min(6)).decision("chat");

    assert_eq!(decision.number.0, 6);
    assert_eq!(decision.pools[0].to.0, 6);
}

#[test]
fn what_runs_already_is_not_taken_back_for_lack_of_room() {
    let chat = server("chat").pool(in_pool("h100").running(2).pending(3, 20)).wanting(5);

    assert_eq!(number(&world().pool("h100", &[0]).workload(chat)), 5);
}

#[test]
fn an_unknown_pool_has_no_room_and_a_workload_without_pools_has_no_limit() {
    assert_eq!(number(&world().workload(wanting(8))), 2);

    let decision = world().workload(server("chat").running(4).wanting(8)).decision("chat");
    assert_eq!((decision.number.0, &decision.steps[4].reason), (8, &Reason::Unlimited));
}

#[test]
fn pools_that_share_a_node_do_not_hand_out_its_gpus_twice() {
    let chat = server("chat").pool(in_pool("a").running(1)).pool(in_pool("b")).wanting(9);
    let mut scenario = world().pool("a", &[2]).pool("b", &[]).workload(chat.policy(|p| p.behavior.up.policies.clear()));
    let nodes = scenario.world.pools[&"a".into()].nodes.clone();
    scenario.world.pools.get_mut(&"b".into()).unwrap().nodes = nodes;

    assert_eq!(number(&scenario), 3);
}

#[test]
fn a_node_that_is_listed_twice_counts_once() {
    let mut scenario = world().pool("h100", &[2]).workload(wanting(9));
    let pool = scenario.world.pools.get_mut(&"h100".into()).unwrap();
    pool.nodes.push(pool.nodes[0].clone());

    assert_eq!(number(&scenario), 4);
}
