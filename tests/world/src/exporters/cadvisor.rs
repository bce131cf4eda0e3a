//! The kubelet's cAdvisor page of one node.

use super::text::{Kind, Text};
use crate::{sim::Ledger, view::PodView};
use wellfed_sim::meter::digest;

/// Microseconds of a CFS period.
const PERIOD_US: f64 = 100_000.0;

/// A family of one container: name, kind, help, further label, value; no value, no row.
struct Family(
    &'static str,
    Kind,
    &'static str,
    Option<(&'static str, &'static str)>,
    fn(&Ledger, Option<f64>) -> Option<f64>,
);

const CONTAINER: [Family; 8] = [
    Family(
        "container_cpu_usage_seconds_total",
        Kind::Counter,
        "Cumulative cpu time consumed in seconds.",
        Some(("cpu", "total")),
        |ledger, _| Some(ledger.used.cpu_seconds),
    ),
    Family(
        "container_cpu_cfs_periods_total",
        Kind::Counter,
        "Number of elapsed enforcement period intervals.",
        None,
        |ledger, limit| limit.map(|_| ledger.used.cfs_periods.floor()),
    ),
    Family(
        "container_cpu_cfs_throttled_periods_total",
        Kind::Counter,
        "Number of throttled period intervals.",
        None,
        |ledger, limit| limit.map(|_| ledger.used.cfs_throttled.floor()),
    ),
    Family("container_spec_cpu_quota", Kind::Gauge, "CPU quota of the container.", None, |_, limit| {
        limit.map(|cores| cores * PERIOD_US)
    }),
    Family("container_spec_cpu_period", Kind::Gauge, "CPU period of the container.", None, |_, _| Some(PERIOD_US)),
    Family("container_memory_working_set_bytes", Kind::Gauge, "Current working set in bytes.", None, |ledger, _| {
        Some(ledger.level.memory_bytes)
    }),
    Family(
        "container_pressure_cpu_waiting_seconds_total",
        Kind::Counter,
        "Total time duration tasks in the container have waited due to CPU congestion.",
        None,
        |ledger, _| Some(ledger.used.cpu_waiting),
    ),
    Family(
        "container_pressure_io_waiting_seconds_total",
        Kind::Counter,
        "Total time duration tasks in the container have waited due to IO congestion.",
        None,
        |ledger, _| Some(ledger.used.io_waiting),
    ),
];
/// What families of pressure are called; kernels without it have none.
const PRESSURE: &str = "container_pressure_";

/// The page of a node with these pods, with or without `pressure`, and without traffic that goes over `rdma`.
pub fn page(pods: &[(&PodView, Ledger)], pressure: bool, rdma: bool) -> String {
    let ids: Vec<(String, String)> = pods.iter().map(|(pod, _)| ids(pod)).collect();
    let mut text = Text::default();
    let shown = |family: &&Family| pressure || !family.0.starts_with(PRESSURE);
    for Family(name, kind, help, further, value) in CONTAINER.iter().filter(shown) {
        text.family(name, *kind, help);
        for ((pod, ledger), (id, container_id)) in pods.iter().zip(&ids) {
            let Some(value) = value(ledger, pod.replica.cpu_limit) else { continue };
            let mut labels = vec![("container", pod.container.as_str())];
            labels.extend(*further);
            labels.extend([("id", id.as_str()), ("image", &pod.image), ("name", container_id)]);
            labels.extend([("namespace", pod.namespace.as_str()), ("pod", &pod.name)]);
            text.sample(name, &labels, value);
        }
    }
    network(&mut text, pods, &ids, rdma);
    text.finish()
}

/// Network counters belong to the pod, hence no container.
fn network(text: &mut Text, pods: &[(&PodView, Ledger)], ids: &[(String, String)], rdma: bool) {
    type Value = fn(&Ledger) -> f64;
    let families: [(&str, &str, Value); 2] = [
        ("container_network_receive_bytes_total", "Cumulative count of bytes received", |ledger| {
            ledger.used.net_rx_bytes
        }),
        ("container_network_transmit_bytes_total", "Cumulative count of bytes transmitted", |ledger| {
            ledger.used.net_tx_bytes
        }),
    ];
    for (name, help, value) in families {
        text.family(name, Kind::Counter, help);
        for ((pod, ledger), (id, container_id)) in pods.iter().zip(ids) {
            let labels = [
                ("id", id.as_str()),
                ("image", "registry.k8s.io/pause:3.10"),
                ("interface", "eth0"),
                ("name", container_id),
                ("namespace", &pod.namespace),
                ("pod", &pod.name),
            ];
            text.sample(name, &labels, if rdma { 0.0 } else { value(ledger).round() });
        }
    }
}

/// The cgroup path and the runtime's id of a pod's container.
fn ids(pod: &PodView) -> (String, String) {
    let container = format!("{:016x}{:016x}", digest(&pod.replica.uid), digest(&pod.container));
    (format!("/kubepods.slice/kubepods-pod{}.slice/cri-containerd-{container}.scope", pod.replica.uid), container)
}
