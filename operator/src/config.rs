//! The administrator's file: which Prometheus servers there are, and how far a tenant's query may see.

mod evidence;

use crate::overrides::{self, OverrideError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use wellfed_crds::Quantity;
use wellfed_engine::rules::Thresholds;

pub use evidence::{BoardConfig, EvidenceConfig, EvidenceError, ServerNames, TrainerNames, Unit};

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

/// Whether a metric can have this name, and without a colon a label.
pub(crate) fn is_name(name: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':');
    !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) && name.chars().all(letter)
}

/// Why the file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It can't be read.
    #[error(
        "the configuration file {path} can't be read: {source}: mount it where --config says, readable by the operator"
    )]
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
    /// What is asked for as evidence can't be.
    #[error("the configuration file {path} has {error}")]
    Evidence {
        /// Where it is.
        path: String,
        /// What is wrong.
        error: EvidenceError,
    },
    /// The evidence is to be read from a server that is not listed.
    #[error(
        "the configuration file {path} has evidence.endpoint {name:?}, which prometheus does not list: write one of its names, \
         or list it there"
    )]
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
        if let Err(error) = config.evidence.check() {
            return Err(ConfigError::Evidence { path, error });
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
}
