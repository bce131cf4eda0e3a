//! What is kept in status: small, and the same after it was written and read.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use wellfed_engine::evidence::ServerEvidence;
use wellfed_engine::figures::{Figures, SignalFigures, Throughput, WorkUnit, Worse};
use wellfed_engine::gate::{Cause, Ceiling, Check, Fate, Gain, GateMemory, Life, Passed, Retest, Waits};
use wellfed_engine::memory::{Adoption, Change, Memory, Moment, VERSION};
use wellfed_engine::opinion::{Confidence, Finding, Lean, Opinion, Weight};
use wellfed_engine::policy::Select;
use wellfed_engine::rules::{RULES, Rule, RuleName};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{
    Scenario, WorkloadBuilder, at, average, in_pool, pace, pods, secs, server, trainer, world,
};
use wellfed_engine::units::Replicas;
use wellfed_engine::world::Workload;

fn text(memory: &Memory) -> String {
    serde_json::to_string(memory).unwrap()
}

fn read(text: &str) -> Memory {
    Memory::parse(text, |text| serde_json::from_str(text).ok()).unwrap()
}

fn memory<'a>(scenario: &'a Scenario, name: &str) -> &'a Memory {
    &scenario.find(name).unwrap().memory
}

/// The operator is killed and starts again: nothing but the memory in status survives.
fn restarted(scenario: Scenario, name: &str) -> Scenario {
    scenario.change(name, |workload| workload.memory = read(&text(&workload.memory)))
}

#[test]
fn a_quiet_workload_remembers_next_to_nothing() {
    let quiet = (0..100)
        .fold(world().workload(server("chat").running(4).wanting(4)), |quiet, _| quiet.later(5).remembered(true));

    assert_eq!(
        text(memory(&quiet, "chat")),
        r#"{"version":3,"adoption":"Done","desires":[[1700000005000,4,4]],"gate":{}}"#
    );
}

#[test]
fn a_damaged_or_foreign_memory_is_forgotten() {
    let parse = |text: &str| Memory::parse(text, |text| serde_json::from_str(text).ok());
    let foreign = text(&Memory { version: VERSION + 1, ..Memory::default() });

    assert_eq!(parse(""), None);
    assert_eq!(parse("{"), None);
    assert_eq!(parse(&foreign), None);
    assert_eq!(parse(&text(&Memory::default())), Some(Memory::default()));
}

/// F7 (kubeai #383, #382, #265): a restart loses no window, no veto and no rate.
#[test]
fn a_restart_changes_no_decision() {
    let starved = trainer("vision-train").running(4).wanting(8).gpu_activity(0.2212).throttled(0.4047);
    let slow = server("chat").running(2).wanting(50).policy(|policy| policy.behavior.up = pace(0, &[pods(4, 60)]));
    let mut uninterrupted = world().workload(starved).workload(slow).later(3);
    uninterrupted.world.now += secs(1) / 7;
    let mut killed = uninterrupted.clone();
    for _ in 0..40 {
        uninterrupted = uninterrupted.later(13).evaluated().remembered(true);
        killed = restarted(restarted(killed.later(13).evaluated().remembered(true), "chat"), "vision-train");

        assert_eq!(killed.decision("chat"), uninterrupted.decision("chat"));
        assert_eq!(killed.decision("vision-train"), uninterrupted.decision("vision-train"));
    }
}

/// Growth on trial, its ceiling, a new pod template and the retest that follows.
#[test]
fn a_restart_changes_no_trial_and_no_retest() {
    let chat = |replicas: u32, each: f64| {
        let says = ServerEvidence { progress: Some(Span::exact(each)), ..ServerEvidence::default() };
        server("chat").running(replicas).wanting(40).serving(says).busy()
    };
    let slow = |template: &str| {
        chat(8, 49.0 / 3.0).template(template).gpu_activity(1.0 / 3.0).cpu_of_limit(0.97).throttled(0.4047)
    };
    let small = world().workload(chat(4, 100.0 / 3.0).template("one")).after(1).remembered(true);
    let mut through = small.becomes(chat(8, 49.0 / 3.0).template("one"));
    through.world.now += secs(1) / 7;
    let mut killed = through.clone();
    let lives = vec![chat(8, 49.0 / 3.0).template("one"), slow("one"), slow("two"), chat(8, 50.0).template("three")];
    let mut seen = (false, false);
    for life in lives {
        (through, killed) = (through.becomes(life.clone()), killed.becomes(life));
        for _ in 0..12 {
            through = through.later(61).evaluated().remembered(false);
            killed = restarted(killed.later(61).evaluated().remembered(false), "chat");

            assert_eq!(killed.decision("chat"), through.decision("chat"));
            let gate = &memory(&through, "chat").gate;
            seen = (seen.0 || gate.ceiling.is_some(), seen.1 || gate.retest.is_some());
        }
    }

    assert_eq!(seen, (true, true));
}

/// F7: load 0 and five replicas after a restart still shrink after the window.
#[test]
fn idle_replicas_still_go_after_a_restart() {
    let busy_then_idle = world().workload(server("chat").running(5).wanting(5)).remembered(true).later(600);
    let idle = busy_then_idle.becomes(server("chat").running(5).wanting(1)).later(100).remembered(true);

    let later = restarted(idle, "chat").later(301);

    assert_eq!(later.decision("chat").number.0, 1);
}

#[test]
fn adoption_ends_and_is_not_begun_again_by_a_gap() {
    let chat = |wanted| server("chat").running(4).wanting(wanted);
    let settled = world().workload(chat(4).new_here()).remembered(true).later(300).remembered(true);

    assert_eq!(memory(&settled, "chat").adoption, Adoption::Done);
    let gap = settled.becomes(server("chat").running(4).signal(average("load", f64::NAN, 10.0))).remembered(true);
    assert_eq!(memory(&gap, "chat").adoption, Adoption::Done);
}

#[test]
fn pools_that_are_gone_are_forgotten() {
    let chat = |pool: &str| server("chat").pool(in_pool(pool).running(1).asked(3)).wanting(3);
    let short = world().workload(chat("old")).remembered(true);
    let moved = short.clone().becomes(chat("new")).remembered(true);
    let pools =
        |scenario: &Scenario| memory(scenario, "chat").short.keys().map(ToString::to_string).collect::<Vec<_>>();

    assert_eq!(pools(&short), ["old"]);
    assert_eq!(pools(&moved), ["new"]);
}

/// The worst that the API allows: eight pools with names of 63 characters, a number that changes at every cycle under a
/// policy that looks back half an hour, ten rules firing or ten findings under test.
#[test]
fn the_worst_memory_fits_into_four_kibibytes() {
    let pool = |number: usize| in_pool(&format!("{number}{}", "p".repeat(62))).spill_after(1).asked(1_250);
    let cruel = |load: f64| -> WorkloadBuilder {
        let pools = (0..8).map(pool);
        let workload = trainer("cruel").max(10_000).signal(average("load", load, 10.0)).busy().policy(|policy| {
            policy.behavior.up = pace(1_800, &[pods(2_000_000_000, 1_800)]);
            policy.behavior.down = policy.behavior.up.clone();
            policy.behavior.down.select = Select::Min;
        });
        pools.fold(workload, WorkloadBuilder::pool)
    };
    let mut scenario = world().workload(cruel(1.0));
    let mut largest = 0;
    for cycle in 0..1_000_u32 {
        scenario = scenario.becomes(cruel(f64::from(cycle * 7_919 % 1_000) * 20_000_000.0)).later(5).evaluated();
        scenario = scenario.change("cruel", all_at_once).remembered(true);
        largest = largest.max(text(memory(&scenario, "cruel")).len());
    }

    let kept = memory(&scenario, "cruel");
    assert_eq!((kept.gate.counts.len(), kept.short.len(), kept.spilled.len(), kept.ups.len()), (10, 8, 8, 12));
    let retested = text(&Memory { gate: everything_under_test(), ..kept.clone() }).len();
    assert!(largest <= 4_096 && retested <= 4_096, "{largest} and {retested} bytes: {}", text(kept));
}

/// Of eight targets.
fn revisions() -> String {
    ["01234567:1234"; 8].join(",")
}

/// At their longest.
fn every_figure() -> Figures {
    let work = Throughput {
        unit: WorkUnit::TrainedTokens,
        total: 0.001_234_56,
        replicas: 10_000,
        spread: Some(0.000_123_456),
    };
    Figures {
        throughput: Some(work),
        activity: Some(0.001_234_56),
        latency: Some(0.001_234_56),
        memory: Some(0.001_234_56),
        quality: Some(-0.001_234_56),
        signals: SignalFigures {
            throughput: Some(123_456.0),
            latency: Some(0.001_234_56),
            quality: Some(-0.001_234_56),
            replicas: Some(10_000),
        },
    }
}

/// Ten findings that a new pod template made worse, every figure known and a ceiling in force; there is no trial then.
fn everything_under_test() -> GateMemory {
    let now = Moment(at(86_400));
    let figures = every_figure();
    let longest = RuleName::LatencyNotQueueBound;
    let fate = Fate::Worse(now, Worse::Throughput);
    let life = Life { rule: longest, weight: Weight::Support, first: now, last: now, fate };
    let (from, to) = (Replicas(9_999), Replicas(10_000));
    let gain = Gain {
        from,
        to,
        before: 0.001_234_56,
        after: 0.001_234_57,
        unit: WorkUnit::TrainedTokens,
        checks: [Check::Unknown; 3],
    };
    GateMemory {
        sources: serde_json::from_str("[255,2047]").unwrap(),
        counted: Some(now),
        lean: Some(Lean::Refuse(longest)),
        passed: Some(Passed { by: Some(longest) }),
        counts: Vec::new(),
        figures: Some(figures),
        waits: Some(Waits {
            queue: Some(0.001_234_56),
            whole: Some(0.001_234_56),
            told: Some(0.001_234_56),
            backlog: Some(123_456.0),
        }),
        cause: Some(Cause { rule: longest, at: now, misses: 1 }),
        peak: Some(0.987_654),
        template: Some("0123456789abcdef".repeat(8)),
        revisions: Some(revisions()),
        retest: Some(Retest {
            at: now,
            settled: Some(now),
            lapsed: true,
            again: true,
            before: figures,
            revisions: Some(revisions()),
            lives: vec![life; 10],
        }),
        trial: None,
        ceiling: Some(Ceiling { at: now, replicas: to, gain }),
        slo_passed: Some(now),
    }
}

/// Every pool spilled, ten rules standing, and changes in both directions all the time.
fn all_at_once(workload: &mut Workload) {
    let now = Moment(at(86_400));
    workload.memory.spilled = workload.policy.pools.iter().map(|pool| (pool.name(), now)).collect();
    let changes = vec![Change { at: now, replicas: Replicas(10_000) }; 20];
    (workload.memory.ups, workload.memory.downs) = (changes.clone(), changes);
    let found = |rule: &dyn Rule| Finding {
        rule: rule.name(),
        weight: Weight::Advice,
        confidence: Confidence::High,
        measured: Vec::new(),
        window: secs(600),
    };
    let findings = RULES.iter().map(|rule| found(*rule)).collect();
    workload.opinion = workload.opinion.take().map(|opinion| Opinion { findings, ..opinion });
}

/// Version 2 kept a mean of the memory in use, and called tokens and answers the same.
#[test]
fn what_version_2_measured_otherwise_is_compared_with_nothing() {
    let figures = r#"[["Served",400.0,4,1.0],0.9,1.5,0.6,0.8,[12.0,null,null,4]]"#;
    let retest = format!(
        r#"{{"at":1700000000000,"before":{figures},"lives":[["DataLoader","Veto",1700000000000,null,"Retesting"]]}}"#
    );
    let trial = r#"{"at":1700000000000,"from":4,"to":8,"before":["Trained",400.0,4,1.0]}"#;
    let old = format!(
        r#"{{"version":2,"adoption":"Done","gate":{{"figures":{figures},"retest":{retest},"trial":{trial}}}}}"#
    );

    let gate = read(&old).gate;

    let before = gate.retest.unwrap().before;
    assert_eq!((before.throughput, before.memory, before.latency, before.quality), (None, None, Some(1.5), Some(0.8)));
    assert_eq!(before.signals.throughput, Some(12.0), "a signal is what it was");
    assert_eq!((gate.figures, gate.trial), (Some(before), None));
}

/// What version 1 wrote: the counts carried what was measured.
#[test]
fn a_veto_that_version_1_counted_still_stands() {
    let counted = r#"["DataLoader","Veto","High",[["GpuActivity",0.22,0.5]],"PT10M"]"#;
    let old = format!(
        r#"{{"version":1,"adoption":"Done","gate":{{"counted":1700000180000,"lean":{{"Refuse":"DataLoader"}},"counts":[[{counted},1700000060000,3,0,1700000180000]]}}}}"#
    );

    let memory = read(&old);

    assert_eq!(memory.version, VERSION);
    let starved = trainer("vision-train").running(4).wanting(8).remembering(memory);
    let decision = world().workload(starved).later(240).decision("vision-train");
    assert_eq!((decision.number.0, decision.findings()), (4, vec![RuleName::DataLoader]));
}

/// What was written before the time of the last hit was kept: the veto ends half an hour after it began to stand, unless it
/// is confirmed.
#[test]
fn lists_without_the_time_that_a_finding_last_fired_are_read() {
    let lives = r#"[["LaunchBound","Advice",1700000000000,null,"Retesting"]]"#;
    let before = serde_json::to_string(&Figures::default()).unwrap();
    let gate = format!(
        r#"{{"counts":[["DataLoader","Veto",1700000060000,3,0,1700000180000]],
        "retest":{{"at":1700000200000,"before":{before},"lives":{lives}}}}}"#
    );

    let gate: GateMemory = serde_json::from_str(&gate).unwrap();

    assert_eq!((gate.counts[0].first, gate.counts[0].last), (Moment(at(60)), Moment(at(180))));
    let life = &gate.retest.unwrap().lives[0];
    assert_eq!((life.rule, life.last, life.fate), (RuleName::LaunchBound, Moment(at(0)), Fate::Retesting(None)));
}
