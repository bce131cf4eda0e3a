//! Decisions in words, as people read them in status, logs and the terminal.

use wellfed_engine::explain;
use wellfed_engine::reading::{ReadFailure, Reading};
use wellfed_engine::testing::{broken, in_pool, secs, server, trainer, world};

#[test]
fn a_refusal_says_what_is_wrong() {
    let starved = trainer("vision-train").running(4).wanting(8).gpu_activity(0.22).cpu_of_limit(0.97).throttled(0.40);
    let world = world().workload(starved).after(3);
    let decision = world.decision("vision-train");
    let finding = &world.find("vision-train").unwrap().opinion.as_ref().unwrap().findings[0];

    assert_eq!(
        explain::sentence(&decision),
        "stays at 4 replicas (the signals ask for 8); gate: refused by DataLoader: GPUs wait for the CPU that feeds them; \
         more GPUs would wait as well"
    );
    assert_eq!(
        explain::measured(finding),
        "GPUs 22 % active, CPU at 97 % of its limit, throttled in 40 % of periods, 4 GPUs judged over 10m"
    );
}

#[test]
fn growth_says_which_signal_asked_for_it() {
    let decision = world().workload(server("chat").running(4).wanting(6)).decision("chat");

    assert_eq!(
        explain::sentence(&decision),
        "grows from 4 to 6 replicas; demand: signal load is 60 against a target of 10"
    );
}

#[test]
fn a_hold_says_what_could_not_be_read() {
    let search = server("search").running(6).signal(broken("load", Reading::Failed(ReadFailure::Http { status: 503 })));

    assert_eq!(
        explain::sentence(&world().workload(search).decision("search")),
        "stays at 6 replicas; demand: signal load can't be used: the endpoint answered HTTP 503; held"
    );
}

#[test]
fn a_full_pool_says_how_many_still_fit() {
    let chat = server("chat").pool(in_pool("h100").running(2)).wanting(6);
    let decision = world().pool("h100", &[1]).workload(chat).decision("chat");

    assert_eq!(
        explain::sentence(&decision),
        "grows from 2 to 3 replicas (the signals ask for 6); capacity: the pools have room for 1 more replicas"
    );
}

#[test]
fn every_step_has_a_line() {
    let decision = world().workload(server("chat").running(4).wanting(6)).decision("chat");

    let text = explain::steps(&decision);

    assert_eq!(text.lines().count(), 6);
    assert_eq!(text.lines().next(), Some("demand        4 → 6    signal load is 60 against a target of 10"));
}

#[test]
fn durations_and_numbers_are_short() {
    let written = [0, 59, 60, 90, 3_600, 5_400].map(|seconds| explain::duration(secs(seconds)));

    assert_eq!(written, ["0s", "59s", "1m", "1m 30s", "1h", "1h 30m"]);
    assert_eq!([0.0, 0.2, 1.0, 2.125, 640.0].map(explain::number), ["0", "0.2", "1", "2.125", "640"]);
}
