//! What GPUs show of themselves.

use super::{JUSTIFIED, SATURATED, cpu, exact, found, gpu, lean, lost_for, server, value, vetoes, weight};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence, Source, TrainerEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Measure, Quantity, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{BandwidthBound, DataLoader, LaunchBound, Stalled, Throttled};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{busy_gpu, evidence};

/// Collectives that spin for a peer: active, no work, a power near idle.
fn hung() -> GpuEvidence {
    GpuEvidence { power: exact(0.2), ..gpu(1.0, 0.04, 0.0, 0.0) }
}

fn training(gpu: &GpuEvidence) -> Evidence {
    evidence(Class::Training, &[*gpu; 4], &[ContainerEvidence { limit: Some(8.0), ..ContainerEvidence::default() }; 4])
}

fn counting(class: Class, server: ServerEvidence) -> Evidence {
    Evidence { servers: vec![server; 4], class, ..training(&hung()) }
}

fn progress(rate: f64) -> ServerEvidence {
    ServerEvidence { progress: exact(rate), ..server(8.0, 30.0) }
}

/// Truth table, row 3, and G5 (`ROCm` exporter #34): always active, no work, power near idle, links quiet: busy but stuck.
#[test]
fn a_gpu_that_spins_for_a_peer_is_stuck() {
    let opinion = judge(&training(&hung()));

    assert_eq!((opinion.lean, found(&opinion)), (Lean::Refuse(Stalled), vec![(Stalled, Weight::Veto)]));
    let power = Measure { what: Quantity::PowerOfLimit, value: 0.2, threshold: Some(0.35) };
    assert_eq!(value(&opinion, Quantity::PowerOfLimit), Some(power));
}

#[test]
fn without_sm_activity_tensor_and_memory_tell_that_nothing_moves() {
    assert_eq!(lean(&training(&GpuEvidence { sm: None, ..hung() })), Lean::Refuse(Stalled));
    let reads = GpuEvidence { sm: None, dram: exact(0.02), ..hung() };
    assert_eq!(lean(&training(&reads)), Lean::Allow, "it reads its memory");
    let lost = GpuEvidence { sm: None, sm_lost: true, ..hung() };
    assert_eq!(lean(&training(&lost)), lost_for(Stalled, Source::Sms), "SM activity may have told that it works");
}

#[test]
fn a_hang_needs_a_power_near_idle_that_was_measured() {
    assert_eq!(lean(&training(&GpuEvidence { power: exact(0.35), ..hung() })), Lean::Allow);
    assert_eq!(lean(&training(&GpuEvidence { power: None, ..hung() })), Lean::Allow);
    let gap = GpuEvidence { power: Span::of(&[0.2; 5], 10, 1.5), ..hung() };
    assert_eq!(lean(&training(&gap)), Lean::Allow, "it may have worked meanwhile");
}

/// G7, DCGM #303: counters that are all zero on a GPU that is fully used are broken, whatever the power.
#[test]
fn counters_that_never_moved_are_no_hang() {
    for power in [0.2, 600.0 / 700.0] {
        let broken = GpuEvidence { util: exact(1.0), power: exact(power), ..gpu(0.0, 0.0, 0.0, 0.0) };

        assert_eq!(lean(&training(&broken)), Lean::Unknown(Gap::Contradiction { gpus: 4 }));
    }
}

#[test]
fn a_job_that_counts_its_tokens_is_believed() {
    let at = |server| lean(&counting(Class::Training, server));

    assert_eq!(at(progress(0.0)), Lean::Refuse(Stalled));
    assert_eq!(at(progress(0.1)), Lean::Allow);
    let lost = ServerEvidence { progress_lost: true, ..ServerEvidence::default() };
    assert_eq!(at(lost), lost_for(Stalled, Source::Answers));
}

/// A small model on a large card: always a kernel, few SMs, little power, and answers.
#[test]
fn an_inference_server_is_stuck_only_if_it_says_that_nothing_comes_out() {
    let at = |server| lean(&counting(Class::Inference, server));

    assert_eq!(at(progress(0.0)), Lean::Refuse(Stalled));
    assert_eq!(at(progress(900.0)), Lean::Allow);
    assert_eq!(at(server(8.0, 30.0)), Lean::Allow, "it does not say");
}

fn launching() -> Evidence {
    evidence(Class::Training, &[gpu(0.6, 0.15, 0.1, 0.05)], &[cpu(1.0)])
}

#[test]
fn small_kernels_beside_one_busy_core_hold_training_and_advise_inference() {
    let training = judge(&launching());
    let inference = judge(&Evidence { class: Class::Inference, ..launching() });

    assert_eq!((training.lean, found(&training)), (Lean::Refuse(LaunchBound), vec![(LaunchBound, Weight::Veto)]));
    assert_eq!((inference.lean, found(&inference)), (Lean::Allow, vec![(LaunchBound, Weight::Advice)]));
    let sm = Measure { what: Quantity::SmActivity, value: 0.15, threshold: Some(0.25) };
    assert_eq!(value(&training, Quantity::SmActivity), Some(sm));
}

#[test]
fn small_kernels_need_all_of_their_signs() {
    let at = |gpu, cores| lean(&evidence(Class::Training, &[gpu], &[cpu(cores)]));

    assert_eq!(at(gpu(0.51, 0.249, 0.299, 0.149), 0.80), Lean::Refuse(LaunchBound));
    assert_eq!(at(gpu(0.20, 0.06, 0.1, 0.05), 1.0), Lean::Refuse(LaunchBound), "starting takes most of the time");
    assert_eq!(at(gpu(0.40, 0.20, 0.1, 0.05), 1.0), Lean::Allow, "large kernels that come seldom");
    assert_eq!(at(gpu(0.90, 0.15, 0.1, 0.05), 1.0), Lean::Allow, "never without a kernel");
    assert_eq!(at(gpu(0.60, 0.25, 0.1, 0.05), 1.0), Lean::Allow, "SMs at work");
    assert_eq!(at(gpu(0.60, 0.15, 0.3, 0.05), 1.0), Lean::Allow, "memory at work: decode with a batch of one");
    assert_eq!(at(gpu(0.60, 0.15, 0.1, 0.15), 1.0), Lean::Allow, "tensor pipe at work");
    assert_eq!(at(gpu(0.60, 0.15, 0.1, 0.05), 0.79), Lean::Allow, "no core is busy");
    assert_eq!(at(GpuEvidence { sm: None, ..gpu(0.6, 0.0, 0.1, 0.05) }, 1.0), Lean::Allow, "SMs are not measured");
    assert_eq!(at(GpuEvidence { dram: None, ..gpu(0.6, 0.15, 0.0, 0.05) }, 1.0), Lean::Allow, "nor is memory");
    assert_eq!(at(GpuEvidence { tensor: None, ..gpu(0.6, 0.15, 0.1, 0.0) }, 1.0), Lean::Allow, "nor the tensor pipe");
}

/// A trainer without a CPU limit whose loader keeps six cores busy: thin kernels because data is late look the same.
#[test]
fn several_busy_cores_without_a_limit_may_be_a_data_loader_and_only_advise() {
    let unlimited = |cores| ContainerEvidence { limit: None, throttled: None, pressure: None, ..cpu(cores) };
    let at = |container, trainer| {
        let seen = evidence(Class::Training, &[gpu(0.6, 0.15, 0.1, 0.05)], &[container]);
        let seen = Evidence { trainers: vec![trainer], ..seen };
        (lean(&seen), weight(&seen, LaunchBound))
    };
    let silent = TrainerEvidence::default();

    assert_eq!(at(unlimited(6.0), silent), (Lean::Allow, Some(Weight::Advice)));
    assert_eq!(at(unlimited(2.0), silent), (Lean::Allow, Some(Weight::Advice)));
    assert_eq!(
        at(unlimited(1.9), silent),
        (Lean::Refuse(LaunchBound), Some(Weight::Veto)),
        "one thread and little else"
    );
    assert_eq!(at(cpu(6.0), silent), (Lean::Refuse(LaunchBound), Some(Weight::Veto)), "the CPU has room");
    let counted =
        TrainerEvidence { step_seconds: exact(1.0), data_wait_seconds: exact(0.02), ..TrainerEvidence::default() };
    assert_eq!(
        at(unlimited(6.0), counted),
        (Lean::Refuse(LaunchBound), Some(Weight::Veto)),
        "it does not wait for data"
    );
}

/// Nothing it only advises beside a cause that is seen directly.
#[test]
fn several_busy_cores_under_pressure_are_a_data_loader() {
    let pressed = ContainerEvidence { limit: None, throttled: None, pressure: exact(0.3), ..cpu(6.0) };
    let seen = evidence(Class::Training, &[gpu(0.4, 0.09, 0.1, 0.05)], &[pressed]);

    assert_eq!((vetoes(&seen), weight(&seen, LaunchBound)), (vec![DataLoader], None));
}

/// R16, `link traffic about 0`: an exchange that fills a slow link holds GPUs as still as a hang.
#[test]
fn links_that_are_measured_must_rest_beside_a_hang() {
    let at = |nvlink, pcie, network| {
        let gpu = GpuEvidence { nvlink, pcie, ..hung() };
        let container = ContainerEvidence { network, ..cpu(1.0) };
        vetoes(&evidence(Class::Training, &[gpu; 4], &[container; 4]))
    };

    assert_eq!(at(None, None, None), [Stalled], "links that nobody measures tell nothing");
    assert_eq!(at(exact(0.049), exact(0.049), exact(1.5e8)), [Stalled]);
    assert_eq!(at(exact(0.05), None, None), []);
    assert_eq!(at(None, exact(0.05), None), []);
    assert_eq!(at(None, None, exact(1.6e8)), []);
}

/// A trainer that exports the length of its steps, and no tokens.
/// R16: link traffic about 0. Kills: a rule that reads the pod's network alone.
#[test]
fn ports_of_rdma_that_are_measured_must_rest_beside_a_hang() {
    let beside = |rdma, rdma_lost| {
        let mut seen = training(&hung());
        seen.containers.iter_mut().for_each(|one| (one.rdma, one.rdma_lost) = (rdma, rdma_lost));
        lean(&seen)
    };

    assert_eq!(beside(exact(0.04), false), Lean::Refuse(Stalled));
    assert_eq!(beside(None, false), Lean::Refuse(Stalled), "there are none, or nobody measures them");
    assert_ne!(beside(exact(0.05), false), Lean::Refuse(Stalled));
    assert_ne!(beside(None, true), Lean::Refuse(Stalled));
}

#[test]
fn steps_that_end_are_progress() {
    let at = |trainer: TrainerEvidence| {
        vetoes(&Evidence { trainers: vec![trainer, TrainerEvidence::default()], ..training(&hung()) })
    };

    assert_eq!(at(TrainerEvidence { steps: exact(0.0), ..TrainerEvidence::default() }), [Stalled]);
    assert_eq!(at(TrainerEvidence { steps: exact(0.002), ..TrainerEvidence::default() }), [], "one in eight minutes");
    let gauge = TrainerEvidence { step_seconds: exact(0.4), ..TrainerEvidence::default() };
    assert_eq!(at(gauge), [Stalled], "a gauge repeats the length of the last one for ever");
}

/// Decode is bound by memory bandwidth by nature: no reason to refuse.
#[test]
fn a_gpu_that_waits_for_its_memory_is_advised_and_may_grow() {
    let decoding = gpu(0.95, 0.4, 0.6, 0.05);
    let opinion = judge(&evidence(Class::Inference, &[decoding], &[cpu(1.0)]));

    assert_eq!(opinion.lean, Lean::Allow);
    assert_eq!(found(&opinion), [SATURATED, JUSTIFIED, (BandwidthBound, Weight::Advice)]);
}

#[test]
fn much_traffic_beside_much_arithmetic_is_not_bound_by_bandwidth() {
    let rules = |gpu| found(&judge(&evidence(Class::Training, &[gpu], &[cpu(1.0)])));

    assert_eq!(rules(gpu(0.95, 0.7, 0.6, 0.3)), [SATURATED, JUSTIFIED]);
    assert_eq!(rules(gpu(0.95, 0.4, 0.49, 0.05)), [SATURATED, JUSTIFIED]);
}

#[test]
fn clocks_that_fall_for_a_moment_are_not_throttled() {
    let held = |share| GpuEvidence { clocks_held: exact(share), ..busy_gpu() };
    let rules = |gpu| found(&judge(&evidence(Class::Training, &[gpu], &[cpu(1.0)])));

    assert_eq!(rules(held(0.59)), [SATURATED, JUSTIFIED]);
    assert_eq!(rules(held(0.60)), [SATURATED, JUSTIFIED, (Throttled, Weight::Advice)]);
}

/// `DCGM_EXP_CLOCK_EVENTS_COUNT` counts over five minutes: one short event in each of them is no time to speak of.
#[test]
fn clock_events_are_counted_by_the_minute_and_hold_nobody_up() {
    let events = |each: f64| GpuEvidence { clock_events: exact(each), ..busy_gpu() };
    let rules = |gpus: &[GpuEvidence]| found(&judge(&evidence(Class::Training, gpus, &[cpu(1.0)])));

    assert_eq!(rules(&[events(0.2)]), [SATURATED, JUSTIFIED], "one in five minutes");
    assert_eq!(rules(&[events(0.6)]), [SATURATED, JUSTIFIED, (Throttled, Weight::Advice)]);
    let one_of_eight =
        [events(2.0), events(0.0), events(0.0), events(0.0), events(0.0), events(0.0), events(0.0), events(0.0)];
    assert_eq!(
        rules(&one_of_eight),
        [SATURATED, JUSTIFIED, (Throttled, Weight::Advice)],
        "no straggler by events alone"
    );
    let bits = GpuEvidence { clocks_held: exact(0.1), ..events(2.0) };
    assert_eq!(rules(&[bits]), [SATURATED, JUSTIFIED], "the time itself outranks how often");
}
