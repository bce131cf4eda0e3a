//! What is sent at the moment: of every live replica of every case, in the order in which they were made.

use crate::exposition::Replica;
use crate::stage::Case;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;
use wellfed_tests::fixture::is_ready;
use wellfed_tests::source::MetricSource;

/// The cases, their counters, and the series that stand on the page.
pub struct Shown {
    began: Instant,
    last: Instant,
    cases: Vec<Case>,
    counters: HashMap<String, f64>,
    page: HashSet<String>,
}

impl Shown {
    /// Of `cases`; nothing is sent yet.
    pub fn of(cases: &[Case]) -> Self {
        let now = Instant::now();
        let (counters, page) = (HashMap::new(), HashSet::new());
        Self { began: now, last: now, cases: cases.to_vec(), counters, page }
    }

    /// From now on the case `name` is measured like this.
    pub fn becomes(&mut self, name: &str, replicas: &'static [Replica]) {
        for case in self.cases.iter_mut().filter(|case| case.name == name) {
            case.replicas = replicas;
        }
    }

    /// Sends what is measured now of those of `pods` that are Ready; what is gone is sent no more.
    pub fn send(&mut self, source: &MetricSource, namespace: &str, pods: &[Pod]) {
        let now = Instant::now();
        let seconds = now.duration_since(self.last).as_secs_f64();
        let since = now.duration_since(self.began).as_secs_f64();
        self.last = now;
        let mut page = HashSet::new();
        for (case, replica, pod) in measured(&self.cases, pods) {
            for (series, value) in replica.gauges(namespace, &pod, case.labels, since) {
                source.set(&format!("{series} {value}"));
                page.insert(series);
            }
            for (series, rate) in replica.rates(&pod) {
                let counter = self.counters.entry(series.clone()).or_default();
                *counter += rate * seconds;
                source.set(&format!("{series} {counter}"));
                page.insert(series);
            }
        }
        for gone in self.page.difference(&page) {
            source.remove(gone);
        }
        self.page = page;
    }
}

/// The replicas' measures go to the pods by age; where there are more pods they begin anew.
fn measured<'a>(cases: &'a [Case], pods: &[Pod]) -> Vec<(&'a Case, &'static Replica, String)> {
    let mut by_app: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| is_ready(pod) && pod.metadata.deletion_timestamp.is_none()) {
        let app = pod.metadata.labels.as_ref().and_then(|labels| labels.get("app"));
        by_app.entry(app.map(String::as_str).unwrap_or_default()).or_default().push(pod);
    }
    let mut all = Vec::new();
    for case in cases {
        let mut own = by_app.remove(case.name).unwrap_or_default();
        own.sort_by_key(|pod| (pod.creation_timestamp(), pod.name_any()));
        all.extend(own.iter().zip(case.replicas.iter().cycle()).map(|(pod, replica)| (case, replica, pod.name_any())));
    }
    all
}
