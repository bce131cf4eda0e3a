//! What the lane found to look at, as metrics and once in the log: a name that nobody sends any more is no silence.

use super::labels::Scheme;
use super::metric::Metric;
use super::slice::Slice;
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfMetric {
    metric: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfScheme {
    scheme: String,
}

/// The lane's metrics. Clones show the same.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    series: Family<OfMetric, Gauge>,
    dropped: Family<OfMetric, Gauge>,
    schemes: Family<OfScheme, Gauge>,
    not_recorded: Family<OfMetric, Gauge>,
    age: Gauge<f64, AtomicU64>,
}

impl Shown {
    /// Adds them to what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("evidence_series", "Series that a metric of the gate's evidence has", self.series.clone());
        let help = "Values in the last look that can't be measurements, and were dropped";
        registry.register("evidence_dropped_samples", help, self.dropped.clone());
        let help = "Series of GPUs, by the label that carries the pod which uses the GPU";
        registry.register("evidence_label_scheme", help, self.schemes.clone());
        let help = "1 where a metric was to be recorded and had to be asked for directly";
        registry.register("evidence_not_recorded", help, self.not_recorded.clone());
        let help = "Time since the last look of the gate that had an answer; it grows while Prometheus gives none";
        registry.register_with_unit("evidence_age", help, Unit::Seconds, self.age.clone());
    }

    /// What it shows as the age of the evidence.
    #[cfg(test)]
    pub fn age(&self) -> f64 {
        self.age.get()
    }

    fn look(&self, slice: &Slice, told: &Told) {
        for metric in &told.asked {
            self.series.get_or_create(&OfMetric { metric: metric.name() }).set(whole(slice.series(*metric)));
            self.dropped.get_or_create(&OfMetric { metric: metric.name() }).set(whole(slice.dropped(*metric)));
            let direct = told.not_recorded.contains(metric);
            self.not_recorded.get_or_create(&OfMetric { metric: metric.name() }).set(i64::from(direct));
        }
        for scheme in Scheme::ALL {
            let label = OfScheme { scheme: scheme.label().to_owned() };
            self.schemes.get_or_create(&label).set(whole(slice.carried(scheme)));
        }
    }
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// What was told last, so that only what is new is told.
#[derive(Debug, Default)]
pub struct Told {
    asked: BTreeSet<Metric>,
    silent: Option<BTreeSet<Metric>>,
    impossible: BTreeSet<Metric>,
    not_recorded: BTreeSet<Metric>,
    schemes: Option<Vec<Scheme>>,
    unattributed: bool,
    /// When the first look was tried.
    began: Option<Timestamp>,
    unknown: BTreeSet<String>,
}

impl Told {
    /// Shows how old, at the end of a look `now`, the last one is that had an answer.
    pub fn answered_last(&mut self, last: Option<Timestamp>, now: Timestamp, shown: &Shown) {
        let began = *self.began.get_or_insert(now);
        shown.age.set(now.duration_since(last.unwrap_or(began)).as_secs_f64());
    }

    /// A metric was asked for, and answered: `directly` where its recording rule should have, and did not.
    pub fn answered(&mut self, metric: Metric, name: Option<&str>, directly: bool) {
        self.asked.insert(metric);
        if !directly {
            self.not_recorded.remove(&metric);
        } else if self.not_recorded.insert(metric) {
            let name = name.unwrap_or_default();
            tracing::warn!(
                name,
                "a recording rule has no series, so its expression is asked for directly: enable the chart's prometheusRules, \
                 or unset evidence.recorded"
            );
        }
    }

    /// What should have been recorded.
    #[cfg(test)]
    pub fn not_recorded(&self) -> Vec<Metric> {
        self.not_recorded.iter().copied().collect()
    }

    /// Shows a whole look, and tells what has changed since the last one.
    pub fn look(&mut self, slice: &Slice, shown: &Shown) {
        shown.look(slice, self);
        let silent: BTreeSet<_> = self.asked.iter().copied().filter(|metric| slice.series(*metric) == 0).collect();
        if self.silent.as_ref() != Some(&silent) {
            let names: Vec<_> = silent.iter().map(|metric| metric.name()).collect();
            tracing::info!(metrics = ?names, "evidence without any series: the rules that read it stay silent");
            self.silent = Some(silent);
        }
        let impossible: BTreeSet<_> = self.asked.iter().copied().filter(|metric| slice.dropped(*metric) > 0).collect();
        if !impossible.is_subset(&self.impossible) {
            let names: Vec<_> = impossible.iter().map(|metric| metric.name()).collect();
            tracing::warn!(metrics = ?names, "an exporter sends values that can't be measurements: they are dropped");
        }
        self.impossible = impossible;
        let schemes: Vec<_> = Scheme::ALL.into_iter().filter(|scheme| slice.carried(*scheme) > 0).collect();
        if self.schemes.as_ref() != Some(&schemes) {
            let labels: Vec<_> = schemes.iter().map(|scheme| scheme.label()).collect();
            tracing::info!(?labels, "the labels that carry the pods of GPUs");
            self.schemes = Some(schemes);
        }
    }

    /// Tells once of each product of which nothing is known.
    pub fn products<'a>(&mut self, unknown: impl Iterator<Item = &'a str>) {
        let new: Vec<_> = unknown.filter(|name| !self.unknown.contains(*name)).map(str::to_owned).collect();
        if !new.is_empty() {
            tracing::warn!(
                products = ?new,
                "boards whose links, and whose power where the exporter sends no limit, are measured against nothing: say what \
                 they can do in evidence.boards"
            );
            self.unknown.extend(new);
        }
    }

    /// Tells once when series of GPUs exist, and none carries a pod that should have some.
    pub fn attribution(&mut self, missing: bool) {
        if missing && !self.unattributed {
            tracing::warn!(
                "no series of a GPU carries a pod of a workload that wants to grow: check the exporter's access to the \
                 kubelet's pod resources, and which of its labels the scrape keeps"
            );
        }
        self.unattributed = missing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::client::Row;
    use jiff::Timestamp;
    use prometheus_client::encoding::text::encode;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    fn row(labels: &[(&str, &str)]) -> Row {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Row { labels, value: 0.5, at: Timestamp::UNIX_EPOCH }
    }

    /// dcgm-exporter#646, #700, #482 and vllm PR#18354: renamed metrics, which consumers silently do not read.
    #[test]
    fn a_metric_without_series_and_the_labels_that_carry_pods_are_shown() {
        let (shown, mut told, mut registry) = (Shown::default(), Told::default(), Registry::default());
        shown.register(&mut registry);
        let mut slice = Slice::ending(Timestamp::UNIX_EPOCH);
        let exported = [("exported_namespace", "demo"), ("exported_pod", "a"), ("pod", "exporter"), ("UUID", "g")];
        slice.take(Metric::Engine, vec![row(&exported), row(&[("UUID", "idle")])]);
        told.answered(Metric::Engine, None, false);
        told.answered(Metric::Kv, Some("wellfed:evidence_kv"), true);

        told.look(&slice, &shown);

        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            r#"evidence_series{metric="engine"} 2"#,
            r#"evidence_series{metric="kv"} 0"#,
            r#"evidence_label_scheme{scheme="exported_pod"} 1"#,
            r#"evidence_label_scheme{scheme="pod"} 0"#,
            r#"evidence_label_scheme{scheme="none"} 1"#,
            r#"evidence_not_recorded{metric="engine"} 0"#,
            r#"evidence_not_recorded{metric="kv"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert_eq!(told.silent, Some(BTreeSet::from([Metric::Kv])));
    }

    /// What is logged, line by line.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// dcgm-exporter#342, #349, #188: nobody learns from the scrape, which succeeds, that pods have no GPUs.
    #[test]
    fn missing_attribution_is_told_once_until_it_is_back() {
        let (log, mut told) = (Log::default(), Told::default());
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let mut lines = |missing: &[bool]| {
            for missing in missing {
                told.attribution(*missing);
            }
            String::from_utf8(log.0.lock().unwrap().clone())
                .unwrap()
                .matches("no series of a GPU carries a pod")
                .count()
        };

        tracing::subscriber::with_default(subscriber, || {
            assert_eq!(lines(&[false]), 0);
            assert_eq!(lines(&[true, true, true]), 1);
            assert_eq!(lines(&[false, true]), 2);
        });
    }

    #[test]
    fn a_product_of_which_nothing_is_known_is_told_once() {
        let (log, mut told) = (Log::default(), Told::default());
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();

        tracing::subscriber::with_default(subscriber, || {
            for looks in [&["NVIDIA X1"][..], &["NVIDIA X1"], &["NVIDIA X1", "NVIDIA X2"], &[]] {
                told.products(looks.iter().copied());
            }
        });

        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.matches("say what they can do in evidence.boards").count(), 2);
        assert_eq!((text.matches("NVIDIA X1").count(), text.matches("NVIDIA X2").count()), (1, 1), "{text}");
    }

    /// dcgm-exporter #272, #577.
    #[test]
    fn values_that_can_t_be_measurements_are_counted_and_the_mean_of_no_request_is_none() {
        let (shown, mut told, mut registry) = (Shown::default(), Told::default(), Registry::default());
        shown.register(&mut registry);
        let mut slice = Slice::ending(Timestamp::UNIX_EPOCH);
        let labels = [("namespace", "demo"), ("pod", "a"), ("UUID", "g")];
        for (metric, value) in [
            (Metric::Sm, 1.3),
            (Metric::Sm, f64::NAN),
            (Metric::Sm, 0.3),
            (Metric::Power, -1.0),
            (Metric::QueueSeconds, f64::NAN),
            (Metric::Kv, 9.2e18),
        ] {
            slice.take(metric, vec![Row { value, ..row(&labels) }]);
            told.answered(metric, None, false);
        }

        told.look(&slice, &shown);

        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            r#"evidence_dropped_samples{metric="sm"} 2"#,
            r#"evidence_dropped_samples{metric="power"} 1"#,
            r#"evidence_dropped_samples{metric="queue_seconds"} 0"#,
            r#"evidence_dropped_samples{metric="kv"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
