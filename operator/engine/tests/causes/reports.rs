//! Public reports of exporters and servers that went wrong, each with what the judge makes of it. Those that show in series
//! are told where series become evidence.

use super::{exact, gpu, lean, server, serving, training, vetoes};
use wellfed_engine::evidence::{GpuEvidence, ServerEvidence};
use wellfed_engine::opinion::{Gap, Lean};
use wellfed_engine::rules::RuleName::{SerialRequests, Stalled, Underused};
use wellfed_engine::testing::{busy_gpu, starved_gpu};

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

/// dcgm-exporter #582: a copy of one device's values for each of the pods that share it.
#[test]
fn values_copied_to_every_pod_that_shares_a_card_accuse_nobody() {
    let copy = GpuEvidence { shared: true, power: exact(0.2), ..gpu(1.0, 0.04, 0.0, 0.0) };

    assert_eq!(vetoes(&training(&[copy; 4])), []);
    assert_eq!(vetoes(&training(&[GpuEvidence { shared: false, ..copy }; 4])), [Stalled], "the control");
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
