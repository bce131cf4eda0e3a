//! The Prometheus text format, version 0.0.4.

use crate::sim::histogram::Histogram;
use std::fmt::Write;

/// What a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// May fall.
    Gauge,
    /// Only rises.
    Counter,
    /// Buckets, sum and count.
    Histogram,
}

/// A body that grows family by family.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// Begins a family.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) -> &mut Self {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        self
    }

    /// Adds one sample.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) -> &mut Self {
        self.0.push_str(name);
        for (index, (key, text)) in labels.iter().enumerate() {
            let open = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{open}{key}=\"{}\"", escaped(text));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{close} {}", number(value));
        self
    }

    /// Adds a family with one sample.
    pub fn one(&mut self, name: &str, kind: Kind, help: &str, labels: &[(&str, &str)], value: f64) -> &mut Self {
        self.family(name, kind, help).sample(name, labels, value)
    }

    /// Adds a family with one histogram.
    pub fn histogram(&mut self, name: &str, help: &str, labels: &[(&str, &str)], histogram: &Histogram) -> &mut Self {
        self.family(name, Kind::Histogram, help);
        let bucket = format!("{name}_bucket");
        let bounds = histogram.bounds.iter().map(|bound| number(*bound)).chain(["+Inf".into()]);
        for (bound, count) in bounds.zip(histogram.counts.iter().copied().chain([histogram.total])) {
            let with_bound: Vec<(&str, &str)> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
            self.sample(&bucket, &with_bound, count as f64);
        }
        self.sample(&format!("{name}_sum"), labels, histogram.sum);
        self.sample(&format!("{name}_count"), labels, histogram.total as f64)
    }

    /// The body.
    pub fn finish(self) -> String {
        self.0
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    format!("{}", (value * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_reads_as_prometheus_wants_it() {
        let mut text = Text::default();
        text.one("up", Kind::Gauge, "Is it up.", &[("a", "x\"y"), ("b", "z")], 1.5);

        assert_eq!(text.finish(), "# HELP up Is it up.\n# TYPE up gauge\nup{a=\"x\\\"y\",b=\"z\"} 1.5\n");
    }

    #[test]
    fn a_histogram_ends_with_infinity_sum_and_count() {
        let mut histogram = Histogram::new(&[0.5]);
        histogram.observe(0.2);
        histogram.observe(3.0);
        let mut text = Text::default();
        text.histogram("t", "Time.", &[("e", "0")], &histogram);

        let body = text.finish();
        assert!(body.ends_with(
            "t_bucket{e=\"0\",le=\"0.5\"} 1\nt_bucket{e=\"0\",le=\"+Inf\"} 2\nt_sum{e=\"0\"} 3.2\nt_count{e=\"0\"} 2\n"
        ));
    }
}
