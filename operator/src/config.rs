//! The administrator's file: which Prometheus servers there are, and how far a tenant's query may see.

use crate::overrides::{self, OverrideError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use wellfed_crds::Quantity;
use wellfed_engine::rules::Thresholds;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Prometheus servers by name.
    #[serde(default)]
    pub prometheus: Vec<PrometheusConfig>,
    /// Where the gate reads its evidence.
    #[serde(default)]
    pub evidence: EvidenceConfig,
    /// How the gate judges, where a workload does not say.
    #[serde(default)]
    pub gate: GateConfig,
}

/// How the gate judges, where a workload does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GateConfig {
    /// Thresholds by name, as in `spec.gate.thresholds`.
    #[serde(default)]
    pub thresholds: BTreeMap<String, Quantity>,
}

impl GateConfig {
    /// What is built in, with these; the first that can't be set, and why.
    pub fn resolved(&self) -> Result<Thresholds, (String, OverrideError)> {
        self.thresholds.iter().try_fold(Thresholds::default(), |base, (name, value)| {
            overrides::set(&base, name, value).map_err(|error| (name.clone(), error))
        })
    }
}

/// One Prometheus.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrometheusConfig {
    /// The name that a workload gives.
    pub name: String,
    /// Its address.
    pub url: String,
    /// Matchers that every query gets, for example `cluster: a`.
    #[serde(default)]
    pub extra_matchers: BTreeMap<String, String>,
    /// Whether a tenant's query may see other namespaces.
    #[serde(default)]
    pub allow_cluster_queries: bool,
    /// The label that holds a series' namespace.
    #[serde(default = "namespace")]
    pub namespace_label: String,
}

fn namespace() -> String {
    "namespace".to_owned()
}

/// Where the gate reads its evidence, and by which names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvidenceConfig {
    /// The name of a Prometheus.
    #[serde(default = "default_endpoint")]
    pub endpoint: String,
    /// Whether that Prometheus evaluates the chart's recording rules, whose results are read then.
    #[serde(default)]
    pub recorded: bool,
    /// Matchers that every question about GPUs gets: those of the exporter, where tenants could send series of their own.
    #[serde(default)]
    pub gpu_matchers: BTreeMap<String, String>,
    /// The names of what trainers say of themselves.
    #[serde(default)]
    pub trainer: TrainerNames,
}

fn default_endpoint() -> String {
    "default".to_owned()
}

impl Default for EvidenceConfig {
    fn default() -> Self {
        Self {
            endpoint: default_endpoint(),
            recorded: false,
            gpu_matchers: BTreeMap::new(),
            trainer: TrainerNames::default(),
        }
    }
}

/// Metric names of what trainers say of themselves, for each the first that a pod has; none asks for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TrainerNames {
    /// Length of a step in seconds: a histogram, a summary or a gauge, without `_sum` and `_count`.
    pub step_seconds: Vec<String>,
    /// The part of it in which the GPU waits for data, likewise.
    pub data_wait_seconds: Vec<String>,
    /// Counters of steps; without one, what a histogram or summary of their length counts.
    pub steps: Vec<String>,
    /// Counters of samples or tokens.
    pub throughput: Vec<String>,
    /// A gauge of the training loss.
    pub loss: Vec<String>,
    /// A gauge of the evaluation metric; more is better.
    pub quality: Vec<String>,
}

impl Default for TrainerNames {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            step_seconds: names(&["training_step_seconds"]),
            data_wait_seconds: names(&["training_data_wait_seconds"]),
            steps: names(&["training_steps_total"]),
            throughput: names(&["training_samples_total", "training_tokens_total"]),
            loss: names(&["training_loss"]),
            quality: Vec::new(),
        }
    }
}

impl TrainerNames {
    /// The first name that Prometheus does not have.
    fn wrong(&self) -> Option<&String> {
        let times = [&self.step_seconds, &self.data_wait_seconds];
        let all = times.into_iter().chain([&self.steps, &self.throughput, &self.loss, &self.quality]);
        all.into_iter().flatten().find(|name| !is_name(name))
    }
}

/// Whether a metric can have this name, and without a colon a label.
fn is_name(name: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':');
    !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) && name.chars().all(letter)
}

/// Why the file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It can't be read.
    #[error("the configuration file {path} can't be read: {source}")]
    Unreadable {
        /// Where it should be.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It has another form.
    #[error("the configuration file {path} is not as it should be: {reason}")]
    Malformed {
        /// Where it is.
        path: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// Two servers of one name.
    #[error("the configuration file {path} names prometheus {name:?} twice: give each its own name")]
    Twice {
        /// Where it is.
        path: String,
        /// The name.
        name: String,
    },
    /// A trainer's metric has a name that cannot be.
    #[error(
        "the configuration file {path} has {name:?} in evidence.trainer, which is no metric name: write letters, digits, \
         underscores and colons, without matchers and functions"
    )]
    NoMetricName {
        /// Where it is.
        path: String,
        /// The name.
        name: String,
    },
    /// A matcher of GPUs is on something that is no label.
    #[error(
        "the configuration file {path} has {name:?} in evidence.gpuMatchers, which is no label: write letters, digits and \
         underscores"
    )]
    NoLabel {
        /// Where it is.
        path: String,
        /// The name.
        name: String,
    },
    /// The evidence is to be read from a server that is not listed.
    #[error("the configuration file {path} has evidence.endpoint {name:?}, which prometheus does not list")]
    NoEvidence {
        /// Where it is.
        path: String,
        /// The name.
        name: String,
    },
    /// A threshold that can't be set.
    #[error("the configuration file {path} has gate.thresholds.{name}: {error}")]
    Threshold {
        /// Where it is.
        path: String,
        /// The name.
        name: String,
        /// What is wrong.
        error: OverrideError,
    },
}

impl Config {
    /// Reads and checks the file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let shown = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: shown.clone(), source })?;
        Self::parse(&text, shown)
    }

    fn parse(text: &str, path: String) -> Result<Self, ConfigError> {
        let config: Self = serde_saphyr::from_str(text)
            .map_err(|error| ConfigError::Malformed { path: path.clone(), reason: error.to_string() })?;
        for (position, one) in config.prometheus.iter().enumerate() {
            if config.prometheus[..position].iter().any(|other| other.name == one.name) {
                return Err(ConfigError::Twice { path, name: one.name.clone() });
            }
        }
        if let Some(name) = config.evidence.trainer.wrong() {
            return Err(ConfigError::NoMetricName { path, name: name.clone() });
        }
        if let Some(name) = config.evidence.gpu_matchers.keys().find(|name| !is_name(name) || name.contains(':')) {
            return Err(ConfigError::NoLabel { path, name: name.clone() });
        }
        let evidence = &config.evidence.endpoint;
        if !config.prometheus.is_empty() && config.named(evidence).is_none() {
            return Err(ConfigError::NoEvidence { path, name: evidence.clone() });
        }
        if let Err((name, error)) = config.gate.resolved() {
            return Err(ConfigError::Threshold { path, name, error });
        }
        Ok(config)
    }

    /// The Prometheus of that name.
    pub fn named(&self, name: &str) -> Option<&PrometheusConfig> {
        self.prometheus.iter().find(|one| one.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, "config.yaml".into()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_needs_a_name_and_an_address() {
        let config = parse("prometheus: [{name: default, url: 'http://p:9090'}]").unwrap();

        assert_eq!(config.named("default").unwrap().namespace_label, "namespace");
        assert!(!config.named("default").unwrap().allow_cluster_queries);
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text| parse(text).unwrap_err();

        assert!(message("prometheus: [{name: a, uri: 'http://p'}]").contains("uri"));
        assert!(message("prometheus: [{name: a, url: x}, {name: a, url: y}]").contains("\"a\" twice"));
        assert!(message("prometheus: [{name: a, url: x}]").contains("evidence.endpoint \"default\""));
        assert!(message("evidence: {gpuMatchers: {'a-b': x}}").contains("\"a-b\" in evidence.gpuMatchers"));
        assert!(message("gate: {thresholds: {busyForm: 0.8}}").contains("gate.thresholds.busyForm: no threshold"));
        assert!(message("gate: {thresholds: {busyFrom: 80}}").contains("80 is no share"));
    }

    #[test]
    fn thresholds_are_numbers_or_quantities() {
        let config = parse("gate: {thresholds: {busyFrom: 0.8, throttledFrom: 400m, serialBelow: 2}}").unwrap();

        let resolved = config.gate.resolved().unwrap();
        let same = |one: f64, other: f64| (one - other).abs() < 1e-12;
        assert!(
            same(resolved.busy_from, 0.8) && same(resolved.throttled_from, 0.4) && same(resolved.serial_below, 2.0)
        );
    }

    #[test]
    fn names_of_a_trainers_metrics_are_names() {
        for wrong in ["rate(x[1m])", "1st", "", "a-b"] {
            let text = format!("evidence: {{trainer: {{loss: ['{wrong}']}}}}");
            assert!(parse(&text).unwrap_err().contains("no metric name"), "{wrong}");
        }
    }

    #[test]
    fn trainers_have_default_names_until_others_are_given() {
        let config =
            parse("evidence: {recorded: true, gpuMatchers: {job: dcgm-exporter}, trainer: {loss: [my:loss], quality: [accuracy]}}").unwrap();
        let trainer = config.evidence.trainer;

        assert!(config.evidence.recorded);
        assert_eq!(config.evidence.gpu_matchers["job"], "dcgm-exporter");
        assert_eq!((trainer.loss, trainer.quality), (vec!["my:loss".to_owned()], vec!["accuracy".to_owned()]));
        assert_eq!(trainer.throughput, ["training_samples_total", "training_tokens_total"]);
    }
}
