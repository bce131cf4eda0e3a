//! Public reports of exporters and servers that went wrong, each with what the judge makes of it.

use super::{exact, gpu, lean, server, serving, training, vetoes};
use wellfed_engine::evidence::{Evidence, GpuEvidence, ServerEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{SerialRequests, Underused};
use wellfed_engine::testing::{busy_gpu, starved_gpu};

const UNSEEN: Lean = Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 4 });

/// dcgm-exporter #342, #349, #188, #411, #477: pods run on GPUs whose series carry no pod.
#[test]
fn gpus_without_labels_of_pods_are_missing_attribution_and_not_idle() {
    for class in [Class::Training, Class::Inference, Class::Batch] {
        let unlabelled = Evidence { class, expected_gpus: 4, gpus: Vec::new(), ..training(&[starved_gpu(); 4]) };

        assert_eq!(lean(&unlabelled), UNSEEN);
    }
}

/// dcgm-exporter #216, #105, #430, #397, DCGM #80: utilisation of MIG instances reads zero.
#[test]
fn utilisation_of_zero_beside_a_busy_engine_is_a_mig_instance_at_work() {
    let instance = GpuEvidence { util: exact(0.0), ..busy_gpu() };
    assert_eq!(lean(&training(&[instance; 4])), Lean::Allow);
    let lost = GpuEvidence { util: exact(0.0), engine_lost: true, ..GpuEvidence::default() };
    assert_eq!(lean(&training(&[lost; 4])), UNSEEN);
}

/// dcgm-exporter #68: profiling counters that are wrong after hours, until a restart. Power tells.
#[test]
fn counters_that_read_low_beside_power_at_work_are_wrong() {
    let wrong = |power| lean(&training(&[GpuEvidence { power: exact(power), ..starved_gpu() }; 4]));

    assert_eq!(wrong(0.85), Lean::Unknown(Gap::Contradiction { gpus: 4 }));
    assert_eq!(wrong(0.3), Lean::Refuse(Underused));
    let busy = GpuEvidence { power: exact(0.85), ..busy_gpu() };
    assert_eq!(lean(&training(&[busy; 4])), Lean::Allow);
    let lost = GpuEvidence { power_lost: true, ..starved_gpu() };
    assert_eq!(lean(&training(&[lost; 4])), Lean::Unknown(Gap::Contradiction { gpus: 4 }));
}

/// dcgm-exporter #646, #700, #482: metrics that vanish after an upgrade.
#[test]
fn metrics_that_vanish_after_an_upgrade_leave_no_case() {
    let gone = GpuEvidence { engine_lost: true, sm_lost: true, power_lost: true, ..GpuEvidence::default() };

    assert_eq!(lean(&training(&[gone; 4])), UNSEEN);
}

/// DCGM #202: blank values after XID 31, until samples resume.
#[test]
fn blank_values_after_a_fault_are_unknown_until_samples_resume() {
    let blank = GpuEvidence { engine_lost: true, ..GpuEvidence::default() };

    assert_eq!(lean(&training(&[blank; 4])), UNSEEN);
    assert_eq!(lean(&training(&[busy_gpu(); 4])), Lean::Allow);
}

/// dcgm-exporter #582: a copy of one device's values for each of the pods that share it.
#[test]
fn values_copied_to_every_pod_that_shares_a_card_accuse_nobody() {
    let copy = GpuEvidence { shared: true, power: exact(0.2), ..gpu(1.0, 0.04, 0.0, 0.0) };

    assert_eq!(vetoes(&training(&[copy; 4])), []);
}

/// vllm PR #18354, #29330: `gpu_cache_usage_perc` was renamed; until both names were read it was lost.
#[test]
fn a_renamed_kv_cache_metric_may_still_be_what_limits_the_batch() {
    let decoding = gpu(0.9, 0.6, 0.55, 0.03);
    let known = ServerEvidence { kv: exact(0.3), ..server(1.0, 25.0) };
    let renamed = ServerEvidence { kv: None, kv_lost: true, ..known };

    assert_eq!(vetoes(&serving(&[decoding], &[known])), [SerialRequests]);
    assert_eq!(vetoes(&serving(&[decoding], &[renamed])), []);
}

/// prometheus-adapter #644, dcgm-exporter #42: "no metrics returned", on and off. The same evidence gives the same opinion,
/// and none of it gives none.
#[test]
fn metrics_that_come_and_go_never_make_a_case_while_they_are_gone() {
    let there = training(&[busy_gpu(); 4]);
    let gone = Evidence { gpus: vec![GpuEvidence { engine_lost: true, ..GpuEvidence::default() }; 4], ..there.clone() };

    for _ in 0..3 {
        assert_eq!(judge(&there), judge(&there.clone()));
        assert_eq!(lean(&gone), UNSEEN);
    }
}
