//! Marginal gain: replicas that were added must bring what they should, or growth ends for a while.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use wellfed_engine::decision::{Reason, Step};
use wellfed_engine::evidence::{OwnEvidence, ServerEvidence};
use wellfed_engine::figures::Throughput;
use wellfed_engine::finding::FindingName;
use wellfed_engine::gate::{Ceiling, Check, State};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, batch, latency, server, world};
use wellfed_engine::units::Replicas;

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

/// Truth table, row 15: the first that was added brings less than it should.
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
fn half_of_the_share_is_enough() {
    // Doubled, they should do 400 a second more; half of that is 75 each. Replicas that are alike leave no noise.
    let alike = |each| ceiling(&judged(grown(chat, 100.0, Span::exact(each))));

    assert_eq!(alike(75.0), None);
    assert!(alike(74.0).is_some());
}

/// Kills: noise that makes a ceiling.
#[test]
fn the_noisier_the_replicas_the_less_is_proved() {
    let spread_by = |spread| {
        let mut noisy = grown(chat, 100.0, Span::exact(70.0));
        for _ in 0..10 {
            noisy = noisy.later(60).evaluated().change(NAME, |workload| {
                let figures = &mut workload.opinion.as_mut().unwrap().facts.figures;
                figures.throughput = figures.throughput.map(|work| Throughput { spread: Some(spread), ..work });
            });
            noisy = noisy.remembered(false);
        }
        noisy.find(NAME).unwrap().memory.gate.ceiling
    };

    // Growth gained 160 of 400. The error of the difference is the spread times the root of 8: two of them are 28 and 85.
    assert!(spread_by(5.0).is_some());
    assert_eq!(spread_by(15.0), None);
}

/// Where arrivals set the throughput: 4 → 5 replicas do the same work, and what users wait for is this.
fn open_loop(before: &ServerEvidence, after: &ServerEvidence, p95: (Option<f64>, Option<f64>)) -> Scenario {
    let chat = |replicas: u32, each: f64, says: &ServerEvidence| {
        let says = ServerEvidence { progress: Some(Span::exact(each)), ..*says };
        server(NAME).running(replicas).wanting(5 + replicas).busy().template("one").serving(says)
    };
    let told = |scenario: Scenario, p95| scenario.change(NAME, |workload| workload.measures.latency = p95);
    let small = told(world().workload(chat(4, 100.0, before)), p95.0).after(1).change(NAME, |workload| {
        workload.policy.max = Replicas(5);
    });
    judged(told(small.remembered(true).becomes(chat(5, 80.0, after)), p95.1))
}

fn queue(seconds: f64) -> ServerEvidence {
    ServerEvidence { queue_seconds: Some(Span::exact(seconds)), ..ServerEvidence::default() }
}

#[test]
fn a_shorter_wait_is_gain_enough_where_arrivals_set_the_throughput() {
    let said_nothing = ServerEvidence::default;
    let whole = |seconds| ServerEvidence { whole_seconds: Some(Span::exact(seconds)), ..ServerEvidence::default() };

    let p95 = open_loop(&said_nothing(), &said_nothing(), (Some(0.5), Some(0.4)));
    assert_eq!(ceiling(&p95), None);
    assert_eq!(ceiling(&open_loop(&queue(0.3), &queue(0.2), (None, None))), None);
    assert_eq!(ceiling(&open_loop(&whole(3.0), &whole(2.0), (None, None))), None);
    assert!(ceiling(&open_loop(&queue(0.3), &queue(0.29), (Some(0.5), Some(0.49)))).is_some());
}

#[test]
fn a_backlog_that_shrinks_is_gain_enough() {
    let backlog = |wanted| {
        let says = ServerEvidence { progress: Some(Span::exact(49.0)), ..ServerEvidence::default() };
        let small = world().workload(doing(chat().running(4), Span::exact(100.0))).after(1).remembered(true);
        judged(small.becomes(server(NAME).running(8).wanting(wanted).busy().template("one").serving(says)))
    };

    assert_eq!(ceiling(&backlog(30)), None);
    assert!(ceiling(&backlog(39)).is_some());
}

/// Kills: waits that are compared only where both are known.
#[test]
fn a_wait_that_nobody_knows_any_more_makes_no_ceiling() {
    assert_eq!(ceiling(&open_loop(&queue(0.3), &ServerEvidence::default(), (None, None))), None);
    assert_eq!(ceiling(&open_loop(&queue(0.3), &queue(0.3), (Some(0.5), None))), None);
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
fn a_latency_objective_is_heard_against_a_ceiling_once_a_window() {
    let slow = |replicas: u32, queued: f64| {
        let says = ServerEvidence {
            first_token_seconds: Some(Span::exact(1.0)),
            progress: Some(Span::exact(392.0 / f64::from(replicas))),
            ..queue(queued)
        };
        chat().running(replicas).wanting(40).busy().template("one").signal(latency("p95", 0.5, 0.2)).serving(says)
    };
    let capped = judged(grown(chat, 100.0, Span::exact(49.0)));
    assert!(ceiling(&capped).is_some());

    let number = |queued| capped.clone().becomes(slow(8, queued)).after(4).decision(NAME).number.0;
    assert_eq!((number(0.6), number(0.1)), (9, 8));
    let passed = capped.becomes(slow(8, 0.6)).after(4).remembered(true).becomes(slow(9, 0.6));
    assert!(ceiling(&passed).is_some(), "what passed is not what the ceiling was about");
    assert_eq!(passed.clone().after(9).decision(NAME).number.0, 9);
    assert_eq!(passed.after(11).decision(NAME).number.0, 10);
}

#[test]
fn a_person_is_heard_against_a_ceiling_and_the_decision_says_so() {
    let capped = judged(grown(chat, 100.0, Span::exact(49.0)));

    let decision = capped.becomes(doing(chat().running(8).overridden("launch day", 7_200), Span::exact(49.0)));
    let decision = decision.decision(NAME);

    assert_eq!(decision.number.0, 16);
    assert!(matches!(decision.steps[2].reason, Reason::GateOverridden { rule: None, .. }), "{:?}", decision.steps[2]);
}

/// Kills: a trial of only what was judged before.
#[test]
fn growth_that_passes_while_a_cause_is_still_counted_is_tried_too() {
    let starved = |replicas: u32, each: f64| {
        let chat = doing(chat().running(replicas), Span::exact(each));
        chat.gpu_activity(0.22).cpu_of_limit(0.97).throttled(0.40)
    };
    let passed = world().workload(starved(4, 100.0)).after(1).remembered(true);

    let scenario = judged(passed.becomes(starved(8, 50.0)));

    assert_eq!(ceiling(&scenario).map(|ceiling| ceiling.gain.to.0), Some(8));
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

/// Kills: a backlog that ends where the maximum does.
#[test]
fn growth_up_to_the_maximum_is_tried_too() {
    let scenario = judged(grown(|| chat().max(8), 100.0, Span::exact(49.0)));

    assert_eq!(ceiling(&scenario).map(|ceiling| ceiling.replicas.0), Some(8));
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

/// A run whose only count is its own signal: from 4 to 8 replicas, judged by what it says before and after.
fn told(before: OwnEvidence, after: OwnEvidence) -> Scenario {
    let run = |replicas, own| batch(NAME).running(replicas).wanting(40).busy().template("one").told(own);
    judged(world().workload(run(4, before)).after(1).remembered(true).becomes(run(8, after)))
}

fn own(total: f64, noise: Option<f64>) -> OwnEvidence {
    OwnEvidence { throughput: Some(Span::exact(total)), throughput_noise: noise, ..OwnEvidence::default() }
}

#[test]
fn growth_is_tried_by_the_workloads_own_signal_alone() {
    let quiet = Some(4.0);
    let futile = ceiling(&told(own(400.0, quiet), own(440.0, quiet))).unwrap();

    assert_eq!((futile.replicas.0, futile.gain.before, futile.gain.after), (4, 400.0, 440.0));
    assert_eq!(ceiling(&told(own(400.0, quiet), own(700.0, quiet))), None);
}

/// Growth comes soon after demand: what varies afterwards stands in for the few looks before it.
#[test]
fn the_noise_of_an_own_signal_speaks_for_growth_and_where_it_is_unknown_nothing_is_proved() {
    let after = |noise| ceiling(&told(own(400.0, None), own(440.0, noise)));

    // Gained 40 of 400, and 200 are enough. Two errors of the difference are 2 * 1.414 times the noise.
    assert!(after(Some(50.0)).is_some());
    assert_eq!(after(Some(60.0)), None);
    assert_eq!(after(None), None);
}

/// Kills: an own signal compared with what servers count once it is lost.
#[test]
fn an_own_signal_that_is_lost_after_growth_proves_nothing() {
    let lost = OwnEvidence { throughput_lost: true, ..OwnEvidence::default() };

    assert_eq!(ceiling(&told(own(400.0, Some(4.0)), lost)), None);
}
