//! Nodes, links and errors: whose they are, and what becomes of them where a part is missing.

use super::*;
use crate::evidence::Whereabouts;
use wellfed_engine::evidence::{ContainerEvidence, GpuEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::Lean;
use wellfed_engine::rules::RuleName::StorageStall;
use wellfed_engine::span::Span;

/// Pod `a` on node `n`, which is its workload's own or not.
fn on_node(own: bool) -> Watched {
    let mut workload = watched(0, &[("a", -60)]);
    workload.pods[0].node = Some(Whereabouts { name: "n".into(), own });
    workload
}

/// What an exporter of nodes says, under these labels.
fn node(minute: i64, values: &[(Metric, f64)], labels: &[(&str, &str)]) -> Slice {
    let mut slice = said(minute, &[(Metric::Engine, 0.2)]);
    for (metric, value) in values {
        slice.take(*metric, vec![row(*value, labels)]);
    }
    slice
}

/// The evidence of `watching` in looks at which it was watched.
fn watched_as(watching: &[Watched], slices: Vec<Slice>) -> Evidence {
    let mut history = History::every(MINUTE);
    history.watch(std::slice::from_ref(&watching[0]), at(0));
    for (slice, watching) in slices.into_iter().zip(watching) {
        history.watch(std::slice::from_ref(watching), slice.at);
        history.push(slice, MINUTE * 120);
    }
    history.evidence(watching.last().unwrap()).unwrap()
}

fn container(slices: Vec<Slice>) -> ContainerEvidence {
    let watching = vec![on_node(true); slices.len()];
    watched_as(&watching, slices).containers[0]
}

#[test]
fn a_node_is_known_by_any_label_that_scraping_gives_it_or_by_its_address() {
    let iowait = |labels: &[(&str, &str)]| {
        container(vec![node(1, &[(Metric::Iowait, 0.3)], labels)]).node_iowait.map(|iowait| iowait.mean)
    };

    for labels in [
        &[("node", "n"), ("instance", "10.0.0.5:9100")][..],
        &[("nodename", "n")],
        &[("kubernetes_node", "n")],
        &[("instance", "n:9100")],
        &[("instance", "n")],
    ] {
        assert_eq!(iowait(labels), Some(0.3), "{labels:?}");
    }
    assert_eq!(iowait(&[("instance", "10.0.0.5:9100")]), None, "nobody knows who that is");
    assert_eq!(iowait(&[("node", "m"), ("instance", "n:9100")]), None, "a label of its own comes first");
}

/// kube-prometheus scrapes addresses and gives the node no label.
#[test]
fn an_address_is_the_node_that_the_kernel_behind_it_says_it_is() {
    let address = [("instance", "10.0.0.5:9100")];
    let named = [("instance", "10.0.0.5:9100"), ("nodename", "n")];
    let mut slice = node(1, &[(Metric::NodeName, 1.0)], &named);
    slice.take(Metric::Iowait, vec![row(0.3, &address)]);

    assert_eq!(container(vec![slice]).node_iowait, Some(Span::exact(0.3)));
}

#[test]
fn the_label_that_is_configured_carries_the_node_before_all_others() {
    let mut slice = said(1, &[(Metric::Engine, 0.2)]).with_nodes_by(Some("host".into()));
    slice.take(Metric::Iowait, vec![row(0.3, &[("host", "n"), ("node", "other")])]);

    assert_eq!(container(vec![slice]).node_iowait, Some(Span::exact(0.3)));
}

/// Trap of R4: iowait is a neighbour's as often as not.
#[test]
fn what_a_node_measured_while_others_had_gpus_there_is_nobodys() {
    let busy = |minute| {
        let values = [(Metric::Iowait, 0.4), (Metric::RdmaRx, 0.5), (Metric::RdmaTx, 0.2), (Metric::LinkSpeed, 12.5e9)];
        let mut slice = node(minute, &values, &[("node", "n")]);
        slice.take(Metric::NetworkRx, vec![row(2.5e9, &[("namespace", "demo"), ("pod", "a")])]);
        slice.take(Metric::NetworkTx, vec![row(0.0, &[("namespace", "demo"), ("pod", "a")])]);
        slice
    };
    let seen = |own: [bool; 3]| watched_as(&own.map(on_node), vec![busy(1), busy(2), busy(3)]).containers[0];

    let own = seen([true; 3]);
    let mean = |span: Option<Span>| span.map(|span| (span.mean * 100.0).round());
    assert_eq!((mean(own.node_iowait), mean(own.rdma)), (Some(40.0), Some(50.0)));
    let once = seen([false, true, true]).node_iowait.unwrap();
    let third = (0.4 / 3.0, 2.4 / 3.0);
    assert!(
        (once.low - third.0).abs() < 1e-6 && (once.high - third.1).abs() < 1e-6,
        "they left within a look: {once:?}"
    );
    let foreign = seen([false; 3]);
    assert_eq!((foreign.node_iowait, foreign.rdma), (None, None));
    assert!(!own.rdma_lost && foreign.rdma_lost, "what moves there is nobody's, and no proof of a hang");
    let share = foreign.network_of_peak.unwrap();
    assert!((share.low - 0.2).abs() < 1e-6 && (share.high - 0.2).abs() < 1e-6, "the card is what it is: {share:?}");
    let unwatched = [watched(0, &[("a", -60)]), on_node(true), on_node(true)];
    let unwatched = watched_as(&unwatched, vec![busy(1), busy(2), busy(3)]).containers[0];
    assert!((unwatched.node_iowait.unwrap().low - third.0).abs() < 1e-6, "nobody knew whose it was");
}

fn pressure(minute: i64, io: Option<f64>, iowait: Option<f64>) -> Slice {
    let values: Vec<_> = iowait.into_iter().map(|iowait| (Metric::Iowait, iowait)).collect();
    let mut slice = node(minute, &values, &[("node", "n")]);
    let labels = [("namespace", "demo"), ("pod", "a"), ("container", "train")];
    slice.take(Metric::Cores, vec![row(1.0, &labels)]);
    if let Some(io) = io {
        slice.take(Metric::IoPressure, vec![row(io, &labels)]);
    }
    slice
}

#[test]
fn the_nodes_wait_does_not_stand_in_for_a_wait_that_the_container_measured_within_a_day() {
    let refused = |first: Option<f64>| {
        let slices = (1..=10).map(|minute| pressure(minute, first.filter(|_| minute == 1), Some(0.5))).collect();
        let watching = Watched { since: Some(at(1)), ..on_node(true) };
        matches!(judge(&watched_as(&vec![watching; 10], slices)).lean, Lean::Refuse(StorageStall))
    };

    assert!(!refused(Some(0.0)), "it was measured, and is lost");
    assert!(refused(None), "the control");
}

proptest::proptest! {
    /// Kills `io_wait` without `io_pressure_lost`, and a history that forgets what pods measured.
    #[test]
    fn no_look_at_a_wait_for_storage_that_is_gone_makes_a_refusal(
        io in proptest::prop_oneof![0.0..0.1_f64, 0.0..1.0_f64],
        iowait in 0.0..1.0_f64,
        // Of the container's own wait nothing is left since demand came, or some.
        all in proptest::prelude::any::<bool>(),
        gone in proptest::collection::vec(proptest::prelude::any::<(bool, bool)>(), 10),
    ) {
        let lean = |keeps: &dyn Fn(usize) -> (bool, bool)| {
            let look = |minute: i64| {
                // What was never seen was never there: the first look is whole.
                let (io_stays, iowait_stays) = if minute == 1 { (true, true) } else { keeps(usize::try_from(minute).unwrap() - 1) };
                pressure(minute, Some(io).filter(|_| io_stays), Some(iowait).filter(|_| iowait_stays))
            };
            // Demand came after the first look, of which it is known only that it was there.
            let watching = Watched { since: Some(at(1)), ..on_node(true) };
            judge(&watched_as(&vec![watching; 10], (1..=10).map(look).collect())).lean
        };
        // By this cause: GPUs that do as little as these are refused for that alone.
        let refuses = |lean| matches!(lean, Lean::Refuse(StorageStall));

        let (whole, fewer) = (lean(&|_| (true, true)), lean(&|look| (gone[look].0 && !all, gone[look].1)));
        proptest::prop_assert!(refuses(whole) || !refuses(fewer), "{whole:?} → {fewer:?}");
    }
}

#[test]
fn a_network_card_that_was_known_is_lost_and_a_pod_without_a_node_knows_of_none() {
    let traffic = |minute, speed: Option<f64>| {
        let values: Vec<_> = speed.into_iter().map(|speed| (Metric::LinkSpeed, speed)).collect();
        let mut slice = node(minute, &values, &[("node", "n")]);
        slice.take(Metric::NetworkRx, vec![row(2.5e9, &[("namespace", "demo"), ("pod", "a")])]);
        slice
    };
    let since = Watched { since: Some(at(1)), ..on_node(true) };
    let after = |speed| watched_as(&vec![since.clone(); 2], vec![traffic(1, speed), traffic(2, None)]).containers[0];

    assert_eq!((after(Some(12.5e9)).network_of_peak, after(Some(12.5e9)).network_peak_lost), (None, true));
    assert!(!after(None).network_peak_lost);
    assert!(!after(Some(-125_000.0)).network_peak_lost, "as node_exporter says of a card that does not know");
    let nowhere = seen(vec![traffic(1, Some(12.5e9))]).containers[0];
    assert_eq!((nowhere.network_of_peak, nowhere.network_peak_lost), (None, false));
}

fn gpu(slices: Vec<Slice>) -> GpuEvidence {
    history(slices).evidence(&watched(0, &[("a", -60)])).unwrap().gpus[0]
}

#[test]
fn lanes_are_those_in_use_and_those_that_there_are() {
    let both = [(Metric::PcieLanes, 8.0), (Metric::PcieLanesMost, 16.0)];
    let whole = gpu(vec![said(1, &both), said(2, &both)]);
    let fewer = gpu(vec![said(1, &both), said(2, &[(Metric::Engine, 0.5)])]);

    assert_eq!((whole.lanes, whole.lanes_most), (Some(Span::exact(8.0)), Some(16.0)));
    assert_eq!((fewer.lanes.unwrap().high, fewer.lanes_most, fewer.lanes_most_lost), (20.0, Some(16.0), false));
    let lost = history(vec![said(1, &both), said(2, &both[..1])]).evidence(&watched(1, &[("a", -60)])).unwrap();
    assert!((lost.gpus[0].lanes_most, lost.gpus[0].lanes_most_lost) == (None, true));
    assert_eq!(gpu(vec![said(1, &[(Metric::PcieLanes, 0.0), (Metric::Engine, 0.5)])]).lanes, None, "no link has none");
}

/// dcgm-exporter#190, #500, DCGM#277: the gauge holds the last number for ever, and a repeat does not show.
#[test]
fn dcgm_exporter_190_500_dcgm_277_only_a_number_that_changes_within_the_window_appeared() {
    let appeared = |numbers: &[Option<f64>]| {
        let looks = numbers.iter().zip(1..).map(|(number, minute)| {
            let xid = number.map(|number| (Metric::Xid, number));
            said(minute, &xid.into_iter().chain([(Metric::Engine, 0.5)]).collect::<Vec<_>>())
        });
        gpu(looks.collect()).xid
    };

    assert_eq!(appeared(&[Some(0.0), Some(79.0), Some(79.0)]), Some(79));
    assert_eq!(appeared(&[Some(31.0), None, Some(48.0)]), Some(48));
    assert_eq!(appeared(&[Some(79.0), Some(79.0)]), None, "it may be weeks old");
    assert_eq!(appeared(&[Some(79.0), Some(0.0)]), None, "the exporter was started again");
    assert_eq!(appeared(&[None, Some(79.0)]), None, "nobody knows since when");
}

/// gpu-pruner: a query that joins several metrics loses a GPU when one of them is missing.
#[test]
fn g13_gpu_pruner_a_metric_that_is_missing_takes_no_other_with_it() {
    let seen = seen(vec![said(1, &[(Metric::Util, 22.0), (Metric::Engine, 0.22)])]);
    let gpu = seen.gpus[0];

    assert_eq!((gpu.engine, gpu.util), (Some(Span::exact(0.22)), Some(Span::exact(0.22))));
    assert_eq!(gpu.activity(), Some(Span::exact(0.22)));
    let others =
        [gpu.sm, gpu.dram, gpu.tensor, gpu.fp32, gpu.memory, gpu.clock, gpu.power, gpu.nvlink, gpu.pcie, gpu.lanes];
    assert_eq!(others, [None; 10]);
    assert_eq!(seen.containers, [ContainerEvidence { limit: Some(8.0), ..ContainerEvidence::default() }]);
}
