//! What becomes of a finding: open, tested again under a new pod template, then resolved, or worse than before.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use wellfed_engine::evidence::ServerEvidence;
use wellfed_engine::figures::Worse;
use wellfed_engine::finding::FindingName;
use wellfed_engine::gate::{Shown, State, Verdict};
use wellfed_engine::memory::Moment;
use wellfed_engine::opinion::Gap;
use wellfed_engine::policy::{GatePolicy, Mode};
use wellfed_engine::rules::RuleName;
use wellfed_engine::span::Span;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, at, secs, server, trainer, world};

const NAME: &str = "vision-train";
const LOADER: FindingName = FindingName::Rule(RuleName::DataLoader);

fn train() -> WorkloadBuilder {
    trainer(NAME).running(4).wanting(8).template("before")
}

fn starved(workload: WorkloadBuilder) -> WorkloadBuilder {
    workload.gpu_activity(0.22).cpu_of_limit(0.97).throttled(0.40)
}

/// Each replica does so many samples a second.
fn doing(workload: WorkloadBuilder, work: f64) -> WorkloadBuilder {
    workload.serving(ServerEvidence { progress: Some(Span::exact(work)), ..ServerEvidence::default() })
}

/// Without what only says that more GPUs are worth their money.
fn shown(scenario: &Scenario) -> Vec<Shown> {
    let mut shown = scenario.decision(NAME).memory.gate.shown();
    shown.retain(|one| one.name != FindingName::Rule(RuleName::AddingJustified));
    shown
}

fn states(scenario: &Scenario) -> Vec<(FindingName, State)> {
    shown(scenario).iter().map(|one| (one.name, one.state)).collect()
}

/// Refused under the template `before`; `work` by each replica.
fn refused(work: f64) -> Scenario {
    world().workload(doing(starved(train()), work)).after(3)
}

/// The template was replaced and rolled out, and what is seen then is this.
fn fixed(scenario: Scenario, now: WorkloadBuilder) -> Scenario {
    scenario.becomes(now.template("after")).later(5).remembered(false)
}

#[test]
fn a_finding_that_stands_is_open() {
    let open = refused(100.0);

    assert_eq!(states(&open), [(LOADER, State::Open)]);
    assert_eq!(shown(&open)[0].since, Moment(at(180)));
}

#[test]
fn a_new_pod_template_ends_the_veto_and_tests_the_finding_again() {
    let changed = fixed(refused(100.0), doing(train().busy(), 400.0));

    assert_eq!(states(&changed), [(LOADER, State::Retesting)]);
    let testing = Verdict::Unknown(Gap::Retesting { rule: RuleName::DataLoader });
    assert_eq!(changed.decision(NAME).verdict, testing);
    assert_eq!(changed.decision(NAME).number.0, 4);
}

#[test]
fn quiet_for_a_whole_window_and_not_slower_it_is_resolved_with_both_figures_and_growth_goes_on() {
    let changed = fixed(refused(100.0), doing(train().busy(), 400.0));
    // 80 % of ten minutes must be covered; looks are a minute apart.
    let (almost, resolved) = (changed.clone().after(7), changed.after(9));

    assert_eq!(states(&almost), [(LOADER, State::Retesting)]);
    assert_eq!(almost.decision(NAME).number.0, 4);
    assert_eq!(states(&resolved), [(LOADER, State::Resolved)]);
    assert_eq!(resolved.decision(NAME).number.0, 8);
    let (before, after) = shown(&resolved)[0].figures.unwrap();
    assert_eq!((before.throughput.unwrap().total, before.activity), (400.0, Some(0.22)));
    assert_eq!((after.unwrap().throughput.unwrap().total, after.unwrap().activity), (1600.0, Some(0.95)));
}

#[test]
fn what_is_resolved_is_shown_for_an_hour_or_until_the_next_change() {
    let resolved = fixed(refused(100.0), doing(train().busy(), 400.0)).after(9);
    let since = shown(&resolved)[0].since.0;
    let shown_for = |seconds: i64| {
        let mut later = resolved.clone();
        later.world.now = since + secs(seconds);
        states(&later).len()
    };

    assert_eq!((shown_for(3_599), shown_for(3_600)), (1, 0));
    let again = resolved.becomes(doing(train().busy(), 400.0).template("third")).later(5);
    assert_eq!(states(&again), []);
}

#[test]
fn what_fires_again_under_the_new_template_has_regressed_and_is_refused_again() {
    let unchanged = fixed(refused(100.0), doing(starved(train()), 100.0));

    assert_eq!(states(&unchanged.clone().after(2)), [(LOADER, State::Retesting)]);
    let again = unchanged.after(3);
    assert_eq!(states(&again), [(LOADER, State::Regressed)]);
    assert_eq!(shown(&again)[0].worse, None);
    assert!(matches!(again.decision(NAME).verdict, Verdict::Refuse { rule: RuleName::DataLoader, .. }));
}

#[test]
fn what_was_resolved_and_fires_again_has_regressed() {
    let resolved = fixed(refused(100.0), doing(train().busy(), 400.0)).after(9);

    let again = resolved.becomes(doing(starved(train()), 100.0).template("after")).after(3);

    assert_eq!(states(&again), [(LOADER, State::Regressed)]);
}

#[test]
fn a_fix_that_costs_more_than_five_percent_of_the_work_has_regressed() {
    let after = |work| fixed(refused(100.0), doing(train().busy(), work)).after(9);

    assert_eq!(states(&after(96.0)), [(LOADER, State::Resolved)]);
    assert_eq!(states(&after(94.0)), [(LOADER, State::Regressed)]);
    assert_eq!(shown(&after(94.0))[0].worse, Some(Worse::Throughput));
}

#[test]
fn without_data_it_stays_under_test() {
    let unseen = train().seen(|gpu, _| *gpu = wellfed_engine::evidence::GpuEvidence::default());
    let blind = fixed(refused(100.0), unseen).after(20);
    let silent = fixed(refused(100.0), train().busy()).after(20);

    assert_eq!(states(&blind), [(LOADER, State::Retesting)]);
    assert_eq!(states(&silent), [(LOADER, State::Retesting)], "the work done was measured before and is not now");
}

#[test]
fn a_look_without_data_begins_the_quiet_anew() {
    let unseen = || train().template("after").seen(|gpu, _| *gpu = wellfed_engine::evidence::GpuEvidence::default());
    let busy = || doing(train().busy(), 400.0).template("after");
    let gap = fixed(refused(100.0), busy()).after(7).becomes(unseen()).after(1).becomes(busy());

    assert_eq!(states(&gap.clone().after(8)), [(LOADER, State::Retesting)]);
    assert_eq!(states(&gap.after(10)), [(LOADER, State::Resolved)]);
}

#[test]
fn nothing_counts_while_old_and_new_replicas_are_mixed() {
    let mixed = refused(100.0).becomes(doing(starved(train()), 100.0).rolling_out("after")).after(8);

    assert_eq!(states(&mixed), [(LOADER, State::Retesting)]);
    let rolled_out = fixed(mixed, doing(train().busy(), 400.0)).after(9);
    assert_eq!(states(&rolled_out), [(LOADER, State::Resolved)]);
}

#[test]
fn growth_waits_for_a_retest_no_longer_than_a_veto_would_last() {
    let stuck = refused(100.0).becomes(doing(train().busy(), 400.0).rolling_out("after")).remembered(false);

    assert_eq!(stuck.clone().after(29).decision(NAME).number.0, 4);
    assert_eq!(stuck.after(32).decision(NAME).number.0, 8);
}

#[test]
fn a_rollout_that_never_ends_is_not_tested_for_ever() {
    let stuck = refused(100.0).becomes(doing(train().busy(), 400.0).rolling_out("after")).remembered(false);

    assert_eq!(states(&stuck.clone().after(89)), [(LOADER, State::Retesting)]);
    assert_eq!(states(&stuck.after(92)), []);
}

#[test]
fn inference_is_not_held_by_a_retest() {
    let chat = |workload: WorkloadBuilder| workload.running(4).wanting(8);
    let refused = world().workload(starved(chat(server(NAME))).template("before")).after(3);
    let changed = refused.clone().becomes(starved(chat(server(NAME))).template("after"));

    assert_eq!((refused.decision(NAME).number.0, changed.decision(NAME).number.0), (4, 8));
}

/// It may have been mended, and nobody will look again: that is said once, and then it takes no place.
#[test]
fn what_nobody_looks_for_any_more_is_given_up_after_an_hour_and_then_forgotten() {
    let chat = |wanted| server(NAME).running(4).wanting(wanted);
    let refused = world().workload(starved(chat(8)).template("before")).after(3);
    let mut met = refused.becomes(chat(3).template("after"));
    let mut course = Vec::new();
    for minute in 0..240 {
        met = met.later(60).remembered(false);
        let states: Vec<_> = shown(&met).iter().map(|one| format!("{:?}", one.state)).collect();
        if course.last().map(|(_, last)| last) != Some(&states) {
            course.push((minute, states));
        }
    }

    let expected = [(0, vec!["Retesting".to_owned()]), (90, vec!["NotSeenAgain".to_owned()]), (150, vec![])];
    assert_eq!(course, expected);
}

#[test]
fn what_is_looked_for_in_vain_stays_under_test() {
    let unseen = train().seen(|gpu, _| *gpu = wellfed_engine::evidence::GpuEvidence::default());
    let blind = fixed(refused(100.0), unseen);
    let silent = (0..240).fold(blind, |silent, _| silent.later(60).remembered(false));

    assert_eq!(states(&silent), [(LOADER, State::Retesting)]);
}

#[test]
fn what_was_given_up_and_fires_again_has_regressed() {
    let chat = |wanted| server(NAME).running(4).wanting(wanted);
    let refused = world().workload(starved(chat(8)).template("before")).after(3);
    let given_up = (0..100).fold(refused.becomes(chat(4).template("after")), |met, _| met.later(60).remembered(false));

    let again = given_up.becomes(starved(chat(8)).template("after")).after(3);

    assert_eq!(states(&again), [(LOADER, State::Regressed)]);
}

/// Kills: quiet that goes on while nobody looks.
#[test]
fn a_pause_begins_the_quiet_anew() {
    let busy = || doing(train().busy(), 400.0).template("after");
    let tested = fixed(refused(100.0), doing(train().busy(), 400.0)).after(3);

    let paused = tested.becomes(busy().mode(Mode::Paused)).later(500).remembered(false);
    let resumed = paused.becomes(busy()).after(1);

    assert_eq!(states(&resumed), [(LOADER, State::Retesting)]);
}

#[test]
fn a_fix_during_which_the_replicas_grew_is_judged_by_what_they_do_together() {
    let grown = |each| {
        let eight = trainer(NAME).running(8).wanting(12);
        fixed(refused(100.0), doing(eight.busy(), each)).after(9)
    };

    assert_eq!(states(&grown(60.0)), [(LOADER, State::Resolved)]);
    assert_eq!(states(&grown(40.0)), [(LOADER, State::Regressed)]);
}

#[test]
fn a_second_change_while_it_is_tested_keeps_the_figures_of_before_the_first() {
    let first = fixed(refused(100.0), doing(train().busy(), 200.0)).after(3);
    let second = first.becomes(doing(train().busy(), 400.0).template("third")).remembered(false).after(10);

    assert_eq!(states(&second), [(LOADER, State::Resolved)]);
    let before = shown(&second)[0].figures.map(|(before, _)| before.throughput.map(|work| work.total));
    assert_eq!(before, Some(Some(400.0)));
}

#[test]
fn that_more_gpus_are_worth_their_money_is_nothing_to_test_again() {
    let busy = world().workload(doing(train().busy(), 400.0)).after(3);
    let changed = fixed(busy.clone(), doing(train().busy(), 400.0));

    let justified = [RuleName::AddingJustified];
    assert_eq!(busy.decision(NAME).findings(), justified);
    assert_eq!(changed.decision(NAME).memory.gate.shown(), []);
}

#[test]
fn a_workload_seen_for_the_first_time_is_not_retested() {
    let unknown = world().workload(starved(trainer(NAME).running(4).wanting(8))).after(3);

    assert_eq!(states(&unknown.becomes(starved(train())).remembered(false)), [(LOADER, State::Open)]);
}

/// As the demo plays it: cycles of 2 s, looks every 10 s at a window of 45 s, replicas warm after 10 s; refused from about
/// 70 s on, given more CPU at 80 s, rolled out at 100 s.
#[test]
fn within_three_minutes_a_trainer_is_refused_fixed_retested_and_grows() {
    let brisk = |workload: WorkloadBuilder| {
        workload.policy(|policy| {
            let gate = policy.gate;
            policy.gate = GatePolicy { window: secs(45), warm_up: secs(10), spacing: secs(5), ..gate };
        })
    };
    let slow = brisk(doing(starved(train()), 100.0));
    let fast = brisk(doing(train().busy(), 400.0));
    let mut scenario = world().workload(slow.clone());
    let mut course = Vec::new();
    for second in (0..180_i64).step_by(2) {
        scenario = match second {
            80 => scenario.becomes(slow.clone().rolling_out("after")),
            100 => scenario.becomes(fast.clone().template("after")),
            _ => scenario,
        };
        // Before half a window is covered the judge has no opinion.
        if second % 10 == 0 && second >= 40 {
            scenario = scenario.evaluated();
        }
        let state = (shown(&scenario).first().map(|one| one.state), scenario.decision(NAME).number.0);
        if course.last().map(|(_, last)| *last) != Some(state) {
            course.push((second, state));
        }
        scenario = scenario.later(2).remembered(false);
        scenario.world.now = at(second + 2);
    }

    let expected = [
        (0, (None, 4)),
        (60, (Some(State::Open), 4)),
        (80, (Some(State::Retesting), 4)),
        (140, (Some(State::Resolved), 8)),
    ];
    assert_eq!(course, expected);
}
