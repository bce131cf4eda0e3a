//! Public bug reports about metrics, and what becomes of each here. The references are those of the issue trackers.

use super::*;
use crate::config::{EvidenceConfig, TrainerNames};
use wellfed_engine::evidence::GpuEvidence;
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Weight};
use wellfed_engine::rules::RuleName;

/// A GPU that does little all the time: half an hour of it refuses, if it is believed.
const STARVED: [(Metric, f64); 5] =
    [(Metric::Util, 22.0), (Metric::Engine, 0.22), (Metric::Sm, 0.12), (Metric::Dram, 0.05), (Metric::Tensor, 0.04)];

fn labelled(minute: i64, values: &[(Metric, f64)], labels: &[(&str, &str)]) -> Slice {
    let mut slice = Slice::ending(at(minute));
    for (metric, value) in values {
        slice.take(*metric, vec![row(*value, labels)]);
    }
    slice
}

/// Ten minutes of what `look` gives for each of them, about pod `a`.
fn evidence(look: impl Fn(i64) -> Slice) -> Evidence {
    history((1..=10).map(look).collect()).evidence(&watched(0, &[("a", -60)])).unwrap()
}

/// The same beside a CPU at its limit.
fn at_limit(look: impl Fn(i64) -> Slice) -> Lean {
    let container = ("demo".to_owned(), "a".to_owned());
    lean(|minute| {
        let mut slice = look(minute);
        slice.note_container(&container, "train", Metric::Cores, 7.76);
        slice.note_container(&container, "train", Metric::Throttled, 0.4);
        slice
    })
}

fn lean(look: impl Fn(i64) -> Slice) -> Lean {
    judge(&evidence(look)).lean
}

const UNSEEN: Lean = Lean::Unknown(Gap::GpusUnseen { seen: 0, expected: 1 });
const OF_A: [(&str, &str); 3] = [("namespace", "demo"), ("pod", "a"), ("UUID", "g")];

#[test]
fn the_control_a_starved_gpu_whose_series_are_whole_is_refused() {
    assert!(matches!(lean(|minute| labelled(minute, &STARVED, &OF_A)), Lean::Refuse(_)));
}

/// Golden scenario G13.
#[test]
fn golden_13_dcgm_exporter_342_349_188_411_477_series_without_pod_labels_are_nobodys() {
    let bare = [("UUID", "g"), ("gpu", "0")];
    let exporters_own = [("namespace", "gpu-operator"), ("pod", "dcgm-exporter-x"), ("UUID", "g")];

    assert_eq!(lean(|minute| labelled(minute, &STARVED, &bare)), UNSEEN);
    assert_eq!(lean(|minute| labelled(minute, &STARVED, &exporters_own)), UNSEEN);
}

/// An exporter is upgraded at half time; one look has the series of both.
#[test]
fn dcgm_exporter_655_the_case_of_the_host_label_makes_no_second_gpu_and_no_second_pod() {
    let both = |minute: i64| {
        let mut slice = Slice::ending(at(minute));
        let hosts = [("Hostname", minute <= 5), ("hostname", minute >= 5)];
        for (host, _) in hosts.into_iter().filter(|(_, sent)| *sent) {
            for (metric, value) in STARVED {
                slice.take(metric, vec![row(value, &[&OF_A[..], &[(host, "node-1")]].concat())]);
            }
        }
        slice
    };
    let seen = evidence(both);

    assert_eq!((seen.gpus.len(), seen.gpus[0].shared, activity(&seen)), (1, false, vec![0.22]));
    assert_eq!(at_limit(both), at_limit(|minute| labelled(minute, &STARVED, &OF_A)));
    assert_eq!(at_limit(both), Lean::Refuse(RuleName::DataLoader));
}

#[test]
fn dcgm_exporter_655_no_question_and_no_rule_joins_by_labels_or_knows_a_host() {
    let trainer = TrainerNames { quality: vec!["eval_accuracy".into()], ..TrainerNames::default() };
    let named = EvidenceConfig { trainer, ..EvidenceConfig::default() };
    let questions = Metric::ALL.into_iter().filter_map(|metric| metric.query("60s", &named));
    let all: Vec<_> = questions.chain([crate::evidence::recorded::rules()]).collect();

    assert_eq!(all.len(), Metric::ALL.len() + 1);
    for text in all {
        // A pod is no host.
        let text = text.to_lowercase().replace(" on (namespace, pod)", "");
        for joins in ["hostname", " on (", " on(", "ignoring", "group_left", "group_right"] {
            assert!(!text.contains(joins), "{joins} is in {text}");
        }
    }
}

#[test]
fn g11_dcgm_exporter_138_150_411_342_labels_that_are_missing_in_two_of_ten_looks_are_missing_samples() {
    let bare = [("UUID", "g"), ("gpu", "0")];
    let missing_in = |looks: i64| {
        at_limit(move |minute| {
            // Two in the middle, or more of them.
            let labels = if (4..4 + looks).contains(&minute) { &bare[..] } else { &OF_A[..] };
            labelled(minute, &STARVED, labels)
        })
    };

    assert_eq!([0, 2].map(missing_in), [Lean::Refuse(RuleName::DataLoader); 2]);
    assert_eq!([3, 6].map(missing_in), [UNSEEN; 2]);
}

/// The other half of G11: GPUs by dynamic resource allocation. The series bear the pod, but nothing tells how many GPUs are
/// its own; the workload is not accepted as such, and of a pod that is left from another template there is no verdict.
#[test]
fn g11_dcgm_exporter_411_of_a_pod_whose_gpus_come_by_a_claim_there_is_no_verdict() {
    let lean = |gpus: u32| {
        let mut workload = watched(0, &[("a", -60)]);
        workload.pods[0].gpus = gpus;
        let looks = (1..=10).map(|minute| labelled(minute, &STARVED, &OF_A));
        judge(&history(looks.collect()).evidence(&workload).unwrap()).lean
    };

    assert_eq!(lean(0), Lean::Unknown(Gap::NoWarmReplica));
    assert!(matches!(lean(1), Lean::Refuse(_)), "the control: the same series of a pod that asks by a resource");
    assert_eq!(
        wellfed_engine::explain::gap(Gap::NoWarmReplica),
        "no replica is Ready and past its warm-up (one whose GPUs come by a ResourceClaim does not count)"
    );
}

/// The device plugin marks one of the pods that share a card, or none, and so does the exporter. The XID is the card's: it
/// is told of the pod whose series shows it, as a hint, and refuses neither.
#[test]
fn k8s_device_plugin_1929_an_xid_of_a_shared_card_is_a_hint_about_the_pod_whose_series_shows_it() {
    let busy = [(Metric::Engine, 0.95), (Metric::Sm, 0.7), (Metric::Tensor, 0.4)];
    let names = ["a", "b", "c", "d"];
    let looks = (1..=10).map(|minute| {
        let mut slice = Slice::ending(at(minute));
        for pod in names {
            // The first two share a card; the others have their own.
            let gpu = if matches!(pod, "a" | "b") { "shared" } else { pod };
            let labels = [("namespace", "demo"), ("pod", pod), ("UUID", gpu)];
            for (metric, value) in busy {
                slice.take(metric, vec![row(value, &labels)]);
            }
            if pod == "a" {
                slice.take(Metric::Xid, vec![row(if minute < 5 { 0.0 } else { 79.0 }, &labels)]);
            }
        }
        slice
    });
    let seen = history(looks.collect()).evidence(&watched(0, &names.map(|name| (name, -60)))).unwrap();
    let told: Vec<_> = seen.gpus.iter().map(|gpu| (gpu.shared, gpu.xid)).collect();

    assert_eq!(told, [(true, Some(79)), (true, None), (false, None), (false, None)]);
    let opinion = judge(&seen);
    let found: Vec<_> = opinion.findings.iter().map(|finding| (finding.rule, finding.weight)).collect();
    assert_eq!(opinion.lean, Lean::Allow);
    assert!(found.contains(&(RuleName::Straggler, Weight::Advice)), "{found:?}");
}

#[test]
fn dcgm_exporter_76_85_363_each_spelling_of_the_pod_label_is_read() {
    let old =
        [("pod_namespace", "demo"), ("pod_name", "a"), ("namespace", "gpu-operator"), ("pod", "x"), ("UUID", "g")];

    assert!(matches!(lean(|minute| labelled(minute, &STARVED, &old)), Lean::Refuse(_)));
}

#[test]
fn dcgm_exporter_151_201_144_307_582_a_time_sliced_gpu_only_advises() {
    let sliced = |minute| {
        let mut slice = labelled(minute, &STARVED, &OF_A);
        for (metric, value) in STARVED {
            slice.take(metric, vec![row(value, &[("namespace", "demo"), ("pod", "other"), ("UUID", "g")])]);
        }
        slice
    };

    assert!(evidence(sliced).gpus[0].shared);
    assert!(!matches!(lean(sliced), Lean::Refuse(_)));
}

/// Without `KUBERNETES_VIRTUAL_GPUS` a sliced device bears the name of one of its pods, or of none.
#[test]
fn dcgm_exporter_151_201_144_307_a_sliced_gpu_that_names_one_of_its_pods_only_advises() {
    let lean = |shared: bool, looks: &dyn Fn(i64) -> Slice| {
        let mut workload = watched(0, &[("a", -60)]);
        workload.pods[0].shared = shared;
        judge(&history((1..=10).map(looks).collect()).evidence(&workload).unwrap()).lean
    };
    let own = |minute| labelled(minute, &STARVED, &OF_A);
    let the_others = |minute| labelled(minute, &STARVED, &[("namespace", "demo"), ("pod", "b"), ("UUID", "g")]);

    assert_eq!(lean(true, &own), Lean::Allow);
    assert!(matches!(lean(false, &own), Lean::Refuse(_)), "the control: a node that does not share its GPUs");
    assert_eq!(lean(true, &the_others), UNSEEN);
}

/// What a neighbour takes of the memory of a sliced GPU is missing to the pod that ends, which may never be Ready.
#[test]
fn a_sliced_gpu_whose_memory_does_not_suffice_only_advises() {
    let lean = |shared: bool, pods: &[(&str, i64)]| {
        let exit = Exit { pod: "a".into(), at: at(9), cause: ExitCause::GpuMemory, shared };
        let mut workload = Watched { exits: vec![exit], ..watched(0, pods) };
        workload.pods.iter_mut().for_each(|pod| pod.shared = shared);
        let looks = (1..=10).map(|minute| labelled(minute, &[(Metric::Engine, 0.9), (Metric::Sm, 0.7)], &OF_A));
        judge(&history(looks.collect()).evidence(&workload).unwrap()).lean
    };

    assert_eq!((lean(true, &[("a", -60)]), lean(true, &[])), (Lean::Allow, Lean::Unknown(Gap::NoWarmReplica)));
    let refused = Lean::Refuse(RuleName::GpuOutOfMemory);
    assert_eq!((lean(false, &[("a", -60)]), lean(false, &[])), (refused, refused), "the control");
}

#[test]
fn dcgm_exporter_216_105_430_397_under_mig_the_engine_speaks_and_utilisation_of_zero_does_not() {
    let instance = [&OF_A[..], &[("GPU_I_ID", "3"), ("GPU_I_PROFILE", "3g.40gb")]].concat();
    let busy = [(Metric::Util, 0.0), (Metric::Engine, 0.8), (Metric::Dram, 0.5), (Metric::Tensor, 0.3)];

    let seen = evidence(|minute| labelled(minute, &busy, &instance));

    assert_eq!(seen.gpus[0].activity().map(|span| (span.mean * 10.0).round()), Some(8.0));
    assert_eq!(judge(&seen).lean, Lean::Allow);
}

#[test]
fn dcgm_80_dcgm_exporter_216_utilisation_alone_says_nothing_of_a_mig_instance() {
    let instance = [&OF_A[..], &[("GPU_I_ID", "3"), ("GPU_I_PROFILE", "3g.40gb")]].concat();
    for util in [0.0, 22.0, 95.0] {
        let only = |minute| labelled(minute, &[(Metric::Util, util), (Metric::Memory, 0.5)], &instance);
        assert_eq!(at_limit(only), UNSEEN, "{util}");
    }
    let engine = |minute| labelled(minute, &STARVED, &instance);
    assert_eq!(at_limit(engine), Lean::Refuse(RuleName::DataLoader), "its engine is its own");
}

#[test]
fn dcgm_80_what_a_mig_instance_s_board_does_is_nobody_s() {
    let boards = [
        (Metric::Util, 22.0),
        (Metric::PcieRx, 3.0e9),
        (Metric::Clock, 1_980.0),
        (Metric::ClocksHeld, 1.0),
        (Metric::PowerLimit, 700.0),
        (Metric::NvlinkRx, 1.0e9),
        (Metric::NvlinkTx, 1.0e9),
    ];
    let known = |labels: &[(&str, &str)]| {
        let model = [labels, &[("modelName", "NVIDIA H100 80GB HBM3")]].concat();
        let watts = |minute: i64| (Metric::Power, 300.0 + minute as f64);
        let gpu = evidence(|minute| labelled(minute, &[&boards[..], &[watts(minute)]].concat(), &model)).gpus[0];
        let all = [gpu.util, gpu.pcie_rx, gpu.pcie, gpu.clock, gpu.clocks_held, gpu.power, gpu.nvlink];
        all.iter().flatten().count()
    };

    assert_eq!((known(&OF_A), known(&[&OF_A[..], &[("GPU_I_ID", "3")]].concat())), (7, 0));
}

#[test]
fn g3_dcgm_exporter_272_577_dcgm_80_152_a_value_out_of_range_is_dropped_and_the_rest_is_judged() {
    let instance = [&OF_A[..], &[("GPU_I_ID", "3"), ("GPU_I_PROFILE", "3g.40gb")]].concat();
    let values = [(Metric::Sm, 1.3), (Metric::Engine, 0.8), (Metric::Dram, 0.5)];
    let look = |minute| labelled(minute, &values, &instance);
    let seen = evidence(look);

    assert_eq!((seen.gpus[0].sm, seen.gpus[0].dram.map(|dram| dram.mean)), (None, Some(0.5)));
    assert_eq!(judge(&seen).lean, Lean::Allow);
    assert_eq!((look(1).dropped(Metric::Sm), look(1).dropped(Metric::Dram)), (1, 0));
}

#[test]
fn dcgm_138_two_instances_of_one_card_are_two_gpus_of_two_pods_and_not_shared() {
    let mut slice = Slice::ending(at(1));
    for (pod, instance) in [("a", "1"), ("b", "2")] {
        let labels = [("namespace", "demo"), ("pod", pod), ("UUID", "g"), ("GPU_I_ID", instance)];
        slice.take(Metric::Engine, vec![row(0.5, &labels)]);
    }
    let seen = history(vec![slice]).evidence(&watched(0, &[("a", -60), ("b", -60)])).unwrap();

    assert_eq!(seen.gpus.iter().map(|gpu| gpu.shared).collect::<Vec<_>>(), [false, false]);
}

#[test]
fn dcgm_exporter_395_22_50_349_without_profiling_utilisation_stands_in() {
    let seen = evidence(|minute| labelled(minute, &[(Metric::Util, 95.0)], &OF_A));

    assert_eq!(activity(&seen), [] as [f64; 0]);
    assert_eq!(seen.gpus[0].activity().map(|span| (span.mean * 100.0).round()), Some(95.0));
    assert_eq!(judge(&seen).lean, Lean::Allow);
}

#[test]
fn dcgm_exporter_68_dcgm_303_profiling_of_zero_on_a_gpu_that_works_is_broken_telemetry() {
    let broken = |minute: i64| {
        [
            (Metric::Util, 100.0),
            (Metric::Engine, 0.0),
            (Metric::Tensor, 0.0),
            (Metric::Dram, 0.0),
            (Metric::Power, 600.0 + 0.1 * minute as f64),
            (Metric::PowerLimit, 700.0),
        ]
    };

    assert_eq!(lean(|minute| labelled(minute, &broken(minute), &OF_A)), Lean::Unknown(Gap::Contradiction { gpus: 1 }));
}

#[test]
fn gpu_monitoring_tools_188_values_that_stand_still_while_the_power_moves_are_stale() {
    let watts = |minute: i64| if minute % 2 == 0 { 300.0 } else { 420.0 };
    let with_power = |minute, watts| labelled(minute, &[&STARVED[..], &[(Metric::Power, watts)]].concat(), &OF_A);

    let frozen = evidence(|minute| with_power(minute, watts(minute)));
    assert_eq!((frozen.gpus[0].activity(), frozen.gpus[0].engine_lost), (None, true));
    assert_eq!(judge(&frozen).lean, UNSEEN);
    let even = lean(|minute| with_power(minute, 300.0 + 0.1 * minute as f64));
    assert!(matches!(even, Lean::Refuse(_)), "an even load draws even power");
    assert_eq!(
        lean(|minute| with_power(minute, 300.0)),
        UNSEEN,
        "no board draws the same to the last digit for minutes"
    );
}

#[test]
fn golden_17_gpu_monitoring_tools_188_twenty_minutes_of_the_same_floats_under_changing_power_are_stale() {
    let over = |value: fn(i64) -> f64| {
        let look = |minute: i64| {
            let watts = if minute % 3 == 0 { 300.0 } else { 420.0 };
            let engine = 0.22 * value(minute);
            labelled(minute, &[(Metric::Engine, engine), (Metric::Sm, 0.5 * engine), (Metric::Power, watts)], &OF_A)
        };
        let twenty = Watched { gate: watching(MINUTE * 20).gate, ..watched(0, &[("a", -60)]) };
        let evidence = history((1..=20).map(look).collect()).evidence(&twenty).unwrap();
        (evidence.covered, judge(&evidence).lean)
    };

    assert_eq!(over(|_| 1.0), (MINUTE * 20, UNSEEN));
    assert!(matches!(over(|minute| 1.0 + 0.001 * minute as f64).1, Lean::Refuse(_)), "the control");
}

#[test]
fn dcgm_56_62_a_profiler_that_freezes_the_counters_makes_no_verdict_of_their_last_values() {
    let profiled = |minute: i64| {
        let moving = 0.4 + 0.01 * minute as f64;
        let values = [(Metric::Engine, 0.25), (Metric::Sm, 0.1), (Metric::Power, 500.0 * moving)];
        labelled(minute, &values, &OF_A)
    };

    assert_eq!(lean(profiled), UNSEEN);
}

#[test]
fn dcgm_202_blank_values_are_unknown_until_samples_resume() {
    let blank = 9_223_372_036_854_775_794.0;
    let blanks = STARVED.map(|(metric, _)| (metric, blank));
    let until =
        |resumed: i64| lean(move |minute| labelled(minute, if minute < resumed { &blanks } else { &STARVED }, &OF_A));

    assert_eq!(until(99), UNSEEN);
    assert_eq!(until(9), UNSEEN, "two minutes of samples prove nothing about ten");
    assert!(matches!(until(1), Lean::Refuse(_)));
}

#[test]
fn golden_15_dcgm_exporter_readme_sentinels_and_impossible_values_are_no_samples() {
    for value in [9_223_372_036_854_775_794.0, f64::NAN, -1.0, 101.0, 1.0e9, f64::INFINITY] {
        let seen = evidence(|minute| labelled(minute, &[(Metric::Util, value), (Metric::Engine, value)], &OF_A));
        assert_eq!(seen.gpus.iter().filter_map(GpuEvidence::activity).count(), 0, "{value}");
    }
}

#[test]
fn golden_19_llm_d_autoscaling_368_a_dead_pod_in_the_range_window_is_nobody() {
    let with_the_dead = |minute| {
        let busy = [(Metric::Engine, 0.95), (Metric::Sm, 0.7), (Metric::Tensor, 0.4)];
        let mut slice = labelled(minute, &busy, &OF_A);
        slice.take(Metric::Engine, vec![row(0.0, &[("namespace", "demo"), ("pod", "dead"), ("UUID", "g2")])]);
        slice.take(Metric::Waiting, vec![row(900.0, &[("namespace", "demo"), ("pod", "dead")])]);
        slice
    };
    let seen = evidence(with_the_dead);

    assert_eq!((seen.gpus.len(), seen.servers.len(), seen.servers[0].waiting), (1, 1, None));
    assert_eq!(judge(&seen).lean, Lean::Allow);
}

#[test]
fn a_pod_whose_name_begins_like_another_s_is_not_it() {
    let labels = [("namespace", "demo"), ("pod", "a-2"), ("UUID", "g")];

    assert_eq!(lean(|minute| labelled(minute, &STARVED, &labels)), UNSEEN);
}

#[test]
fn two_series_of_one_gpu_count_once_and_the_busier_counts() {
    let doubled = |minute| {
        let mut slice = Slice::ending(at(minute));
        slice.take(Metric::Engine, vec![row(0.9, &OF_A), row(0.3, &OF_A)]);
        slice
    };
    let seen = evidence(doubled);

    assert_eq!((activity(&seen), seen.gpus[0].shared), (vec![0.9], false));
}

#[test]
fn vllm_18354_29330_llm_d_509_gateway_api_inference_extension_1905_inference_perf_277_the_kv_cache_is_asked_for_by_both_of_its_names()
 {
    let asked = Metric::Kv.query("60s", &EvidenceConfig::default()).unwrap();
    let place = |name: &str| asked.find(name).unwrap_or_else(|| panic!("{name} is not in {asked}"));

    assert!(place("vllm:kv_cache_usage_perc") < place("vllm:gpu_cache_usage_perc"), "the present name comes first");
}

#[test]
fn dcgm_exporter_646_700_482_metrics_that_vanish_after_an_upgrade_leave_no_case() {
    let upgraded_at = |minute: i64| {
        move |now: i64| {
            let left = if now < minute { &STARVED[..] } else { &STARVED[..1] };
            labelled(now, left, &OF_A)
        }
    };
    let of_the_last_ten = |look: &dyn Fn(i64) -> Slice| {
        let history = history((1..=20).map(look).collect());
        judge(&history.evidence(&watched(10, &[("a", -60)])).unwrap()).lean
    };

    assert_eq!(of_the_last_ten(&upgraded_at(10)), UNSEEN, "utilisation is left, and was not what counted");
    assert_eq!(of_the_last_ten(&upgraded_at(15)), UNSEEN);
    assert!(matches!(of_the_last_ten(&upgraded_at(99)), Lean::Refuse(_)), "the control");
}

#[test]
fn prometheus_adapter_644_dcgm_exporter_42_no_metrics_now_and_then_prove_nothing() {
    let flapping =
        |minute: i64| if minute % 2 == 0 { labelled(minute, &STARVED, &OF_A) } else { Slice::ending(at(minute)) };

    assert_eq!(lean(flapping), UNSEEN);
}
