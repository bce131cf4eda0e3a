//! GPUs that work together: exchange and stragglers.

use super::{cpu, exact, found, gpu, lean, training, value, vetoes, weight};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Lean, Measure, Quantity, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{CommunicationBound, Straggler, Throttled};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{busy_gpu, starved_gpu};

/// By turns 95 % and 10 % active, with 60 % of the memory in use.
fn by_turns() -> GpuEvidence {
    GpuEvidence { swing: exact(0.425), memory: exact(0.6), ..gpu(0.525, 0.36, 0.25, 0.2) }
}

/// Half of the time at 200 GB/s of the 450 of an H100.
fn on_nvlink() -> GpuEvidence {
    GpuEvidence { nvlink: exact(0.222), ..by_turns() }
}

/// G5 and truth table, row 5: eight GPUs by turns active and not, with bursts on `NVLink`.
#[test]
fn gpus_that_work_and_exchange_by_turns_wait_for_each_other() {
    let opinion = judge(&training(&[on_nvlink(); 8]));

    assert_eq!(opinion.lean, Lean::Refuse(CommunicationBound));
    assert_eq!(found(&opinion), [(CommunicationBound, Weight::Veto)]);
    let swing = Measure { what: Quantity::GpuSwing, value: 0.425, threshold: Some(0.2) };
    assert_eq!(value(&opinion, Quantity::GpuSwing), Some(swing));
}

/// Collectives that spin for a peer count as active (facts: R1/R2, NCCL busy-wait).
#[test]
fn gpus_that_spin_in_collectives_wait_for_each_other() {
    let spinning = GpuEvidence { nvlink: exact(0.4), memory: exact(0.6), ..gpu(0.95, 0.2, 0.2, 0.08) };

    assert_eq!(lean(&training(&[spinning; 8])), Lean::Refuse(CommunicationBound));
    let decodes = GpuEvidence { dram: exact(0.45), ..spinning };
    assert_eq!(lean(&training(&[decodes; 8])), Lean::Allow, "memory at work is work");
    let multiplies = GpuEvidence { tensor: exact(0.25), ..spinning };
    assert_eq!(lean(&training(&[multiplies; 8])), Lean::Allow, "so is a tensor pipe at work");
    let half = GpuEvidence { sm: exact(0.4), tensor: exact(0.18), ..spinning };
    assert_eq!(
        lean(&training(&[half; 8])),
        Lean::Refuse(CommunicationBound),
        "more than half of each step is exchange"
    );
    let rests = GpuEvidence { engine: exact(0.89), util: exact(0.89), ..half };
    assert_eq!(lean(&training(&[rests; 8])), Lean::Allow, "spinning leaves no gaps");
}

#[test]
fn replicas_of_a_service_or_a_batch_job_exchange_nothing() {
    for class in [Class::Inference, Class::Batch] {
        let seen = Evidence { class, ..training(&[on_nvlink(); 8]) };

        assert_eq!((lean(&seen), weight(&seen, CommunicationBound)), (Lean::Allow, Some(Weight::Advice)));
    }
}

/// Traps: pipeline bubbles, accumulated gradients, an evaluation every few steps.
#[test]
fn gpus_that_swing_without_a_busy_link_do_not_wait_for_each_other() {
    let quiet = GpuEvidence { nvlink: exact(0.05), pcie: exact(0.1), ..by_turns() };

    assert_eq!(vetoes(&training(&[quiet; 8])), []);
}

/// Trap: `NVLink` series are absent on `PCIe` boards and in passthrough; missing is not zero, and not full either.
#[test]
fn without_nvlink_series_the_other_links_tell() {
    assert_eq!(vetoes(&training(&[by_turns(); 8])), []);
    let on_pcie = GpuEvidence { pcie: exact(0.2), ..by_turns() };
    assert_eq!(vetoes(&training(&[on_pcie; 8])), [CommunicationBound]);
    let elsewhere = ContainerEvidence { limit: None, ..cpu(1.0) };
    let unknown = Evidence { containers: vec![elsewhere; 8], ..training(&[on_pcie; 8]) };
    assert_eq!(vetoes(&unknown), [], "whether the CPU rests");
    let network = |rate| ContainerEvidence { network: exact(rate), ..cpu(1.0) };
    let over = |rate, pods| Evidence { containers: vec![network(rate); pods], ..training(&[by_turns(); 8]) };
    assert_eq!(vetoes(&over(0.9375e9, 2)), [CommunicationBound]);
    assert_eq!(vetoes(&over(0.9e9, 2)), []);
    assert_eq!(vetoes(&over(0.9375e9, 1)), [], "one pod has nobody to exchange with");
}

/// `ZeRO-Offload` on eight A100: gradients go to the host and parameters come back, and the CPU computes in between.
#[test]
fn an_optimizer_on_the_cpu_is_no_exchange_between_gpus() {
    let offloads = GpuEvidence {
        swing: exact(0.3),
        memory: exact(0.6),
        nvlink: exact(0.03),
        pcie: exact(0.25),
        ..gpu(0.45, 0.36, 0.25, 0.2)
    };
    let at = |cores| vetoes(&Evidence { containers: vec![cpu(cores); 8], ..training(&[offloads; 8]) });

    assert_eq!(at(4.8), []);
    assert_eq!(at(3.9), [CommunicationBound], "an idle CPU computes nothing");
    let beside_nvlink = GpuEvidence { nvlink: exact(0.25), ..offloads };
    let busy = Evidence { containers: vec![cpu(4.8); 8], ..training(&[beside_nvlink; 8]) };
    assert_eq!(vetoes(&busy), [CommunicationBound], "`NVLink` carries nothing for the host");
}

#[test]
fn an_exchange_needs_all_of_its_signs() {
    let at = |gpu: GpuEvidence| vetoes(&training(&[gpu; 8]));

    assert_eq!(at(GpuEvidence { swing: exact(0.2), nvlink: exact(0.2), ..by_turns() }), [CommunicationBound]);
    assert_eq!(at(GpuEvidence { swing: exact(0.19), ..on_nvlink() }), []);
    assert_eq!(at(GpuEvidence { nvlink: exact(0.19), ..by_turns() }), []);
    assert_eq!(at(GpuEvidence { memory: exact(0.8), ..on_nvlink() }), [], "no room in its memory");
    assert_eq!(at(GpuEvidence { memory: None, ..on_nvlink() }), []);
    assert_eq!(at(GpuEvidence { engine: exact(0.7), ..on_nvlink() }), [], "active most of the time");
    assert_eq!(vetoes(&training(&[on_nvlink()])), [], "alone");
}

/// G21: one of eight at 60 % of its peers' clock, heat for nine of ten minutes.
#[test]
fn one_hot_gpu_of_eight_holds_up_a_group_and_no_replica_helps() {
    let mut gpus = [GpuEvidence { clock: exact(1980.0), clocks_held: exact(0.0), ..busy_gpu() }; 8];
    (gpus[3].clock, gpus[3].clocks_held) = (exact(0.6 * 1980.0), exact(0.9));
    let opinion = judge(&training(&gpus));

    assert_eq!(opinion.lean, Lean::Refuse(Straggler));
    assert_eq!(weight(&training(&gpus), Throttled), Some(Weight::Advice));
    let clock = Measure { what: Quantity::ClockOfPeers, value: 0.6, threshold: Some(0.8) };
    assert_eq!(value(&opinion, Quantity::ClockOfPeers), Some(clock));
    assert_eq!(value(&opinion, Quantity::GpusConcerned).map(|concerned| concerned.value), Some(1.0));
}

/// G21 by either sign alone.
#[test]
fn a_low_clock_or_held_clocks_alone_make_a_straggler() {
    let clocks = |odd: f64, others: f64| {
        let mut gpus = [GpuEvidence { clock: exact(others), ..busy_gpu() }; 8];
        gpus[3].clock = exact(odd);
        vetoes(&training(&gpus))
    };
    let held = |odd: f64, others: Option<Span>| {
        let mut gpus = [GpuEvidence { clocks_held: others, ..busy_gpu() }; 8];
        gpus[3].clocks_held = exact(odd);
        vetoes(&training(&gpus))
    };

    assert_eq!(clocks(1_583.0, 1_980.0), [Straggler]);
    assert_eq!(clocks(1_584.0, 1_980.0), [], "80 % of its peers");
    assert_eq!(held(0.6, exact(0.0)), [Straggler]);
    assert_eq!(held(0.59, exact(0.0)), []);
    assert_eq!(held(0.9, exact(0.9)), [], "a hot room is no straggler");
    assert_eq!(held(0.9, None), [], "the others may be hot too");
    let mut some_unknown = [GpuEvidence { clocks_held: exact(0.0), ..busy_gpu() }; 8];
    some_unknown[3].clocks_held = exact(0.9);
    some_unknown[5..].iter_mut().for_each(|gpu| gpu.clocks_held = None);
    assert_eq!(vetoes(&training(&some_unknown)), [], "so may three of them");
}

/// Truth table, row 12: high on some of the cards. The table refuses; here it is told (`docs/adr/0007`): the last stage of a
/// pipeline and the trainer of a group that generates are less active by design, beside peers that are saturated.
#[test]
fn a_gpu_forty_points_apart_from_its_peers_is_told_unless_a_cause_explains_it() {
    let apart = |odd: f64| {
        let mut gpus = [gpu(0.9, 0.7, 0.3, 0.4); 8];
        (gpus[0].engine, gpus[0].util) = (exact(odd), exact(odd));
        let seen = training(&gpus);
        (lean(&seen), weight(&seen, Straggler))
    };

    assert_eq!(apart(0.49), (Lean::Allow, Some(Weight::Advice)));
    assert_eq!(apart(0.51), (Lean::Allow, None));
    let mut gpus = [starved_gpu(); 8];
    gpus[0] = busy_gpu();
    let throttled = ContainerEvidence { throttled: exact(0.4), ..cpu(7.8) };
    let explained = Evidence { containers: vec![throttled; 8], ..training(&gpus) };
    assert_eq!(vetoes(&explained), [wellfed_engine::rules::RuleName::DataLoader]);
}

/// Trap of R13: only peers of one product are comparable.
#[test]
fn a_product_of_another_clock_is_no_straggler() {
    let a100 = GpuEvidence { clock: exact(1_410.0), product: Some(2), ..busy_gpu() };
    let mut gpus = [GpuEvidence { clock: exact(1_980.0), product: Some(1), ..busy_gpu() }; 8];
    gpus[0] = a100;

    assert_eq!(vetoes(&training(&gpus)), []);
}

/// Trap of R13: a power cap in software lowers the clocks of air-cooled cards, more of one than of another.
#[test]
fn a_power_cap_that_lowers_clocks_a_little_is_normal_operation() {
    let clocks = [1_740.0, 1_695.0, 1_755.0, 1_620.0, 1_710.0, 1_500.0, 1_725.0, 1_680.0];
    let gpus = clocks.map(|clock| GpuEvidence { clock: exact(clock), ..busy_gpu() });

    assert_eq!(vetoes(&training(&gpus)), []);
}

#[test]
fn an_idle_gpu_lowers_its_clock_by_itself() {
    let mut gpus = [GpuEvidence { clock: exact(1_980.0), ..gpu(0.75, 0.6, 0.3, 0.3) }; 8];
    gpus[3] = GpuEvidence { clock: exact(345.0), ..gpu(0.6, 0.5, 0.2, 0.2) };

    assert_eq!(vetoes(&training(&gpus)), []);
}

#[test]
fn gpus_of_a_service_do_not_wait_for_each_other() {
    let mut gpus = [GpuEvidence { clock: exact(1_980.0), ..busy_gpu() }; 8];
    gpus[3].clock = exact(990.0);

    for class in [Class::Inference, Class::Batch] {
        let seen = Evidence { class, ..training(&gpus) };
        assert_eq!((lean(&seen), weight(&seen, Straggler)), (Lean::Allow, Some(Weight::Advice)));
    }
}

#[test]
fn three_gpus_have_no_outlier() {
    let mut gpus = vec![GpuEvidence { clock: exact(1_980.0), ..busy_gpu() }; 3];
    gpus[0].clock = exact(990.0);

    assert_eq!(vetoes(&training(&gpus)), []);
    gpus.push(gpus[1]);
    assert_eq!(vetoes(&training(&gpus)), [Straggler]);
}

/// Losing the slow ones but one must not make an outlier of it.
#[test]
fn gpus_that_are_not_seen_may_be_as_slow() {
    let mut gpus = vec![GpuEvidence { clock: exact(1_980.0), ..busy_gpu() }; 5];
    gpus[0].clock = exact(990.0);

    assert_eq!(vetoes(&training(&gpus)), [Straggler]);
    let most_unseen = Evidence { expected_gpus: 9, ..training(&gpus) };
    assert_eq!(vetoes(&most_unseen), []);
    assert_eq!(vetoes(&Evidence { expected_gpus: u32::MAX, ..training(&gpus) }), []);
}

/// Five of nine are slow, so none is odd; those of which no clock is known any more may still be slow.
#[test]
fn gpus_whose_clock_is_lost_may_be_as_slow() {
    let at = |clock: f64| GpuEvidence { clock: exact(clock), ..busy_gpu() };
    let mut gpus = [&[at(990.0); 5][..], &[at(1_980.0); 4][..]].concat();

    assert_eq!(vetoes(&training(&gpus)), []);
    gpus[..3].iter_mut().for_each(|gpu| gpu.clock = None);
    assert_eq!(vetoes(&training(&gpus)), []);
}
