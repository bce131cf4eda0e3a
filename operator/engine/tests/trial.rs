//! Marginal gain: replicas that were added must bring what they should, or growth ends for a while.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use wellfed_engine::decision::{Reason, Step};
use wellfed_engine::evidence::ServerEvidence;
use wellfed_engine::figures::Throughput;
use wellfed_engine::finding::FindingName;
use wellfed_engine::gate::{Ceiling, Check, State};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, batch, server, world};

const NAME: &str = "chat";

/// Busy, with a backlog that no number of replicas ends; each replica does so many tokens a second.
fn doing(workload: WorkloadBuilder, each: Span) -> WorkloadBuilder {
    let says = ServerEvidence { progress: Some(each), ..ServerEvidence::default() };
    workload.wanting(40).busy().template("one").serving(says)
}

/// From 4 to 8 replicas, which are all Ready since long.
fn grown(workload: impl Fn() -> WorkloadBuilder, before: f64, after: Span) -> Scenario {
    let small = world().workload(doing(workload().running(4), Span::exact(before))).after(1).remembered(true);
    small.becomes(doing(workload().running(8), after))
}

fn ceiling(scenario: &Scenario) -> Option<Ceiling> {
    scenario.decision(NAME).memory.gate.ceiling
}

fn chat() -> WorkloadBuilder {
    server(NAME)
}

/// Judged over a whole window after growth, without growing any further meanwhile.
fn judged(scenario: Scenario) -> Scenario {
    scenario.after(10)
}

#[test]
fn replicas_that_bring_their_share_let_growth_go_on() {
    let scenario = judged(grown(chat, 100.0, Span::exact(100.0)));

    assert_eq!(ceiling(&scenario), None);
    assert_eq!(scenario.decision(NAME).number.0, 16);
}

#[test]
fn replicas_that_bring_nothing_end_growth_at_the_present_count_of_inference() {
    let scenario = judged(grown(chat, 100.0, Span::exact(49.0)));
    let decision = scenario.decision(NAME);

    assert_eq!(decision.number.0, 8);
    assert_eq!(decision.binding(), Step::Bounds);
    assert!(matches!(decision.steps[2].reason, Reason::Ceiling { .. }), "{:?}", decision.steps[2]);
    let shown = decision.memory.gate.shown();
    let names: Vec<_> = shown.iter().map(|one| (one.name, one.state)).collect();
    assert_eq!(names, [(FindingName::ScaleOutIneffective, State::Open)], "and not that adding is justified");
    let gain = shown[0].gain.map(|gain| (gain.from.0, gain.to.0, gain.before, gain.after));
    assert_eq!(gain, Some((4, 8, 400.0, 392.0)));
}

#[test]
fn what_is_beyond_the_noise_between_replicas_counts_however_little_it_is() {
    // Doubled, they should do 400 a second more; half of that would be enough. Replicas that are alike leave no noise.
    let alike = |each| ceiling(&judged(grown(chat, 100.0, Span::exact(each))));

    assert_eq!(alike(51.0), None);
    assert!(alike(50.0).is_some());
}

#[test]
fn training_and_batch_end_at_the_count_before_and_nothing_is_taken_back() {
    let scenario = judged(grown(|| batch(NAME), 100.0, Span::exact(49.0)));

    assert_eq!(ceiling(&scenario).map(|ceiling| ceiling.replicas.0), Some(4));
    assert_eq!(scenario.decision(NAME).number.0, 8);
    let shrunk = scenario.becomes(doing(batch(NAME).running(3), Span::exact(100.0)));
    assert_eq!(shrunk.decision(NAME).number.0, 4);
}

#[test]
fn a_ceiling_never_holds_back_the_minimum_and_ends_with_the_expiry_of_a_veto() {
    let capped = judged(grown(chat, 100.0, Span::exact(49.0)));
    let raised = capped.clone().becomes(doing(chat().running(8).min(12), Span::exact(49.0)));

    assert_eq!(raised.decision(NAME).number.0, 12);
    assert_eq!(capped.clone().after(25).decision(NAME).number.0, 8);
    assert_eq!(capped.after(31).decision(NAME).number.0, 16);
}

#[test]
fn a_new_pod_template_ends_a_ceiling() {
    let capped = judged(grown(chat, 100.0, Span::exact(49.0)));

    let changed = capped.becomes(doing(chat().running(8), Span::exact(49.0)).template("two")).after(1);

    assert_eq!(changed.decision(NAME).number.0, 16);
}

/// Kills: a trial that compares totals of fewer replicas than there are.
#[test]
fn a_replica_that_says_nothing_never_makes_a_ceiling() {
    let mut partial = grown(chat, 100.0, Span::exact(100.0));
    for _ in 0..10 {
        let seven = partial.later(60).evaluated().change(NAME, |workload| {
            let figures = &mut workload.opinion.as_mut().unwrap().facts.figures;
            figures.throughput = figures.throughput.map(|work| Throughput { total: 390.0, replicas: 7, ..work });
        });
        partial = seven.remembered(false);
    }

    assert_eq!(partial.find(NAME).unwrap().memory.gate.ceiling, None);
}

/// Kills: a spread that is taken from incomplete samples.
#[test]
fn a_lost_sample_never_makes_a_ceiling() {
    let incomplete = Span { low: 44.0, mean: 49.0, high: 90.0 };
    let incomplete = judged(grown(chat, 100.0, incomplete));
    let silent = judged(grown(chat, 100.0, Span::exact(49.0)).becomes(chat().running(8).wanting(40).busy()));

    assert_eq!(ceiling(&incomplete), None);
    assert_eq!(ceiling(&silent), None);
}

#[test]
fn demand_that_is_met_by_growth_is_gain_enough() {
    let met = grown(chat, 100.0, Span::exact(49.0)).becomes({
        let says = ServerEvidence { progress: Some(Span::exact(49.0)), ..ServerEvidence::default() };
        chat().running(8).wanting(8).busy().template("one").serving(says)
    });

    assert_eq!(ceiling(&judged(met)), None);
}

#[test]
fn the_checklist_says_what_was_looked_at() {
    let gain = ceiling(&judged(grown(chat, 100.0, Span::exact(49.0)))).map(|ceiling| ceiling.gain.checks);

    assert_eq!(gain, Some([Check::Unknown, Check::Unknown, Check::Unknown]));
    let metered = |replicas| {
        doing(chat().running(replicas), Span::exact(if replicas == 4 { 100.0 } else { 49.0 })).seen(|_, container| {
            (container.limit, container.cores) = (Some(8.0), Some(Span::exact(2.0)));
            container.io_pressure = Some(Span::exact(0.01));
        })
    };
    let small = world().workload(metered(4)).after(1).remembered(true);
    let metered = judged(small.becomes(metered(8)));
    let checks = ceiling(&metered).map(|ceiling| ceiling.gain.checks);
    assert_eq!(checks, Some([Check::Passed, Check::Unknown, Check::Passed]));
}
