//! What is written, and in which order.

use wellfed_engine::plan;
use wellfed_engine::policy::Mode;
use wellfed_engine::testing::{in_pool, server, world};

fn spilling() -> wellfed_engine::decision::Decision {
    let chat = server("chat")
        .pool(in_pool("od").base(2).running(2))
        .pool(in_pool("spot").spill_after(180).pending(2, 600))
        .wanting(4);
    world().pool("od", &[8]).pool("spot", &[]).workload(chat).decision("chat")
}

#[test]
fn decreases_come_first_and_each_write_tests_the_old_value() {
    let writes: Vec<_> = plan(&spilling(), Mode::Auto)
        .actions
        .into_iter()
        .map(|action| (action.pool.0, action.from.0, action.to.0))
        .collect();

    assert_eq!(writes, [("spot".to_owned(), 2, 0), ("od".to_owned(), 2, 4)]);
}

#[test]
fn only_auto_writes() {
    assert_eq!(plan(&spilling(), Mode::Recommend).actions, []);
    assert_eq!(plan(&spilling(), Mode::Paused).actions, []);
}

#[test]
fn what_does_not_differ_is_not_written() {
    let decision = world().workload(server("chat").running(4).wanting(4)).decision("chat");

    assert_eq!(plan(&decision, Mode::Auto).actions, []);
}
