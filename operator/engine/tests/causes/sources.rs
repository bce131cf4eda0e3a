//! Sources that only support or stand in: the node's own numbers, the width of a link, the last error.

use super::{cpu, exact, found, gpu, lean, training, value, vetoes, weight};
use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Lean, Measure, Quantity, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName::{CommunicationBound, StorageStall, Straggler};
use wellfed_engine::span::Span;
use wellfed_engine::testing::{busy_gpu, evidence, starved_gpu};

/// On a kernel or kubelet without PSI.
fn without_pressure(iowait: f64) -> ContainerEvidence {
    ContainerEvidence { io_pressure: None, node_iowait: exact(iowait), ..cpu(1.0) }
}

fn reading(container: ContainerEvidence) -> Evidence {
    evidence(Class::Inference, &[starved_gpu()], &[container])
}

/// R4: "io pressure ≥ 0.1 OR node iowait ≥ 0.1".
#[test]
fn the_nodes_wait_stands_in_for_a_wait_that_containers_never_measured() {
    let opinion = judge(&reading(without_pressure(0.3)));

    assert_eq!((opinion.lean, found(&opinion)), (Lean::Refuse(StorageStall), vec![(StorageStall, Weight::Veto)]));
    let iowait = Measure { what: Quantity::NodeIowait, value: 0.3, threshold: Some(0.1) };
    assert_eq!((value(&opinion, Quantity::NodeIowait), value(&opinion, Quantity::IoPressure)), (Some(iowait), None));
    assert_eq!(vetoes(&reading(without_pressure(0.259))), [], "GPUs idle for three times as long as it waits");
    let busy = ContainerEvidence { cores: exact(4.0), ..without_pressure(0.3) };
    assert_eq!(vetoes(&reading(busy)), [], "the CPU is half busy");
}

/// Trap of R4: iowait is per node, and a neighbour's as often as not.
#[test]
fn the_containers_own_wait_decides_where_it_is_measured_and_none_does_where_it_was_lost() {
    let neighbours = ContainerEvidence { io_pressure: exact(0.02), ..without_pressure(0.6) };
    let lost = ContainerEvidence { io_pressure_lost: true, ..without_pressure(0.6) };
    let own = ContainerEvidence { io_pressure: exact(0.4), ..without_pressure(0.0) };

    assert_eq!(vetoes(&reading(neighbours)), []);
    assert_eq!(vetoes(&reading(lost)), []);
    assert_eq!(vetoes(&reading(own)), [StorageStall], "asynchronous reads show no iowait");
}

/// By turns active and not, with room in the memory, over no link inside the node.
fn exchanging(container: ContainerEvidence) -> Evidence {
    let gpu =
        GpuEvidence { swing: exact(0.425), memory: exact(0.6), nvlink: exact(0.02), ..gpu(0.525, 0.36, 0.25, 0.2) };
    Evidence { containers: vec![container; 2], ..training(&[gpu; 8]) }
}

/// R5: RDMA is in no container's network, so that an exchange between nodes showed nowhere.
#[test]
fn an_exchange_between_nodes_shows_at_their_rdma_ports() {
    let over = |share| ContainerEvidence { network: exact(1e6), rdma: exact(share), ..cpu(1.0) };
    let opinion = judge(&exchanging(over(0.3)));

    assert_eq!(opinion.lean, Lean::Refuse(CommunicationBound));
    let rdma = Measure { what: Quantity::RdmaOfPeak, value: 0.3, threshold: Some(0.2) };
    assert_eq!(value(&opinion, Quantity::RdmaOfPeak), Some(rdma));
    assert_eq!(vetoes(&exchanging(over(0.19))), []);
    let alone = Evidence { containers: vec![over(0.3)], ..exchanging(over(0.3)) };
    assert_eq!(vetoes(&alone), [], "one pod has nobody to exchange with");
}

/// R5: over 30 % of link peak.
#[test]
fn traffic_is_compared_with_what_the_network_card_can_carry_where_that_is_known() {
    let at = |rate: f64, share: Option<Span>| {
        let network_peak_lost = share.is_none() && rate > 3e9;
        vetoes(&exchanging(ContainerEvidence {
            network: exact(rate),
            network_of_peak: share,
            network_peak_lost,
            ..cpu(1.0)
        }))
    };

    assert_eq!(at(2.0e9, exact(0.16)), [], "on a card of 100 Gb/s");
    assert_eq!(at(0.4e9, exact(0.32)), [CommunicationBound], "on a card of 10 Gb/s");
    assert_eq!(at(2.0e9, None), [CommunicationBound], "30 % of 25 Gb/s where no card is known");
    assert_eq!(at(4.0e9, None), [], "the card was known, and may be a fast one");
}

/// Eight GPUs at work, with these lanes out of those that there are.
fn linked(odd: f64, others: Option<f64>, most: Option<f64>) -> Evidence {
    let lanes = others.map(Span::exact);
    let mut gpus = [GpuEvidence { lanes, lanes_most: most, product: Some(0), ..busy_gpu() }; 8];
    gpus[3].lanes = exact(odd);
    training(&gpus)
}

/// R14: "`PCIe` width is an outlier"; azurehpc-health-checks and DCGM warn of a width below the maximum at any load.
#[test]
fn a_link_that_lost_half_of_its_lanes_holds_up_a_group() {
    let opinion = judge(&linked(8.0, Some(16.0), Some(16.0)));

    assert_eq!(opinion.lean, Lean::Refuse(Straggler));
    let lanes = Measure { what: Quantity::PcieLanes, value: 8.0, threshold: Some(16.0) };
    assert_eq!(value(&opinion, Quantity::PcieLanes), Some(lanes));
    assert_eq!(vetoes(&linked(8.0, Some(16.0), None)), [Straggler], "its peers tell where the maximum is not exported");
    let service = Evidence { class: Class::Inference, ..linked(8.0, Some(16.0), Some(16.0)) };
    assert_eq!((lean(&service), weight(&service, Straggler)), (Lean::Allow, Some(Weight::Advice)));
}

/// azurehpc-health-checks#162: fewer links by design.
#[test]
fn a_slot_that_is_narrow_by_design_is_no_straggler() {
    assert_eq!(vetoes(&linked(8.0, Some(8.0), Some(16.0))), [], "all of them");
    assert_eq!(vetoes(&linked(8.0, Some(16.0), Some(8.0))), [], "all that card and slot have");
    assert_eq!(vetoes(&linked(8.0, None, Some(16.0))), [], "nobody knows of the others");
    let unseen = Evidence { expected_gpus: 10, ..linked(8.0, Some(16.0), Some(16.0)) };
    assert_eq!(vetoes(&unseen), [], "nor of two of ten");
    let mut lost = linked(8.0, Some(16.0), None);
    lost.gpus[3].lanes_most_lost = true;
    assert_eq!(vetoes(&lost), [], "it may have had no more");
    let mut other = linked(8.0, Some(16.0), None);
    other.gpus[3].product = Some(1);
    assert_eq!(vetoes(&other), [], "of another product");
    other.gpus.iter_mut().for_each(|gpu| gpu.product = None);
    assert_eq!(vetoes(&other), [], "nobody knows of which");
}

fn with_xid(xid: u16) -> Evidence {
    let mut gpus = [GpuEvidence { clock: exact(1_980.0), product: Some(0), ..busy_gpu() }; 8];
    gpus[3].xid = Some(xid);
    training(&gpus)
}

/// dcgm-exporter#190, #500 and DCGM#277: the number never clears and a repeat does not show, so it is a hint at most.
#[test]
fn dcgm_exporter_190_500_dcgm_277_an_xid_that_appeared_is_said_and_refuses_nothing() {
    let opinion = judge(&with_xid(79));
    let straggler = opinion.findings.iter().find(|finding| finding.rule == Straggler).unwrap();

    assert_eq!((opinion.lean, straggler.weight), (Lean::Allow, Weight::Advice));
    assert_eq!(straggler.measured[0], Measure { what: Quantity::Xid, value: 79.0, threshold: None });
    for of_a_program in [13, 31, 43, 45, 68] {
        assert_eq!(weight(&with_xid(of_a_program), Straggler), None, "{of_a_program}");
    }
}

#[test]
fn an_xid_is_told_beside_the_clock_that_refuses() {
    let mut seen = with_xid(48);
    seen.gpus[3].clock = exact(990.0);
    let opinion = judge(&seen);

    assert_eq!(opinion.lean, Lean::Refuse(Straggler));
    assert_eq!(value(&opinion, Quantity::Xid).map(|xid| xid.value), Some(48.0));
}
