//! Whether more GPUs would help, on one look at the evidence. The golden scenarios of the rules that exist.

use wellfed_engine::evidence::{ContainerEvidence, Evidence, Exits, GpuEvidence, TrainerEvidence, Trend};
use wellfed_engine::explain::measured;
use wellfed_engine::judge;
use wellfed_engine::opinion::{Confidence, Gap, Lean, Measure, Opinion, Quantity, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName;
use wellfed_engine::span::Span;
use wellfed_engine::testing::{busy_gpu, evidence, secs, starved_gpu};

#[allow(clippy::unnecessary_wraps)] // as the fields of evidence are
fn exact(value: f64) -> Option<Span> {
    Some(Span::exact(value))
}

fn cpu_bound() -> ContainerEvidence {
    ContainerEvidence { cores: exact(7.76), limit: Some(8.0), throttled: exact(0.40), ..ContainerEvidence::default() }
}

fn idle_cpu() -> ContainerEvidence {
    let none = exact(0.0);
    let still =
        ContainerEvidence { throttled: none, pressure: none, io_pressure: none, ..ContainerEvidence::default() };
    ContainerEvidence { cores: exact(1.0), limit: Some(8.0), ..still }
}

fn rules(opinion: &Opinion) -> Vec<RuleName> {
    opinion.findings.iter().map(|finding| finding.rule).collect()
}

/// G1 and truth table, row 4: GPUs 22 % active, CPU at 97 % of its limit and throttled, a queue.
#[test]
fn starved_gpus_beside_a_throttled_cpu_wait_for_their_data() {
    for class in [Class::Training, Class::Inference, Class::Batch] {
        let opinion = judge(&evidence(class, &[starved_gpu()], &[cpu_bound()]));

        assert_eq!(opinion.lean, Lean::Refuse(RuleName::DataLoader));
        assert_eq!(rules(&opinion), [RuleName::DataLoader], "a named cause silences the unnamed one");
        let activity = Measure { what: Quantity::GpuActivity, value: 0.22, threshold: Some(0.5) };
        assert_eq!(opinion.findings[0].measured[0], activity);
    }
}

/// G3: active, and at work by SMs, tensor pipe and memory.
#[test]
fn busy_gpus_are_saturated() {
    let opinion = judge(&evidence(Class::Inference, &[busy_gpu()], &[idle_cpu()]));

    assert_eq!(opinion.lean, Lean::Allow);
    assert_eq!(rules(&opinion), [RuleName::Saturated, RuleName::AddingJustified]);
}

/// LLM decode: hardly any tensor use, much memory bandwidth. A legitimate reason to grow.
#[test]
fn a_decoder_that_lives_on_memory_bandwidth_is_saturated() {
    let decoding =
        GpuEvidence { engine: exact(0.9), dram: exact(0.55), tensor: exact(0.04), sm: exact(0.3), ..busy_gpu() };

    let opinion = judge(&evidence(Class::Inference, &[decoding], &[idle_cpu()]));

    let all = vec![RuleName::Saturated, RuleName::AddingJustified, RuleName::BandwidthBound];
    assert_eq!((opinion.lean, rules(&opinion)), (Lean::Allow, all));
}

/// G7: always active by one counter, nothing at all by the others.
#[test]
fn gpus_that_are_fully_busy_and_idle_at_once_are_no_evidence() {
    let zero = exact(0.0);
    let broken = GpuEvidence { util: exact(1.0), engine: zero, sm: zero, tensor: zero, dram: zero, ..busy_gpu() };

    let opinion = judge(&evidence(Class::Training, &[broken], &[cpu_bound()]));

    assert_eq!(opinion.lean, Lean::Unknown(Gap::Contradiction { gpus: 1 }));
}

/// G11: a MIG instance has no utilisation, or one that reads zero; the compute engine tells.
#[test]
fn a_mig_instance_is_judged_by_its_compute_engine() {
    for util in [None, exact(0.0)] {
        let instance = GpuEvidence { util, engine: exact(0.8), ..busy_gpu() };

        let opinion = judge(&evidence(Class::Inference, &[instance], &[cpu_bound()]));

        assert_eq!(
            (opinion.lean, rules(&opinion)),
            (Lean::Allow, vec![RuleName::Saturated, RuleName::AddingJustified])
        );
    }
}

#[test]
fn a_mig_instance_that_lost_its_compute_engine_is_not_idle() {
    let instance = GpuEvidence { util: exact(0.0), engine: None, engine_lost: true, ..GpuEvidence::default() };

    let opinion = judge(&evidence(Class::Training, &[instance], &[cpu_bound()]));

    assert_eq!(opinion.lean, Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 1 }));
}

/// dcgm-exporter #395: a card without profiling metrics is judged by its utilisation, and less surely.
#[test]
fn utilisation_stands_in_where_nothing_better_was_ever_measured() {
    let old_card = GpuEvidence { util: exact(0.22), ..GpuEvidence::default() };

    let opinion = judge(&evidence(Class::Training, &[old_card], &[cpu_bound()]));

    assert_eq!(opinion.lean, Lean::Refuse(RuleName::DataLoader));
    assert_eq!(opinion.findings[0].confidence, Confidence::Medium);
}

/// dcgm-exporter #349, #400: profiling is off, and whoever reads the finding is told what to turn on.
#[test]
fn dcgm_exporter_349_400_a_finding_without_sm_activity_names_the_field_to_enable() {
    let told = |gpus: &[GpuEvidence]| {
        let finding = judge(&evidence(Class::Training, gpus, &[cpu_bound()])).findings.remove(0);
        (finding.confidence, measured(&finding).contains("enable DCGM_FI_PROF_SM_ACTIVE"))
    };
    let unprofiled = GpuEvidence { util: exact(0.22), ..GpuEvidence::default() };

    assert_eq!(told(&[unprofiled]), (Confidence::Medium, true));
    assert_eq!(told(&[starved_gpu()]), (Confidence::High, false));
    let one_of_eight = [&[starved_gpu()][..], &[unprofiled; 7]].concat();
    assert_eq!(told(&one_of_eight), (Confidence::Medium, true), "one speaks for itself alone");
}

/// GPUs that the pods ask for and none that is seen; how series without a pod's label come to that is tested where they are
/// read (G13).
#[test]
fn gpus_that_nobody_can_attribute_are_no_evidence() {
    let seen = Evidence { expected_gpus: 4, ..evidence(Class::Training, &[], &[cpu_bound()]) };

    assert_eq!(judge(&seen).lean, Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 4 }));
}

/// G15: what is left after implausible samples were dropped must be at least 80 %.
#[test]
fn four_of_five_gpus_suffice_and_three_do_not() {
    let judged = |seen: usize| {
        let gpus = vec![starved_gpu(); seen];
        judge(&Evidence { expected_gpus: 5, ..evidence(Class::Training, &gpus, &[cpu_bound()]) }).lean
    };

    assert_eq!(judged(4), Lean::Refuse(RuleName::DataLoader));
    assert_eq!(judged(3), Lean::Unknown(Gap::GpusUnseen { seen: 3, expected: 5 }));
}

/// G15, within one GPU: it is known by four samples in five, and those that are gone could have been anything.
#[test]
fn golden_15_samples_that_are_gone_speak_for_the_workload_and_too_few_say_nothing() {
    let lean = |activity: f64, samples: usize| {
        let engine = Span::of(&vec![activity; samples], 20, 1.0);
        judge(&evidence(
            Class::Training,
            &[GpuEvidence { engine, util: None, dram: None, ..starved_gpu() }],
            &[cpu_bound()],
        ))
        .lean
    };
    let unseen = Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 1 });

    assert_eq!(
        [20, 16, 15, 10, 1].map(|samples| lean(0.22, samples)),
        [Lean::Refuse(RuleName::DataLoader), Lean::Refuse(RuleName::DataLoader), unseen, unseen, unseen]
    );
    assert_eq!(
        [20, 16].map(|samples| lean(0.38, samples)),
        [Lean::Refuse(RuleName::DataLoader), Lean::Allow],
        "it may have been busy"
    );
}

/// One container that crashed, in a pod that is not warm, says nothing of how the others fare.
#[test]
fn a_replica_that_crashed_does_not_silence_what_the_others_show() {
    let failed = Exits { failed: 1, ..Exits::default() };
    let warm = evidence(Class::Training, &[starved_gpu(); 3], &[cpu_bound(); 3]);

    assert_eq!(judge(&Evidence { ended: vec![failed.into()], ..warm }).lean, Lean::Refuse(RuleName::DataLoader));
}

#[test]
fn nothing_is_judged_before_half_a_window() {
    let early = |covered| Evidence { covered, ..evidence(Class::Training, &[starved_gpu()], &[cpu_bound()]) };

    let gap = Gap::TooShort { covered: secs(299), needed: secs(300) };
    assert_eq!(judge(&early(secs(299))).lean, Lean::Unknown(gap));
    assert_eq!(judge(&early(secs(300))).lean, Lean::Refuse(RuleName::DataLoader));
}

#[test]
fn without_a_warm_replica_there_is_nothing_to_judge() {
    assert_eq!(judge(&evidence(Class::Training, &[], &[])).lean, Lean::Unknown(Gap::NoWarmReplica));
}

#[test]
fn the_thresholds_are_inclusive_where_they_say_from() {
    let lean = |gpu, container| judge(&evidence(Class::Inference, &[gpu], &[container])).lean;
    let activity = |share| GpuEvidence { engine: exact(share), ..starved_gpu() };
    let refused = Lean::Refuse(RuleName::DataLoader);
    let at_limit = |share: f64| ContainerEvidence { cores: exact(share * 8.0), ..idle_cpu() };
    let throttled = |share| ContainerEvidence { throttled: exact(share), cores: exact(6.0), ..idle_cpu() };
    let pressed = |share| ContainerEvidence { pressure: exact(share), ..idle_cpu() };

    assert_eq!(lean(activity(0.499), cpu_bound()), refused);
    assert_eq!(lean(activity(0.50), cpu_bound()), Lean::Allow);
    assert_eq!(lean(activity(0.4), at_limit(0.85)), refused);
    assert_eq!(lean(activity(0.4), at_limit(0.84)), Lean::Allow);
    assert_eq!(lean(activity(0.4), throttled(0.25)), refused);
    assert_eq!(lean(activity(0.4), throttled(0.24)), Lean::Allow);
    assert_eq!(lean(activity(0.4), pressed(0.20)), refused);
    assert_eq!(lean(activity(0.4), pressed(0.19)), Lean::Allow);
}

/// The trap of engines that poll: one busy core of a one-core limit proves nothing without throttling.
#[test]
fn one_busy_core_of_one_is_how_an_inference_engine_polls() {
    let polling = ContainerEvidence { limit: Some(1.0), pressure: None, ..idle_cpu() };
    let throttled = ContainerEvidence { throttled: exact(0.4), ..polling };
    let lean = |container| judge(&evidence(Class::Inference, &[starved_gpu()], &[container])).lean;

    assert_eq!(lean(polling), Lean::Allow);
    assert_eq!(lean(throttled), Lean::Refuse(RuleName::DataLoader));
}

/// Source: kubeopt PR #21. A quiet CPU says nothing about the GPU.
#[test]
fn a_quiet_cpu_is_not_an_idle_gpu() {
    assert_eq!(judge(&evidence(Class::Training, &[busy_gpu()], &[idle_cpu()])).lean, Lean::Allow);
}

#[test]
fn one_hot_gpu_among_seven_idle_ones_is_not_hidden_by_a_mean() {
    let mut gpus = vec![starved_gpu(); 7];
    gpus.push(busy_gpu());

    assert_eq!(judge(&evidence(Class::Training, &gpus[..], &[cpu_bound()])).lean, Lean::Refuse(RuleName::DataLoader));
    gpus[0] = busy_gpu();
    assert_eq!(judge(&evidence(Class::Inference, &gpus[..], &[cpu_bound()])).lean, Lean::Allow);
}

#[test]
fn low_use_without_a_cause_holds_training_and_advises_inference() {
    let quiet = |class| judge(&evidence(class, &[starved_gpu()], &[idle_cpu()]));
    let weight = |opinion: &Opinion| opinion.findings[0].weight;

    assert_eq!(quiet(Class::Training).lean, Lean::Refuse(RuleName::Underused));
    assert_eq!(quiet(Class::Batch).lean, Lean::Refuse(RuleName::Underused));
    assert_eq!(quiet(Class::Inference).lean, Lean::Allow);
    assert_eq!(weight(&quiet(Class::Inference)), Weight::Advice);
}

/// dcgm-exporter #151, #201, #144, #307: what a shared card measured may be another pod's doing.
#[test]
fn a_shared_gpu_only_advises() {
    let shared = |gpu| GpuEvidence { shared: true, ..gpu };
    let starved = judge(&evidence(Class::Training, &[shared(starved_gpu())], &[cpu_bound()]));
    let busy = judge(&evidence(Class::Training, &[shared(busy_gpu())], &[cpu_bound()]));

    assert_eq!((starved.lean, starved.findings[0].weight), (Lean::Allow, Weight::Advice));
    assert_eq!(rules(&starved), [RuleName::DataLoader]);
    assert_eq!((busy.lean, rules(&busy)), (Lean::Allow, vec![]), "it is not shown as a fault");
}

#[test]
fn one_shared_gpu_of_five_does_not_hide_what_the_others_show() {
    let mut gpus = vec![starved_gpu(); 5];
    gpus[0].shared = true;
    let mut containers = vec![cpu_bound(); 5];
    containers[0].shared = true;

    assert_eq!(judge(&evidence(Class::Training, &gpus, &containers)).lean, Lean::Refuse(RuleName::DataLoader));
}

/// What software counts on a shared GPU may be a neighbour's doing too: it takes memory, and time of the card.
#[test]
fn what_software_counts_on_a_shared_gpu_only_advises() {
    let counted = |shared: bool, told: &TrainerEvidence, exits| {
        let gpu = GpuEvidence { shared, ..busy_gpu() };
        let container = ContainerEvidence { shared, exits, ..cpu_bound() };
        let seen = Evidence { trainers: vec![*told], ..evidence(Class::Training, &[gpu], &[container]) };
        // Its series may be lost, or bear the name of another of the card's pods.
        [Vec::new(), vec![gpu]].map(|gpus| judge(&Evidence { gpus, ..seen.clone() }).lean)
    };
    let full = Exits { gpu_memory: 1, ..Exits::default() };
    let diverged = TrainerEvidence { loss: Some(Trend::Diverged), ..TrainerEvidence::default() };
    let unseen = Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 1 });

    assert_eq!(counted(true, &TrainerEvidence::default(), full), [unseen, Lean::Allow]);
    assert_eq!(counted(false, &TrainerEvidence::default(), full), [Lean::Refuse(RuleName::GpuOutOfMemory); 2]);
    assert_eq!(counted(true, &diverged, Exits::default()), [unseen, Lean::Allow]);
    assert_eq!(counted(false, &diverged, Exits::default()), [Lean::Refuse(RuleName::RunNotProgressing); 2]);
}

/// The one trainer that counts its wait for data is on a shared GPU: it refuses nothing, and what it says for growth stands.
#[test]
fn a_count_on_a_shared_gpu_that_speaks_for_growth_is_heard() {
    let counts =
        TrainerEvidence { step_seconds: exact(1.0), data_wait_seconds: exact(0.01), ..TrainerEvidence::default() };
    let lean = |shared: bool, told: TrainerEvidence| {
        let mut seen = evidence(Class::Training, &[starved_gpu(); 6], &[cpu_bound(); 6]);
        (seen.gpus[0].shared, seen.containers[0].shared) = (shared, shared);
        seen.trainers = vec![TrainerEvidence::default(); 6];
        seen.trainers[0] = told;
        judge(&seen).lean
    };
    let unheard = Lean::Refuse(RuleName::DataLoader);

    assert_eq!([lean(false, TrainerEvidence::default()), lean(true, TrainerEvidence::default())], [unheard; 2]);
    assert_eq!(lean(true, counts), lean(false, counts));
    assert_ne!(lean(true, counts), unheard);
}

/// One replica's GPU is shared, and only that replica ran out of memory.
#[test]
fn an_exit_on_the_one_shared_gpu_of_five_refuses_nothing() {
    let lean = |shared: usize| {
        let mut seen = evidence(Class::Training, &[busy_gpu(); 5], &[ContainerEvidence::default(); 5]);
        (seen.gpus[shared].shared, seen.containers[shared].shared) = (true, true);
        seen.containers[0].exits.gpu_memory = 1;
        judge(&seen).lean
    };

    assert_eq!([lean(0), lean(1)], [Lean::Allow, Lean::Refuse(RuleName::GpuOutOfMemory)]);
}

#[test]
fn measured_values_are_rounded_to_what_can_be_read() {
    let third = GpuEvidence { engine: exact(1.0 / 3.0), ..starved_gpu() };

    let opinion = judge(&evidence(Class::Training, &[third], &[cpu_bound()]));

    let measured = Measure { what: Quantity::GpuActivity, value: 0.333, threshold: Some(0.5) };
    assert_eq!(opinion.findings[0].measured[0], measured);
}
