//! What is told although nobody asks for more: idle GPUs after a whole day, faults after three looks; and that none of it
//! decides anything.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use wellfed_engine::evidence::{Demand, Exits, GpuEvidence};
use wellfed_engine::finding::FindingName;
use wellfed_engine::gate::{Shown, State, Verdict};
use wellfed_engine::memory::{Memory, Moment};
use wellfed_engine::opinion::{Gap, Weight};
use wellfed_engine::policy::{GateMode, Mode};
use wellfed_engine::rest::Rest;
use wellfed_engine::rules::RuleName::{self, GpuOutOfMemory, OversizedGpu, RunNotProgressing, Throttled, Underused};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, at, batch, busy_gpu, server, trainer, world};

const NAME: &str = "chat";
/// Looks are ten minutes apart here.
const LOOK: i64 = 600;
const HOUR: usize = 6;
const DAY: usize = 24 * HOUR;

/// At its minimum of four, with work for one of them.
fn chat() -> WorkloadBuilder {
    server(NAME).running(4).min(4).wanting(1).at_rest()
}

fn idle() -> WorkloadBuilder {
    chat().gpu_activity(0.05)
}

fn busy() -> WorkloadBuilder {
    chat().gpu_activity(0.6)
}

/// The exporter is gone.
fn unseen() -> WorkloadBuilder {
    chat().seen(|gpu, _| *gpu = GpuEvidence::default())
}

/// One of ten samples of each GPU is missing; the others are as idle as this.
fn with_a_gap(activity: f64) -> WorkloadBuilder {
    let gap = Span::of(&[activity; 9], 10, 1.0);
    idle().seen(move |gpu, _| (gpu.engine, gpu.util) = (gap, gap))
}

fn looks(scenario: Scenario, count: usize) -> Scenario {
    (0..count).fold(scenario, |scenario, _| scenario.later(LOOK).evaluated().remembered(false))
}

fn then(scenario: Scenario, workload: WorkloadBuilder, count: usize) -> Scenario {
    looks(scenario.becomes(workload), count)
}

fn began(workload: WorkloadBuilder, count: usize) -> Scenario {
    looks(world().workload(workload), count)
}

fn shown(scenario: &Scenario) -> Vec<Shown> {
    scenario.world.workloads[0].memory.gate.shown()
}

fn rules(scenario: &Scenario) -> Vec<RuleName> {
    shown(scenario).iter().filter_map(|one| one.name.rule()).collect()
}

fn text(scenario: &Scenario) -> String {
    serde_json::to_string(&scenario.world.workloads[0].memory).unwrap()
}

/// Nothing but the memory in status survives.
fn restarted(scenario: Scenario) -> Scenario {
    let read = |text: &str| Memory::parse(text, |text| serde_json::from_str(text).ok()).unwrap();
    let name = scenario.world.workloads[0].id.name.clone();
    scenario.change(&name, |workload| {
        (workload.rest, workload.opinion) = (Rest::default(), None);
        workload.memory = read(&serde_json::to_string(&workload.memory).unwrap());
    })
}

/// Row 1 of the gate's truth table.
#[test]
fn truth_row_1_a_service_at_its_minimum_that_idles_for_a_day_is_told_so_once() {
    let almost = began(idle(), DAY);
    let told = looks(almost.clone(), 1);
    let later = looks(told.clone(), 2 * DAY);

    assert_eq!(rules(&almost), []);
    let day = (Moment(at(LOOK)), Moment(at(LOOK + 86_400)));
    for scenario in [&told, &later] {
        let [only] = shown(scenario)[..] else { panic!("{:?}", shown(scenario)) };
        assert_eq!((only.name, only.weight), (FindingName::Rule(Underused), Weight::Advice));
        assert_eq!((only.state, only.demand, (only.first, only.since)), (State::Open, Demand::Met, day));
        let decision = scenario.decision(NAME);
        assert_eq!((decision.number.0, decision.verdict), (4, Verdict::Unknown(Gap::NotAsked)));
        assert_eq!(decision.findings(), []);
    }
}

#[test]
fn a_gpu_that_is_larger_than_its_work_is_told_after_a_day_beside_too_many_of_them() {
    let small = || idle().seen(|gpu, _| gpu.memory_peak = Some(Span::exact(0.15)));

    assert_eq!(rules(&began(small(), DAY)), []);
    assert_eq!(rules(&began(small(), DAY + 1)), [OversizedGpu, Underused]);
}

#[test]
fn one_busy_hour_in_the_day_and_it_is_not_told() {
    let night = began(idle(), 20 * HOUR);
    let morning = then(night, busy(), HOUR);

    let next = then(morning, idle(), DAY);
    assert_eq!(rules(&next), []);
    assert_eq!(rules(&looks(next, 1)), [Underused], "a day later");
}

#[test]
fn an_hour_that_nobody_knows_anything_of_is_passed_over() {
    for gap in [unseen(), with_a_gap(0.25)] {
        let back = then(then(began(idle(), 12 * HOUR), gap.clone(), HOUR), idle(), 11 * HOUR);
        assert_eq!(rules(&back), []);
        assert_eq!(rules(&looks(back.clone(), 1)), [Underused]);

        let open = then(looks(back, 1), gap, HOUR);
        assert_eq!(rules(&open), [Underused], "it stands");
    }
}

#[test]
fn after_more_than_an_eighth_of_a_day_without_knowledge_the_day_begins_anew() {
    let gone = then(began(idle(), 12 * HOUR), unseen(), 4 * HOUR);
    assert_eq!(rules(&then(gone.clone(), idle(), DAY)), []);
    assert_eq!(rules(&then(gone, idle(), DAY + 1)), [Underused]);

    let open = began(idle(), DAY + 1);
    assert_eq!(rules(&then(open.clone(), unseen(), 3 * HOUR - 1)), [Underused]);
    assert_eq!(rules(&then(open.clone(), unseen(), 3 * HOUR)), [], "nobody knows");
    assert_eq!(rules(&then(open, chat().mode(Mode::Paused), 3 * HOUR)), [], "nobody looks");
}

#[test]
fn two_looks_in_a_row_that_do_not_show_it_end_it() {
    let open = began(idle(), DAY + 1);

    let one = then(open.clone(), busy(), 1);
    assert_eq!(rules(&one), [Underused]);
    assert_eq!(rules(&then(one.clone(), idle(), 1)), [Underused]);
    assert_eq!(rules(&then(then(one, unseen(), 3), busy(), 1)), [], "what nobody knows is in no row");
    assert_eq!(rules(&then(open, busy(), 2)), []);
}

/// Kills: an evaluation with a missing sample that counts as one that shows.
#[test]
fn a_missing_sample_never_makes_one() {
    assert_eq!(rules(&began(with_a_gap(0.25), 2 * DAY)), []);
    assert_eq!(rules(&began(with_a_gap(0.05), DAY + 1)), [Underused], "whatever it was");
}

#[test]
fn a_veto_that_shows_without_demand_only_advises_and_is_no_cause_to_remember() {
    for workload in [trainer(NAME), batch(NAME)] {
        let quiet = workload.running(4).min(4).wanting(1).at_rest().gpu_activity(0.05);
        let open = began(quiet, DAY + 1);
        assert_eq!((rules(&open), shown(&open)[0].weight), (vec![Underused], Weight::Advice));

        let wakes = open.change(NAME, |one| one.opinion = None).becomes(trainer(NAME).running(4).wanting(8));
        let decision = wakes.remembered(false).decision(NAME);
        assert_eq!(decision.verdict, Verdict::Unknown(Gap::NotAsked));
        assert_eq!(decision.memory.gate.cause, None);
    }
}

/// Kills: quiet looks that count towards a veto.
#[test]
fn when_demand_comes_its_evidence_begins_then_and_the_finding_stays_as_it_was() {
    let wants = |activity| trainer(NAME).running(4).min(4).wanting(8).gpu_activity(activity);
    let quiet = trainer(NAME).running(4).min(4).wanting(1).at_rest().gpu_activity(0.05);
    let open = began(quiet, DAY + 1);
    let since = shown(&open)[0].since;
    let (mut before, mut fresh) = (open.becomes(wants(0.05)), world().workload(wants(0.05)));

    for look in 0..6 {
        (before, fresh) = (looks(before, 1), looks(fresh, 1));
        let (decision, other) = (before.decision(NAME), fresh.decision(NAME));
        assert_eq!(decision.number, other.number, "look {look}");
        let refuses = |verdict| matches!(verdict, Verdict::Refuse { .. });
        assert_eq!(refuses(decision.verdict), refuses(other.verdict), "look {look}");
        assert_eq!(shown(&before).iter().map(|one| (one.state, one.since)).collect::<Vec<_>>(), [(State::Open, since)]);
    }
    assert_eq!(rules(&then(before, wants(0.6), 2)), [], "and goes when it does not show");
}

#[test]
fn a_cause_that_is_named_under_demand_takes_the_place_of_what_nobody_explained() {
    let asked = server(NAME).running(4).min(4).wanting(8).gpu_activity(0.05).cpu_of_limit(0.97).throttled(0.4);

    assert_eq!(rules(&then(began(idle(), DAY + 1), asked, 3)), [RuleName::DataLoader]);
}

#[test]
fn what_is_remembered_changes_only_when_it_begins_stands_or_ends() {
    let mut scenario = began(idle(), 2);
    let mut texts = vec![text(&scenario)];
    for _ in 0..2 * DAY {
        scenario = looks(scenario, 1);
        texts.push(text(&scenario));
    }
    texts.dedup();

    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0].ends_with(r#""gate":{}}"#), "{}", texts[0]);
    assert!(texts[1].ends_with(r#""gate":{"at_rest":[["Underused",1700000600000,null]]}}"#), "{}", texts[1]);
    assert!(texts[2].contains(r#""at_rest":[["Underused",1700000600000,1700087000000]]"#), "{}", texts[2]);
}

#[test]
fn noise_about_a_threshold_is_not_remembered() {
    let mut scenario = began(idle(), 2);
    let before = text(&scenario);
    for look in 0..2 * DAY {
        scenario = then(scenario, chat().gpu_activity(if look % 10 == 9 { 0.31 } else { 0.29 }), 1);
        assert_eq!(text(&scenario), before, "look {look}");
    }
}

#[test]
fn a_restart_goes_on_with_the_day_and_a_busy_look_after_it_ends_it() {
    let half = began(idle(), 12 * HOUR);
    let killed = restarted(half.clone());

    assert_eq!(rules(&looks(killed.clone(), 12 * HOUR)), []);
    assert_eq!(rules(&looks(killed.clone(), 12 * HOUR + 1)), [Underused]);
    let disproved = then(then(killed, busy(), 1), idle(), DAY);
    assert_eq!(rules(&disproved), []);
    let open = restarted(began(idle(), DAY + 1));
    assert_eq!((rules(&looks(open.clone(), 1)), rules(&then(open, busy(), 2))), (vec![Underused], vec![]));
}

#[test]
fn faults_of_the_workload_itself_are_told_after_three_looks_and_over_after_two() {
    let hot = || busy().seen(|gpu, _| (gpu.clocks_held, gpu.sm) = (Some(Span::exact(0.9)), Some(Span::exact(0.7))));
    let full = || busy().seen(|_, one| one.exits = Exits { gpu_memory: 1, ..Exits::default() });
    let crashing = || {
        let train = trainer(NAME).running(4).wanting(4).at_rest().gpu_activity(0.6);
        train.seen(|_, one| one.exits = Exits { failed: 3, ..Exits::default() })
    };
    for (workload, rule) in [(hot(), Throttled), (full(), GpuOutOfMemory), (crashing(), RunNotProgressing)] {
        let open = began(workload.clone(), 3);
        assert_eq!((rules(&began(workload, 2)), rules(&open)), (vec![], vec![rule]));
        assert_eq!((shown(&open)[0].weight, open.decision(NAME).number.0), (Weight::Advice, 4));
        assert_eq!(open.decision(NAME).verdict, Verdict::Unknown(Gap::NotAsked));
        assert_eq!((rules(&then(open.clone(), busy(), 1)), rules(&then(open, busy(), 2))), (vec![rule], vec![]));
    }
}

/// Without a GPU that is seen, what software counts is told all the same.
#[test]
fn full_memory_is_told_where_no_gpu_is_seen() {
    let full = || unseen().seen(|_, one| one.exits = Exits { gpu_memory: 1, ..Exits::default() });

    assert_eq!(rules(&began(full(), 3)), [GpuOutOfMemory]);
    assert_eq!(rules(&began(unseen(), DAY)), []);
}

/// It stood under demand, which is over: it is the same finding still.
#[test]
fn a_fault_that_outlasts_its_demand_is_told_once() {
    let hot =
        |workload: WorkloadBuilder| workload.gpu_activity(0.6).seen(|gpu, _| gpu.clocks_held = Some(Span::exact(0.9)));
    let asked = looks(world().workload(hot(server(NAME).running(4).wanting(8))), 3);
    let since = shown(&asked)[0].since;

    let quiet = then(asked, hot(chat()), DAY);

    assert_eq!(shown(&quiet).iter().map(|one| (one.state, one.since)).collect::<Vec<_>>(), [(State::Open, since)]);
    assert_eq!(shown(&quiet)[0].demand, Demand::Met);
}

#[test]
fn a_gate_that_is_off_says_nothing_and_forgets_what_it_said() {
    let off = |workload: WorkloadBuilder| workload.gate(GateMode::Off);

    assert_eq!(rules(&began(off(idle()), 2 * DAY)), []);
    assert_eq!(rules(&then(began(idle(), DAY + 1), off(idle()), 1)), []);
}

#[test]
fn the_day_can_be_shorter_and_then_so_is_all_that_hangs_on_it() {
    let quick = |workload: WorkloadBuilder| workload.policy(|policy| policy.gate.thresholds.quiet_hours_from = 2.0);

    assert_eq!(rules(&began(quick(idle()), 2 * HOUR)), []);
    assert_eq!(rules(&began(quick(idle()), 2 * HOUR + 1)), [Underused]);
}

#[test]
fn gpus_at_work_are_told_nothing_of() {
    let full = chat().seen(|gpu, _| *gpu = busy_gpu());

    assert_eq!(rules(&began(full, 2 * DAY)), []);
}
