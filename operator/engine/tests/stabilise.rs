//! How fast the number may move: HPA's behaviour block, and what a new workload may not do.

use wellfed_engine::decision::{Direction, Reason, Step};
use wellfed_engine::memory::{Memory, VERSION};
use wellfed_engine::policy::{Pace, Select};
use wellfed_engine::testing::{Scenario, behavior, each, pace, percent, pods, secs, server, unlimited_pool, world};

/// A workload that runs and has wanted the same for ten minutes.
fn steady(replicas: u32) -> Scenario {
    world().workload(server("chat").running(replicas).wanting(replicas)).remembered(false).later(600)
}

fn wanting(scenario: Scenario, running: u32, wanted: u32) -> Scenario {
    scenario.becomes(server("chat").running(running).wanting(wanted))
}

#[test]
fn it_shrinks_only_when_nothing_higher_was_wanted_for_five_minutes() {
    let dropped = wanting(steady(8).remembered(false), 8, 3).remembered(false);
    let held = dropped.clone().later(299).decision("chat");
    let free = dropped.later(300).decision("chat");

    assert_eq!((held.wanted.0, held.number.0), (3, 8));
    assert_eq!(held.steps[1].reason, Reason::Window { direction: Direction::Down, window: secs(300) });
    assert_eq!(free.number.0, 3);
}

/// F3 (kthena #1644): the window keeps what was wanted, not what it held, so it drains.
#[test]
fn a_held_number_does_not_feed_itself() {
    let mut scenario = wanting(steady(8).remembered(false), 8, 3);
    for _ in 0..61 {
        scenario = scenario.remembered(false).later(5);
    }

    assert_eq!(scenario.decision("chat").number.0, 3);
}

#[test]
fn the_highest_of_the_window_is_where_it_stops() {
    let mut scenario = steady(8).remembered(false);
    for wanted in [8, 5, 2] {
        scenario = wanting(scenario, 8, wanted).remembered(false).later(150);
    }

    assert_eq!(scenario.decision("chat").number.0, 5);
}

/// A burst asks for ten, and is over while they start: once they are Ready, and seen, what was needed meanwhile is enough.
#[test]
fn what_a_burst_asked_for_is_given_back_when_it_is_ready_and_not_a_window_later() {
    let chat = |pool, rows: &[_]| server("chat").pool(pool).signal(each("queue", 10.0, rows));
    let two = || unlimited_pool().running(2);
    let before = world().workload(chat(two(), &[Some(10.0); 2])).remembered(false).later(600).remembered(false);
    let mut scenario = before.later(15).becomes(chat(two().asked(10), &[Some(50.0); 2])).remembered(false);
    for _ in 0..20 {
        scenario = scenario.later(15).becomes(chat(two().starting(8, 15), &[Some(14.0); 2]));
        assert_eq!(scenario.decision("chat").number.0, 10, "those that start are waited for");
        scenario = scenario.remembered(false);
    }

    let ready = chat(unlimited_pool().running(10), &[Some(1.4); 10]);
    let decision = scenario.later(15).becomes(ready).decision("chat");

    assert_eq!((decision.wanted.0, decision.number.0), (2, 3));
}

#[test]
fn an_upward_window_takes_the_lowest_of_the_window() {
    let slow = |wanted| server("chat").running(4).wanting(wanted).policy(|policy| policy.behavior.up.window = secs(60));
    let scenario = world().workload(slow(4)).remembered(false).later(60);
    let jumped = scenario.becomes(slow(8)).remembered(false);

    assert_eq!(jumped.clone().later(50).decision("chat").number.0, 4);
    assert_eq!(jumped.later(61).decision("chat").number.0, 8);
}

/// HPA's defaults: the larger of 100 % and 4 pods in 15 s.
#[test]
fn by_default_it_grows_by_the_larger_of_four_and_as_many_again() {
    let table = [(1, 50, 5), (3, 50, 7), (4, 50, 8), (10, 50, 20), (10, 15, 15), (0, 50, 4)];
    for (running, wanted, expected) in table {
        let decision = world().workload(server("chat").running(running).wanting(wanted)).decision("chat");

        assert_eq!(decision.number.0, expected, "{running} running, {wanted} wanted");
    }
}

fn grown(up: Pace, running: u32, wanted: u32) -> u32 {
    let chat = server("chat").running(running).wanting(wanted).policy(|policy| policy.behavior.up = up);
    world().workload(chat).decision("chat").number.0
}

fn shrunk(down: Pace, running: u32, wanted: u32) -> u32 {
    let chat = server("chat").running(running).wanting(wanted).policy(|policy| policy.behavior.down = down);
    world().workload(chat).decision("chat").number.0
}

#[test]
fn policies_limit_each_direction() {
    let select = |pace: Pace, select| Pace { select, ..pace };
    let both = || pace(0, &[percent(50, 60), pods(3, 60)]);

    assert_eq!(grown(both(), 10, 50), 15, "the larger of +5 and +3");
    assert_eq!(grown(select(both(), Select::Min), 10, 50), 13, "the smaller");
    assert_eq!(grown(select(both(), Select::Disabled), 10, 50), 10, "not at all");
    assert_eq!(grown(pace(0, &[]), 10, 50), 50, "no policy is no limit");
    assert_eq!(grown(pace(0, &[percent(10, 60)]), 15, 50), 17, "16.5, rounded up");
    assert_eq!(shrunk(both(), 10, 1), 5, "the larger of −5 and −3");
    assert_eq!(shrunk(select(both(), Select::Min), 10, 1), 7, "the smaller");
    assert_eq!(shrunk(select(both(), Select::Disabled), 10, 1), 10, "not at all");
    assert_eq!(shrunk(pace(0, &[]), 10, 1), 1, "no policy is no limit");
    assert_eq!(shrunk(pace(0, &[percent(10, 60)]), 15, 1), 13, "13.5, rounded down");
    assert_eq!(shrunk(pace(0, &[percent(200, 60)]), 15, 1), 1, "more than all is all");
}

#[test]
fn a_disabled_direction_says_so() {
    let chat = server("chat").running(4).wanting(8).policy(|policy| policy.behavior.up.select = Select::Disabled);

    let decision = world().workload(chat).decision("chat");

    assert_eq!(decision.number.0, 4);
    assert_eq!(decision.steps[1].reason, Reason::DirectionDisabled { direction: Direction::Up });
}

#[test]
fn a_period_counts_from_what_ran_at_its_start() {
    let slow = || server("chat").wanting(50).policy(|policy| policy.behavior.up = pace(0, &[pods(4, 60)]));
    let first = world().workload(slow().running(2)).remembered(true);
    let soon = first.clone().later(59).decision("chat");
    let next = first.later(60).decision("chat");

    assert_eq!((soon.current.0, soon.number.0), (6, 6));
    assert_eq!(soon.steps[1].reason, Reason::RateLimited { direction: Direction::Up });
    assert_eq!(next.number.0, 10);
}

#[test]
fn what_was_not_written_is_not_counted() {
    let slow = server("chat").running(2).wanting(50).policy(|policy| policy.behavior.up = pace(0, &[pods(4, 60)]));

    assert_eq!(world().workload(slow).remembered(false).later(5).decision("chat").number.0, 6);
}

#[test]
fn a_percentage_of_four_billion_is_still_a_number() {
    assert_eq!(grown(pace(0, &[percent(u32::MAX, 60)]), 4, 90), 90);
}

/// Adoption never shrinks: not before one whole scale-down window of known readings.
#[test]
fn a_new_workload_does_not_shrink_in_its_first_window() {
    let mut scenario = world().workload(server("chat").running(8).wanting(2).new_here());
    for _ in 0..60 {
        let decision = scenario.decision("chat");
        assert_eq!(decision.number.0, 8);
        assert_eq!(decision.binding(), Step::Stabilise);
        scenario = scenario.remembered(true).later(5);
    }

    assert_eq!(scenario.decision("chat").number.0, 2);
}

#[test]
fn a_gap_in_the_readings_starts_the_first_window_anew() {
    let chat = |second| server("chat").running(8).new_here().signal(each("queue", 10.0, &[second; 8]));
    let known = chat(Some(1.0));
    let mut scenario = world().workload(known.clone()).remembered(true).later(200);
    scenario = scenario.becomes(chat(None)).remembered(true).later(5).becomes(known).remembered(true);

    assert_eq!(scenario.clone().later(299).decision("chat").number.0, 8);
    assert_eq!(scenario.later(300).decision("chat").number.0, 1);
}

#[test]
fn what_somebody_adds_by_hand_in_the_first_window_is_not_taken_back_in_it() {
    let chat = |running| server("chat").running(running).wanting(2).new_here();
    let mut scenario = world().workload(chat(8)).remembered(true).later(100).becomes(chat(12));
    for _ in 0..20 {
        assert_eq!(scenario.decision("chat").number.0, 12);
        scenario = scenario.remembered(true).later(10).remembered(true);
    }

    assert_eq!(scenario.decision("chat").number.0, 2);
}

#[test]
fn a_new_workload_grows_at_once() {
    assert_eq!(world().workload(server("chat").running(4).wanting(8).new_here()).decision("chat").number.0, 8);
}

/// A version that is not ours is forgotten, which is the same as new: it holds for one window.
#[test]
fn a_memory_of_another_version_holds_for_one_window() {
    let other = Memory { version: VERSION + 1, ..Memory::default() };
    let text = serde_json::to_string(&other).unwrap();

    let read = Memory::parse(&text, |text| serde_json::from_str(text).ok());

    assert_eq!(read, None);
    let adopted = world().workload(server("chat").running(8).wanting(2).remembering(read.unwrap_or_default()));
    assert_eq!(adopted.decision("chat").number.0, 8);
}

/// F11: constant load settles, whatever it is.
#[test]
fn constant_load_changes_the_number_at_most_once_after_it_has_settled() {
    for load in [0.0, 0.1, 9.9, 10.0, 11.0, 11.1, 95.0, 99.0, 110.0, 999.0, 1_000_000.0] {
        let mut scenario = world().workload(
            server("chat").max(1_000).running(5).signal(wellfed_engine::testing::average("load", load, 10.0)),
        );
        let mut changes = Vec::new();
        for cycle in 0..720 {
            let decision = scenario.decision("chat");
            if decision.changes() {
                changes.push(cycle);
            }
            scenario = scenario.remembered(true).later(5);
        }
        let late = changes.iter().filter(|cycle| **cycle > 150).count();

        assert_eq!(late, 0, "load {load}: {changes:?}");
    }
}

#[test]
fn the_defaults_are_those_of_hpa() {
    let defaults = behavior();

    assert_eq!((defaults.up.window, defaults.down.window), (secs(0), secs(300)));
    assert_eq!(defaults.up.policies, [percent(100, 15), pods(4, 15)]);
}
