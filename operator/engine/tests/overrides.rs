//! Who may let growth pass that the gate holds: a person for a while, a latency objective step by step, and whoever
//! overrules a rule.

use wellfed_engine::decision::{Decision, Reason, Step};
use wellfed_engine::evidence::ServerEvidence;
use wellfed_engine::gate::Verdict;
use wellfed_engine::opinion::{Gap, Weight};
use wellfed_engine::policy::{Class, GateMode, Policy, Target};
use wellfed_engine::reading::Reading;
use wellfed_engine::rules::RuleName;
use wellfed_engine::span::Span;
use wellfed_engine::stance::Stance;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, at, broken, latency, server, trainer, unlimited_pool, world};
use wellfed_engine::units::Replicas;

const GATE: usize = 3;

fn starved(workload: WorkloadBuilder) -> WorkloadBuilder {
    workload.gpu_activity(0.22).cpu_of_limit(0.97).throttled(0.40)
}

fn train() -> WorkloadBuilder {
    starved(trainer("vision-train").running(4).wanting(8))
}

fn gate_of(decision: &Decision) -> &Reason {
    &decision.steps[GATE].reason
}

#[test]
fn a_person_lets_a_refusal_pass_and_the_finding_stays() {
    let overridden = world().workload(train()).after(3).becomes(train().overridden("launch day", 3_600));

    let decision = overridden.decision("vision-train");

    assert_eq!((decision.number.0, decision.findings()), (8, vec![RuleName::DataLoader]));
    let because = "launch day".to_owned();
    let expected = Reason::GateOverridden { rule: Some(RuleName::DataLoader), because, until: at(3_600) };
    assert_eq!(*gate_of(&decision), expected);
}

#[test]
fn an_override_ends_by_the_clock_alone() {
    let mut overridden = world().workload(train()).after(3).becomes(train().overridden("launch day", 600));
    let number = |overridden: &Scenario| overridden.decision("vision-train").number.0;

    overridden.world.now = at(599);
    assert_eq!(number(&overridden), 8);
    overridden.world.now = at(600);
    assert_eq!(number(&overridden), 4);
}

#[test]
fn an_override_lets_a_hold_without_a_verdict_pass_too() {
    let unseen = trainer("vision-train").running(4).wanting(8);

    let overridden = world().workload(unseen.overridden("launch day", 3_600)).decision("vision-train");

    assert_eq!(overridden.number.0, 8);
    assert!(matches!(gate_of(&overridden), Reason::GateOverridden { rule: None, .. }));
}

fn overruling(rule: RuleName, stance: Stance) -> WorkloadBuilder {
    train().policy(|policy| policy.gate.stances = policy.gate.stances.with(rule, stance))
}

#[test]
fn a_rule_that_may_only_advise_is_shown_and_holds_nothing() {
    let advise = |policy: &mut Policy| {
        let all = policy.gate.stances.with(RuleName::DataLoader, Stance::Advise);
        policy.gate.stances = all.with(RuleName::Underused, Stance::Advise);
    };

    let decision = world().workload(train().policy(advise)).after(3).decision("vision-train");

    assert_eq!((decision.number.0, decision.findings()), (8, vec![RuleName::DataLoader]));
    assert_eq!(decision.verdict, Verdict::Allow { by: None });
    assert!(decision.memory.gate.counts.iter().all(|count| count.weight == Weight::Advice));
}

/// Advice explains no refusal away, whoever made it advice.
#[test]
fn low_use_that_only_advice_explains_is_still_low_use() {
    let decision = world().workload(overruling(RuleName::DataLoader, Stance::Advise)).after(3).decision("vision-train");

    assert!(matches!(decision.verdict, Verdict::Refuse { rule: RuleName::Underused, .. }), "{:?}", decision.verdict);
}

/// The unnamed cause takes the place of the named one, as it does where the CPU is idle.
#[test]
fn a_rule_that_is_off_says_nothing_and_the_others_judge_without_it() {
    let decision = |rules: &[RuleName]| {
        let off = |policy: &mut Policy| {
            policy.gate.stances = rules.iter().fold(policy.gate.stances, |all, rule| all.with(*rule, Stance::Off));
        };
        world().workload(train().policy(off)).after(3).decision("vision-train")
    };

    let named = decision(&[RuleName::DataLoader]);
    assert_eq!((named.number.0, named.findings()), (4, vec![RuleName::Underused]));
    let none = decision(&[RuleName::DataLoader, RuleName::Underused]);
    assert_eq!((none.number.0, none.findings()), (8, vec![]));
}

#[test]
fn a_refusal_that_stands_ends_when_its_rule_is_overruled() {
    for stance in [Stance::Advise, Stance::Off] {
        let refused = world().workload(train()).after(3).remembered(true);
        let overruled = refused.becomes(overruling(RuleName::DataLoader, stance)).later(5);

        assert_eq!(overruled.decision("vision-train").verdict, Verdict::Unknown(Gap::NotAsked), "{stance:?}");
    }
}

/// p95 of 500 ms with an objective of 200 ms, and so much of it in the queue.
fn slow(class: Class, queue_share: Option<f64>) -> WorkloadBuilder {
    let says = queue_share.map_or_else(ServerEvidence::default, |share| ServerEvidence {
        queue_seconds: Some(Span::exact(share * 2.0)),
        first_token_seconds: Some(Span::exact(2.0)),
        ..ServerEvidence::default()
    });
    let chat = if class == Class::Inference { server("chat") } else { trainer("chat") };
    let chat = starved(chat.running(4).wanting(9).signal(latency("p95", 0.5, 0.2))).serving(says);
    chat.policy(|policy| policy.gate.mode = GateMode::Enforce)
}

/// Its objective lets three replicas a step pass.
fn by_three(scenario: Scenario) -> Scenario {
    scenario.change("chat", |workload| {
        for signal in &mut workload.policy.signals {
            if let Target::Slo(slo) = &mut signal.target {
                slo.step = Replicas(3);
            }
        }
    })
}

#[test]
fn an_objective_that_is_exceeded_while_requests_queue_lets_its_step_pass_and_the_finding_stays() {
    let refused = by_three(world().workload(slow(Class::Inference, Some(0.6)))).after(3);

    let decision = refused.decision("chat");

    assert_eq!((decision.number.0, decision.findings()), (7, vec![RuleName::DataLoader]));
    assert_eq!(decision.binding(), Step::Gate);
    let Reason::SloOverride { signal, rule, queue_share } = gate_of(&decision) else { panic!("{decision:?}") };
    assert_eq!((signal.0.as_str(), *rule), ("p95", Some(RuleName::DataLoader)));
    assert!(queue_share.is_some_and(|share| (share - 0.6).abs() < 1e-9));
}

#[test]
fn a_step_passes_once_a_window() {
    let grown = by_three(world().workload(slow(Class::Inference, Some(0.6)))).after(3).remembered(true);
    let ready = |scenario: Scenario, replicas| {
        scenario.change("chat", |workload| {
            let pool = &mut workload.pools[0];
            let pod = pool.pods[0].clone();
            pool.pods = vec![pod; replicas];
        })
    };
    let seven = ready(grown, 7);

    assert_eq!(seven.clone().later(599).decision("chat").number.0, 7);
    assert_eq!(seven.after(10).decision("chat").number.0, 10);
}

#[test]
fn where_the_latency_is_the_work_itself_the_refusal_stands() {
    let decision = by_three(world().workload(slow(Class::Inference, Some(0.29)))).after(3).decision("chat");

    assert_eq!(decision.number.0, 4);
    assert!(matches!(gate_of(&decision), Reason::GateRefused { .. }));
}

/// Row 10 of the gate's truth table.
#[test]
fn where_nobody_knows_the_queue_inference_gets_one_replica_a_window_and_training_none() {
    let number = |class| by_three(world().workload(slow(class, None))).after(3).decision("chat").number.0;

    assert_eq!((number(Class::Inference), number(Class::Training)), (5, 4));
}

#[test]
fn losing_what_says_the_queue_is_short_never_holds_more_back() {
    let known = by_three(world().workload(slow(Class::Inference, Some(0.1)))).after(3);
    let lost = known.clone().change("chat", |workload| workload.opinion = None);

    assert!(lost.decision("chat").number >= known.decision("chat").number);
}

#[test]
fn an_objective_that_is_not_exceeded_for_long_enough_or_not_read_lets_nothing_pass() {
    let brief = by_three(world().workload(slow(Class::Inference, Some(0.6)))).after(3);
    let brief = brief.change("chat", |workload| {
        let since = wellfed_engine::memory::Moment(at(121));
        workload.memory.breached.values_mut().for_each(|breached| *breached = since);
    });
    let unread = starved(server("chat").running(4).wanting(9).signal(broken("p95", Reading::Missing)));

    assert_eq!(brief.decision("chat").number.0, 4);
    assert_eq!(world().workload(unread).after(3).decision("chat").number.0, 4);
}

#[test]
fn an_objective_waits_until_every_replica_is_ready() {
    let loading = by_three(world().workload(slow(Class::Inference, Some(0.6)))).after(3).becomes(
        starved(server("chat").pool(unlimited_pool().running(4).starting(1, 60)).wanting(9))
            .signal(latency("p95", 0.5, 0.2)),
    );

    assert_eq!(loading.decision("chat").number.0, 5);
}

/// Truth table, row 6: batches of one beside a queue. Refused, until the objective is exceeded for long enough; then one
/// more passes, and the finding stays.
#[test]
fn truth_row_6_tiny_batches_are_refused_until_the_objective_is_exceeded_and_then_one_passes() {
    let says = ServerEvidence {
        running: Some(Span::exact(1.0)),
        waiting: Some(Span::exact(25.0)),
        kv: Some(Span::exact(0.03)),
        queue_seconds: Some(Span::exact(1.2)),
        first_token_seconds: Some(Span::exact(2.0)),
        ..ServerEvidence::default()
    };
    let chat = |p95| {
        let chat = server("chat").running(4).wanting(9).signal(latency("p95", p95, 0.2)).gpu_activity(0.22);
        world().workload(chat.serving(says)).after(3).decision("chat")
    };
    let (met, exceeded) = (chat(0.1), chat(0.5));

    assert_eq!((met.number.0, met.findings()), (4, vec![RuleName::SerialRequests]));
    assert!(matches!(gate_of(&met), Reason::GateRefused { rule: RuleName::SerialRequests, .. }), "{met:?}");
    assert_eq!((exceeded.number.0, exceeded.findings()), (5, vec![RuleName::SerialRequests]));
    assert!(matches!(gate_of(&exceeded), Reason::SloOverride { .. }), "{exceeded:?}");
}
