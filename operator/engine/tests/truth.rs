//! The gate's truth table, as far as no other test has the row: 3 is in `causes/hardware.rs`, 4 and 11 in `judge.rs`, 5 and
//! 12 in `causes/group.rs`, 6 and 10 in `overrides.rs`, 7 in `causes/serving.rs`, 13 in `causes/saturated.rs`, 15 in
//! `trial.rs`; what row 1 tells after a day is in `at_rest.rs`. Where the table and the code differ, `docs/adr/0007-where-facts-and-design-differ.md` says why.

use wellfed_engine::decision::{Decision, Reason};
use wellfed_engine::evidence::{GpuEvidence, ServerEvidence};
use wellfed_engine::gate::Verdict;
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Weight};
use wellfed_engine::policy::{Class, OnUnknown};
use wellfed_engine::rules::RuleName::{AddingJustified, DataLoader, Saturated, StorageStall, Throttled};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{WorkloadBuilder, busy_gpu, evidence, secs, server, trainer, unlimited_pool, world};

#[allow(clippy::unnecessary_wraps)] // as the evidence has it
fn exact(value: f64) -> Option<Span> {
    Some(Span::exact(value))
}

/// No demand, low use: nothing is added, and the refusal that the look makes keeps nobody from shrinking.
#[test]
fn truth_row_1_without_demand_nothing_grows_and_no_veto_blocks_a_shrink() {
    let train = |wanted| trainer("train").running(4).wanting(wanted).gpu_activity(0.1);
    let idle = world().workload(train(4)).after(3);

    let still = idle.decision("train");
    assert_eq!((still.number.0, &still.steps[3].reason), (4, &Reason::NotGrowing));
    assert!(matches!(still.verdict, Verdict::Refuse { .. }), "{still:?}");
    let shrunk = idle.becomes(train(1)).remembered(false).later(300).decision("train");
    assert_eq!(shrunk.number.0, 1);
}

/// Demand, cards at work, no room in the KV cache and a full batch.
#[test]
fn truth_row_2_a_full_server_at_work_grows_and_is_accused_of_nothing() {
    let full =
        ServerEvidence { kv: exact(0.85), running: exact(256.0), waiting: exact(40.0), ..ServerEvidence::default() };
    let chat = server("chat").running(2).wanting(4).serving(full).seen(|gpu, _| {
        *gpu = GpuEvidence { engine: exact(0.95), dram: exact(0.5), ..busy_gpu() };
    });

    let decision = world().workload(chat).after(3).decision("chat");

    assert_eq!((decision.number.0, decision.verdict), (4, Verdict::Allow { by: Some(Saturated) }));
    assert_eq!(decision.findings(), [AddingJustified]);
}

/// Replicas that load a model: they are waited for, for a quarter of an hour, and accused of nothing.
#[test]
fn truth_row_8_cold_replicas_are_waited_for_until_they_are_late() {
    let cold = |seconds, wanted| {
        let chat = server("chat").pool(unlimited_pool().turned_ready(2, 30).starting(2, seconds)).wanting(wanted);
        let opinion = judge(&evidence(Class::Inference, &[], &[]));
        world().workload(chat).change("chat", |chat| chat.opinion = Some(opinion)).decision("chat")
    };

    let starting = cold(60, 4);
    assert_eq!((starting.number.0, starting.findings()), (4, vec![]));
    assert_eq!(starting.verdict, Verdict::Unknown(Gap::NoWarmReplica));
    let late = cold(900, 9);
    assert_eq!((late.number.0, late.findings()), (4, vec![]));
    assert_eq!(late.steps[0].reason, Reason::ReplicasNotStarting { replicas: 2, waited: secs(900) });
}

/// G21, of a service: one of eight is held down by heat. The table refuses on that node; which node a replica gets is not
/// the gate's to say, so it says what it sees and the others grow.
#[test]
fn truth_row_9_a_throttled_replica_of_a_service_is_told_and_the_service_grows() {
    let mut gpus = [GpuEvidence { clocks_held: exact(0.0), ..busy_gpu() }; 8];
    gpus[3].clocks_held = exact(0.9);

    let opinion = judge(&evidence(Class::Inference, &gpus, &[]));

    let throttled = opinion.findings.iter().find(|finding| finding.rule == Throttled).map(|finding| finding.weight);
    assert_eq!((opinion.lean, throttled), (Lean::Allow, Some(Weight::Advice)));
}

/// Starved by its loader: little CPU is left.
fn by_loader() -> WorkloadBuilder {
    trainer("train").running(4).wanting(8).on_unknown(OnUnknown::Allow).gpu_activity(0.22).cpu_of_limit(0.97)
}

/// Starved by its storage: the CPU waits.
fn by_storage() -> WorkloadBuilder {
    let train = trainer("train").running(4).wanting(8).on_unknown(OnUnknown::Allow).gpu_activity(0.22);
    train.cpu_of_limit(0.2).seen(|_, container| container.io_pressure = exact(0.35))
}

/// One decision after each of ten looks, which see the loader and the storage by turns.
fn by_turns(mut scenario: wellfed_engine::testing::Scenario) -> Vec<Decision> {
    let look = |number: u32| {
        scenario = scenario.clone().becomes(if number.is_multiple_of(2) { by_storage() } else { by_loader() }).after(1);
        scenario.decision("train")
    };
    (0..10).map(look).collect()
}

#[test]
fn truth_row_14_causes_that_take_turns_keep_the_verdict_and_make_none() {
    let standing = by_turns(world().workload(by_loader()).after(3));
    let refused = |one: &Decision| matches!(one.verdict, Verdict::Refuse { rule: DataLoader, .. });
    assert!(standing.iter().all(|one| refused(one) && one.number.0 == 4), "{standing:?}");

    let anew = by_turns(world().workload(by_loader()).after(1));
    assert!(anew.iter().all(|one| matches!(one.verdict, Verdict::Unknown(Gap::Counting { .. }))), "{anew:?}");
    assert!(anew.iter().all(|one| one.findings().is_empty()), "{anew:?}");
}

#[test]
fn truth_row_14_of_two_causes_at_once_one_is_named_throughout() {
    let both = || by_storage().seen(|_, container| container.pressure = exact(0.4));
    let opinion = judge(&both().build().1.unwrap());
    let causes: Vec<_> = opinion.findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(causes, [DataLoader, StorageStall]);

    let mut scenario = world().workload(both()).after(2);
    for look in 0..10 {
        scenario = scenario.after(1);
        let verdict = scenario.decision("train").verdict;
        assert!(matches!(verdict, Verdict::Refuse { rule: DataLoader, .. }), "look {look}: {verdict:?}");
    }
}
