//! What is made of links, memory, trainers and ends of containers.

use super::*;
use crate::evidence::DIVERGED;
use wellfed_engine::evidence::{Ended, Exits, GpuEvidence, Trend};
use wellfed_engine::span::Span;

fn gpu(slices: Vec<Slice>) -> GpuEvidence {
    seen(slices).gpus[0]
}

/// Every minute, the whole window long, what `at` says of it.
fn every_minute(minutes: i64, at: impl Fn(i64) -> Vec<(Metric, f64)>) -> Evidence {
    let slices = (1..=minutes).map(|minute| said(minute, &at(minute))).collect();
    history(slices).evidence(&watched(0, &[("a", -60)])).unwrap()
}

fn rounded(span: Option<Span>) -> Option<(f64, f64, f64)> {
    let round = |value: f64| (value * 1000.0).round() / 1000.0;
    span.map(|span| (round(span.mean), round(span.low), round(span.high)))
}

#[test]
fn a_link_is_as_busy_as_its_busier_direction() {
    let both = [(Metric::NvlinkRx, 90.0e9), (Metric::NvlinkTx, 225.0e9), (Metric::PcieRx, 16.0e9)];

    assert_eq!(rounded(gpu(vec![said(1, &both)]).nvlink), Some((0.5, 0.5, 0.5)), "of 450 GB/s");
    assert_eq!(rounded(gpu(vec![said(1, &both)]).pcie), Some((0.25, 0.25, 1.0)), "the other direction may be full");
    assert_eq!(gpu(vec![said(1, &both)]).pcie_rx.map(|span| span.mean), Some(16.0e9));
    assert_eq!(gpu(vec![said(1, &[(Metric::Engine, 0.5)])]).nvlink, None, "no series is no traffic of zero");
    assert_eq!(gpu(vec![said(1, &[(Metric::NvlinkRx, 9.0e11), (Metric::NvlinkTx, 0.0)])]).nvlink, None);
}

#[test]
fn a_link_or_a_network_that_was_measured_and_is_missing_is_lost() {
    let all = [
        (Metric::NvlinkRx, 9.0e9),
        (Metric::NvlinkTx, 9.0e9),
        (Metric::PcieRx, 1.0e9),
        (Metric::PcieTx, 1.0e9),
        (Metric::NetworkRx, 1.0e6),
    ];
    let rest = [(Metric::Engine, 0.5)];
    let before = seen(vec![said(1, &all)]);
    let after = seen(vec![said(1, &all), said(2, &rest)]);
    let lost = |seen: &Evidence| (seen.gpus[0].nvlink_lost, seen.gpus[0].pcie_lost, seen.containers[0].network_lost);

    assert_eq!(lost(&before), (false, false, false));
    assert_eq!(lost(&after), (true, true, true));
    assert_eq!(lost(&seen(vec![said(1, &rest)])), (false, false, false), "never measured");
}

/// 14 GB of weights on an H100 of 80 GB.
#[test]
fn weights_are_a_share_of_the_memory_of_the_product() {
    let slices = || vec![said(1, &[(Metric::Engine, 0.5), (Metric::Power, 200.0)])];
    let share = |weights| {
        let workload = Watched { weights, ..watched(0, &[("a", -60)]) };
        history(slices()).evidence(&workload).unwrap().gpus[0].weights
    };

    assert_eq!(share(Some(14.0)), Some(0.175));
    assert_eq!(share(None), None);
}

#[test]
fn steps_are_counted_and_lost_as_work_is() {
    let trainer = |slices| seen(slices).trainers[0];
    let counted = trainer(vec![said(1, &[(Metric::Steps, 0.5)])]);
    let gone = trainer(vec![said(1, &[(Metric::Steps, 0.5)]), said(2, &[(Metric::Engine, 0.5)])]);

    assert_eq!((counted.steps, counted.steps_lost), (Some(Span::exact(0.5)), false));
    assert_eq!((gone.steps, gone.steps_lost), (None, true));
}

#[test]
fn links_of_an_unknown_product_have_no_share() {
    let mut slice = Slice::ending(at(1));
    let unknown = [("namespace", "demo"), ("pod", "a"), ("UUID", "g"), ("modelName", "NVIDIA Z900")];
    for metric in [Metric::NvlinkRx, Metric::NvlinkTx, Metric::PcieRx, Metric::PcieTx] {
        slice.take(metric, vec![row(1.0e9, &unknown)]);
    }

    assert_eq!((gpu(vec![slice.clone()]).nvlink, gpu(vec![slice]).pcie), (None, None));
}

#[test]
fn an_engine_that_is_busy_every_other_minute_swings_though_each_minute_is_even() {
    let alternating = |minute: i64| {
        let engine = if minute % 2 == 0 { 0.95 } else { 0.1 };
        vec![(Metric::Engine, engine), (Metric::Swing, 0.0)]
    };
    let missing = |minute: i64| if minute == 5 { vec![(Metric::Util, 5.0)] } else { alternating(minute) };

    assert_eq!(rounded(every_minute(10, alternating).gpus[0].swing), Some((0.425, 0.425, 0.425)));
    let (mean, low, high) = rounded(every_minute(10, missing).gpus[0].swing).unwrap();
    assert!(low < 0.425 && low < mean && high > 0.499, "{low} {mean} {high}");
    let within = [(Metric::Engine, 0.5), (Metric::Swing, 0.3)];
    assert_eq!(rounded(gpu(vec![said(1, &within)]).swing), Some((0.3, 0.3, 0.3)));
}

#[test]
fn memory_clock_and_the_fp32_pipe_are_means() {
    let gpu = gpu(vec![said(1, &[(Metric::Memory, 0.94), (Metric::Clock, 1_980.0), (Metric::Fp32, 0.6)])]);

    assert_eq!(rounded(gpu.memory), Some((0.94, 0.94, 0.94)));
    assert_eq!(rounded(gpu.clock), Some((1_980.0, 1_980.0, 1_980.0)));
    assert_eq!(rounded(gpu.fp32), Some((0.6, 0.6, 0.6)));
}

#[test]
fn the_peak_of_memory_is_that_of_the_fullest_look_and_could_be_more_where_one_is_missing() {
    let peaks = |look: i64| [0.35, 0.9, 0.3][usize::try_from(look - 1).unwrap()];
    let whole = every_minute(3, |minute| vec![(Metric::Memory, 0.35), (Metric::MemoryPeak, peaks(minute))]);
    let gone = every_minute(3, |minute| match minute {
        2 => vec![(Metric::Memory, 0.35)],
        _ => vec![(Metric::Memory, 0.35), (Metric::MemoryPeak, peaks(minute))],
    });

    assert_eq!(rounded(whole.gpus[0].memory), Some((0.35, 0.35, 0.35)));
    assert_eq!(rounded(whole.gpus[0].memory_peak), Some((0.9, 0.9, 0.9)));
    assert_eq!(rounded(gone.gpus[0].memory_peak), Some((0.35, 0.35, 1.0)));
}

#[test]
fn a_server_counts_tokens_or_answers_and_a_trainer_samples_or_tokens() {
    let says = |metric| said(1, &[(metric, 30.0)]);
    let server = |slices| {
        let server = seen(slices).servers[0];
        (server.progress.map(|progress| progress.mean), server.answers, server.progress_lost)
    };
    let trainer = |slices| {
        let trainer = seen(slices).trainers[0];
        (trainer.throughput.map(|throughput| throughput.mean), trainer.tokens, trainer.throughput_lost)
    };

    assert_eq!(server(vec![says(Metric::Progress)]), (Some(30.0), false, false));
    assert_eq!(server(vec![says(Metric::Answers)]), (Some(30.0), true, false));
    assert_eq!(trainer(vec![says(Metric::Throughput)]), (Some(30.0), false, false));
    assert_eq!(trainer(vec![says(Metric::TrainedTokens)]), (Some(30.0), true, false));
    let both = said(2, &[(Metric::Answers, 2.0), (Metric::TrainedTokens, 2.0)]);
    let tokens = [said(1, &[(Metric::Progress, 900.0), (Metric::Throughput, 900.0)]), both];
    assert_eq!(server(tokens.to_vec()), (None, false, true), "what counted tokens is silent now");
    assert_eq!(trainer(tokens.to_vec()), (None, false, true));
}

#[test]
fn network_belongs_to_the_container_that_uses_the_gpus() {
    let traffic = [(Metric::NetworkRx, 3.0e9), (Metric::NetworkTx, 1.0e9)];

    assert_eq!(seen(vec![said(1, &traffic)]).containers[0].network, Some(Span::exact(3.0e9)));
}

#[test]
fn a_server_tells_of_its_requests() {
    let values = [
        (Metric::QueueSeconds, 1.5),
        (Metric::FirstTokenSeconds, 2.0),
        (Metric::WholeSeconds, 9.0),
        (Metric::PromptSpread, 4.0),
        (Metric::OutputTokens, 180.0),
        (Metric::OutputCap, 4_096.0),
    ];
    let server = seen(vec![said(1, &values)]).servers[0];
    let means = [
        server.queue_seconds,
        server.first_token_seconds,
        server.whole_seconds,
        server.prompt_spread,
        server.output_tokens,
        server.output_cap,
    ];

    assert_eq!(means.map(|span| span.map(|span| span.mean)), [1.5, 2.0, 9.0, 4.0, 180.0, 4_096.0].map(Some));
}

#[test]
fn a_trainer_tells_of_its_steps_and_of_its_loss() {
    let evidence = every_minute(9, |minute| {
        let loss = 4.0 - 0.25 * minute as f64;
        vec![
            (Metric::StepSeconds, 0.8),
            (Metric::DataWaitSeconds, 0.3),
            (Metric::Throughput, 640.0),
            (Metric::Loss, loss),
        ]
    });
    let trainer = evidence.trainers[0];

    assert_eq!(rounded(trainer.step_seconds), Some((0.8, 0.8, 0.8)));
    assert_eq!(rounded(trainer.data_wait_seconds), Some((0.3, 0.3, 0.3)));
    assert_eq!(rounded(trainer.throughput), Some((640.0, 640.0, 640.0)));
    assert_eq!((trainer.loss, trainer.quality), (Some(Trend::Moved { first: 3.5, last: 2.0 }), None));
}

#[test]
fn a_minute_of_long_steps_that_wait_counts_as_one_minute() {
    let evidence = every_minute(9, |minute| {
        let (step, wait) = if minute <= 3 { (4.0, 3.6) } else { (0.4, 0.0) };
        vec![(Metric::StepSeconds, step), (Metric::DataWaitSeconds, wait)]
    });

    let share = evidence.trainers[0].data_wait_share().map(|share| (share.mean * 100.0).round());
    assert_eq!(share, Some(30.0), "of three minutes in nine nine tenths");
}

#[test]
fn a_data_wait_that_was_said_and_is_not_any_more_is_lost() {
    let slices = vec![said(1, &[(Metric::DataWaitSeconds, 0.3)]), said(2, &[(Metric::StepSeconds, 0.8)])];

    assert!(seen(slices).trainers[0].data_wait_lost);
    assert!(!seen(vec![said(1, &[(Metric::StepSeconds, 0.8)])]).trainers[0].data_wait_lost);
}

#[test]
fn a_loss_diverged_only_if_its_newest_sample_is_no_number() {
    let loss = |values: [Option<f64>; 6]| {
        let evidence = every_minute(6, |minute| {
            let loss = values[usize::try_from(minute - 1).unwrap()].map(|value| (Metric::Loss, value));
            loss.into_iter().chain([(Metric::StepSeconds, 1.0)]).collect()
        });
        evidence.trainers[0].loss
    };
    let one = Some(1.0);

    assert_eq!(loss([one, one, one, one, one, Some(f64::NAN)]), Some(Trend::Diverged));
    assert_eq!(loss([one, one, Some(f64::NAN), one, one, one]), Some(Trend::Moved { first: 1.0, last: 1.0 }));
    assert_eq!(loss([one, one, one, one, Some(DIVERGED), None]), None, "what came after is unknown");
    assert_eq!(loss([one, None, one, one, one, one]), None, "a sample that is gone makes no plateau");
}

#[test]
fn ends_within_the_window_count_for_their_container_and_those_of_one_that_is_not_warm_for_themselves() {
    let exit = |pod: &str, minute, cause| Exit { pod: pod.to_owned(), at: at(minute), cause, shared: false };
    let workload = Watched {
        exits: vec![
            exit("a", 5, ExitCause::HostMemory),
            exit("a", -2, ExitCause::Failed),
            exit("loops", 7, ExitCause::GpuMemory),
            exit("loops", 9, ExitCause::GpuMemory),
        ],
        slo_breached: true,
        backlog_lasts: true,
        ..watched(8, &[("a", -60)])
    };

    let evidence = history(vec![said(9, &[(Metric::Engine, 0.5)])]).evidence(&workload).unwrap();

    let exits: Vec<_> = evidence.containers.iter().map(|container| container.exits).collect();
    assert_eq!(exits, [Exits { host_memory: 1, ..Exits::default() }]);
    assert_eq!(evidence.ended, [Ended::from(Exits { gpu_memory: 2, ..Exits::default() })]);
    assert_eq!((evidence.expected_gpus, evidence.servers.len(), evidence.slo_breached), (1, 1, true));
    assert!(evidence.backlog_lasts);
}
