//! Decisions in words, as people read them in status, logs and the terminal.

use wellfed_engine::decision::Reason;
use wellfed_engine::explain;
use wellfed_engine::figures::WorkUnit;
use wellfed_engine::gate::{Ceiling, Check, Gain};
use wellfed_engine::memory::Moment;
use wellfed_engine::opinion::Gap;
use wellfed_engine::policy::GateMode;
use wellfed_engine::reading::{ReadFailure, Reading};
use wellfed_engine::rules::{RULES, RuleName};
use wellfed_engine::testing::{at, broken, in_pool, secs, server, trainer, world};
use wellfed_engine::units::Replicas;

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
fn a_refusal_says_what_becomes_of_more_gpus_for_this_cause() {
    let refused = |rule| explain::reason(&Reason::GateRefused { rule, mode: GateMode::Enforce });

    assert!(refused(RuleName::StorageStall).ends_with("; more GPUs would wait as well"));
    assert!(refused(RuleName::GpuOutOfMemory).ends_with("; more replicas have no more memory each"));
}

#[test]
fn a_ceiling_says_where_growth_ends() {
    let gain = Gain {
        from: Replicas(4),
        to: Replicas(8),
        before: 400.0,
        after: 392.0,
        unit: WorkUnit::Tokens,
        checks: [Check::Unknown; 3],
    };
    let ceiling = Ceiling { at: Moment(at(0)), replicas: Replicas(8), gain };
    let reason = Reason::Ceiling { wanted: Replicas(16), ceiling, until: Moment(at(1_800)) };

    assert_eq!(
        explain::reason(&reason),
        "growing from 4 to 8 replicas changed 400 tokens a second to 392; no growth above 8 replicas until \
         2023-11-14T22:43:20Z"
    );
}

#[test]
fn without_a_verdict_it_says_what_is_missing() {
    assert_eq!(explain::gap(Gap::NotAsked), "no evidence since demand exceeded its target");
    assert_eq!(
        explain::gap(Gap::Contradiction { gpus: 4 }),
        "at 4 GPUs counters contradict each other, or power is missing: restart the exporter, and see that it sends power"
    );
    assert_eq!(
        explain::gap(Gap::Unattributed { expected: 8 }),
        "GPUs report, and no series carries a pod of this workload, which has 8: give the exporter access to the kubelet's \
         pod resources, and let the scrape keep its pod labels"
    );
    assert_eq!(
        explain::gap(Gap::TooShort { covered: secs(60), needed: secs(300) }),
        "1m of evidence, 5m needed: wait, or shorten gate.window"
    );
}

#[test]
fn each_cause_has_its_own_consequence_and_waiting_is_that_of_those_for_which_gpus_wait() {
    let says = |name: RuleName| RULES.iter().find(|rule| rule.name() == name).map(|rule| rule.consequence());

    assert_eq!(says(RuleName::StorageStall), Some("more GPUs would wait as well"));
    assert_eq!(says(RuleName::GpuOutOfMemory), Some("more replicas have no more memory each"));
    assert_eq!(says(RuleName::Imbalance), Some("one more replica would be one more idle one"));
    let own = RULES.iter().filter(|rule| rule.consequence() != "more GPUs would wait as well").count();
    assert_eq!(own, 9);
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
    assert_eq!([0.0104, 0.05, -0.0012, 1e-12].map(explain::number), ["0.0104", "0.05", "-0.0012", "0"]);
}
