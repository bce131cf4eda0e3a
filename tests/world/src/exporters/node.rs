//! `node_exporter`'s page of one node.

use super::text::{Kind, Text};
use crate::{sim::Ledger, view::PodView};
use std::collections::BTreeMap;

/// Bytes a second of the network card, and of the RDMA port where there is one.
const CARD: (f64, f64) = (3.125e9, 50.0e9);
/// What a virtual interface claims, and one that does not know.
const CLAIMED: (f64, f64) = (1.25e9, -125_000.0);

/// What a node counted since it was first seen.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    seconds: f64,
    busy: f64,
    waiting: f64,
    received: f64,
    sent: f64,
    /// What each pod's ledger said last, by uid.
    before: BTreeMap<String, Ledger>,
}

impl Counters {
    /// Counts on: `seconds` in which `pods` did what their ledgers say.
    pub fn count(&mut self, seconds: f64, pods: &[(&PodView, Ledger)], cpus: u32) {
        self.seconds += seconds;
        for (pod, now) in pods {
            let before = self.before.get(&pod.replica.uid).copied().unwrap_or_default();
            let more = |of: fn(&Ledger) -> f64| (of(now) - of(&before)).max(0.0);
            self.busy += more(|ledger| ledger.used.cpu_seconds);
            // While a container waits for storage, as many CPUs as it may use have nothing else to do.
            self.waiting += more(|ledger| ledger.used.io_waiting) * pod.replica.cpu_limit.unwrap_or(1.0);
            self.received += more(|ledger| ledger.used.net_rx_bytes);
            self.sent += more(|ledger| ledger.used.net_tx_bytes);
        }
        self.before = pods.iter().map(|(pod, ledger)| (pod.replica.uid.clone(), *ledger)).collect();
        self.waiting = self.waiting.min((self.seconds * f64::from(cpus) - self.busy).max(0.0));
    }
}

/// The page of `node`, with an RDMA port or not.
pub fn page(node: &str, counters: &Counters, cpus: u32, rdma: bool) -> String {
    let mut text = Text::default();
    cpu(&mut text, counters, cpus);
    let uname = [
        ("domainname", "(none)"),
        ("machine", "x86_64"),
        ("nodename", node),
        ("release", "6.8.0"),
        ("sysname", "Linux"),
        ("version", "#1 SMP"),
    ];
    text.one(
        "node_uname_info",
        Kind::Gauge,
        "Labeled system information as provided by the uname system call.",
        &uname,
        1.0,
    );
    let speed = "node_network_speed_bytes";
    text.family(speed, Kind::Gauge, "Network device property: speed_bytes");
    for (device, bytes) in [("eth0", CARD.0), ("eth1", CLAIMED.1), ("veth3f2a", CLAIMED.0)] {
        text.sample(speed, &[("device", device)], bytes);
    }
    if rdma {
        ports(&mut text, counters);
    }
    text.finish()
}

fn cpu(text: &mut Text, counters: &Counters, cpus: u32) {
    let name = "node_cpu_seconds_total";
    text.family(name, Kind::Counter, "Seconds the CPUs spent in each mode.");
    let each = 1.0 / f64::from(cpus.max(1));
    let idle = (counters.seconds * f64::from(cpus) - counters.busy - counters.waiting).max(0.0);
    for index in (0..cpus).map(|index| index.to_string()) {
        for (mode, seconds) in [("idle", idle), ("iowait", counters.waiting), ("user", counters.busy)] {
            text.sample(name, &[("cpu", &index), ("mode", mode)], seconds * each);
        }
    }
}

fn ports(text: &mut Text, counters: &Counters) {
    let port = [("device", "mlx5_0"), ("port", "1")];
    let counted = [
        (
            "node_infiniband_port_data_received_bytes_total",
            "Number of data octets received on all links",
            counters.received,
        ),
        (
            "node_infiniband_port_data_transmitted_bytes_total",
            "Number of data octets transmitted on all links",
            counters.sent,
        ),
    ];
    for (name, help, bytes) in counted {
        text.one(name, Kind::Counter, help, &port, bytes.round());
    }
    text.one("node_infiniband_rate_bytes_per_second", Kind::Gauge, "Maximum signal transfer rate", &port, CARD.1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Replica, Usage};

    fn pod(uid: &str) -> PodView {
        PodView::running(Replica::ready(uid, 1, Some(4.0)))
    }

    fn ledger(io_waiting: f64, net_rx_bytes: f64) -> Ledger {
        Ledger {
            used: Usage { io_waiting, net_rx_bytes, cpu_seconds: io_waiting, ..Usage::default() },
            ..Ledger::default()
        }
    }

    #[test]
    fn counters_go_on_when_a_pod_is_gone_and_ports_carry_what_pods_exchange() {
        let (one, other) = (pod("a"), pod("b"));
        let mut counters = Counters::default();
        counters.count(10.0, &[(&one, ledger(5.0, 1e9)), (&other, ledger(0.0, 2e9))], 16);
        counters.count(10.0, &[(&one, ledger(6.0, 3e9))], 16);

        let page = page("n1", &counters, 16, true);

        // 6 s in which four CPUs wait, over 16 of them.
        assert!(page.contains("node_cpu_seconds_total{cpu=\"15\",mode=\"iowait\"} 1.5\n"), "{page}");
        // 320 s of CPUs, of which 6 s worked and 24 s waited.
        assert!(page.contains("node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 18.125\n"), "{page}");
        let received = "node_infiniband_port_data_received_bytes_total{device=\"mlx5_0\",port=\"1\"} 5000000000\n";
        assert!(page.contains(received), "{page}");
    }
}
