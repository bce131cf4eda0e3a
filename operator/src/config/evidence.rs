//! Where the gate reads its evidence, and by which names and units.

use super::is_name;
use crate::evidence::units;
use jiff::SignedDuration;
use serde::Deserialize;
use std::collections::BTreeMap;
use wellfed_crds::GoDuration;

/// Where the gate reads its evidence, and by which names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EvidenceConfig {
    /// The name of a Prometheus.
    pub endpoint: String,
    /// Whether that Prometheus evaluates the chart's recording rules, whose results are read then.
    pub recorded: bool,
    /// The longest time between two scrapes of what is asked for. Rates are taken over twice as much, where that is longer
    /// than the time between two looks: over less there is none.
    pub scrape_interval: Option<GoDuration>,
    /// Matchers that every question about GPUs gets: those of the exporter, where tenants could send series of their own.
    pub gpu_matchers: BTreeMap<String, String>,
    /// The same of questions about nodes.
    pub node_matchers: BTreeMap<String, String>,
    /// A label that carries the node's name in `node_exporter`'s series, before those that are tried anyway.
    pub node_label: Option<String>,
    /// The unit of a metric that comes in several, by its name.
    pub units: BTreeMap<String, Unit>,
    /// What boards can do that are not in the built-in table, or do other than it says, by `modelName`.
    pub boards: BTreeMap<String, BoardConfig>,
    /// The names of what trainers say of themselves.
    pub trainer: TrainerNames,
    /// Further names of what model servers say of themselves.
    pub server: ServerNames,
}

impl Default for EvidenceConfig {
    fn default() -> Self {
        Self {
            endpoint: "default".to_owned(),
            recorded: false,
            scrape_interval: None,
            gpu_matchers: BTreeMap::new(),
            node_matchers: BTreeMap::new(),
            node_label: None,
            units: BTreeMap::new(),
            boards: BTreeMap::new(),
            trainer: TrainerNames::default(),
            server: ServerNames::default(),
        }
    }
}

/// What one product can do; what is left out is as built in, or not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BoardConfig {
    /// Peak of one direction of `NVLink`, GB/s: half of what data sheets name.
    pub nvlink: Option<u32>,
    /// Peak of one direction of `PCIe`, GB/s.
    pub pcie: Option<u32>,
    /// Power limit, watts.
    pub power: Option<u32>,
}

/// What a number is counted in. It is said, never guessed: 0.9 may be a busy GPU or an idle one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Unit {
    /// 0 to 1.
    Ratio,
    /// 0 to 100.
    Percent,
    /// Bytes.
    Bytes,
    /// 1,000 bytes.
    KB,
    /// 1,024 bytes.
    KiB,
    /// 1,000,000 bytes.
    MB,
    /// 1,048,576 bytes.
    MiB,
}

/// What is wrong with the evidence that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    /// A metric has a name that cannot be.
    #[error(
        "{name:?} in evidence.{part}, which is no metric name: write letters, digits, underscores and colons, without \
         matchers and functions"
    )]
    NoMetricName {
        /// `trainer` or `server`.
        part: &'static str,
        /// The name.
        name: String,
    },
    /// A matcher is on something that is no label, or nodes are told by something that is none.
    #[error("{name:?} in evidence.{part}, which is no label: write letters, digits and underscores")]
    NoLabel {
        /// Where.
        part: &'static str,
        /// The name.
        name: String,
    },
    /// A unit of a metric that has but one.
    #[error("{name:?} in evidence.units, which is not read, or in one unit only: those with several are {}", known.join(", "))]
    OneUnit {
        /// The metric.
        name: String,
        /// Those with several.
        known: Vec<&'static str>,
    },
    /// A unit that the metric can't be in.
    #[error("{unit:?} as the unit of {name} in evidence.units, which counts something else: write one of {possible}")]
    WrongUnit {
        /// The metric.
        name: String,
        /// The unit.
        unit: Unit,
        /// What it may be.
        possible: &'static str,
    },
    /// A board that can do nothing.
    #[error(
        "evidence.boards {product:?} with a 0: write GB/s of one direction and watts, and leave out what it has not"
    )]
    NoPeak {
        /// The product.
        product: String,
    },
    /// No duration.
    #[error("evidence.scrapeInterval {text:?}: {reason}")]
    NoDuration {
        /// As it is written.
        text: String,
        /// What is wrong.
        reason: String,
    },
}

impl EvidenceConfig {
    /// The first thing that can't be asked for.
    pub(super) fn check(&self) -> Result<(), EvidenceError> {
        if let Some((part, name)) = self.wrong_name() {
            return Err(EvidenceError::NoMetricName { part, name: name.clone() });
        }
        if let Some((part, name)) = self.wrong_label() {
            return Err(EvidenceError::NoLabel { part, name: name.clone() });
        }
        self.units.iter().try_for_each(|(name, unit)| units::check(name, *unit))?;
        let nothing = |board: &BoardConfig| [board.nvlink, board.pcie, board.power].contains(&Some(0));
        if let Some((product, _)) = self.boards.iter().find(|(_, board)| nothing(board)) {
            return Err(EvidenceError::NoPeak { product: product.clone() });
        }
        let Some(text) = &self.scrape_interval else { return Ok(()) };
        match text.to_duration() {
            Ok(duration) if !duration.is_zero() => Ok(()),
            Ok(_) => Err("it must be longer than 0s".to_owned()),
            Err(error) => Err(error.to_string()),
        }
        .map_err(|reason| EvidenceError::NoDuration { text: text.0.clone(), reason })
    }

    fn wrong_name(&self) -> Option<(&'static str, &String)> {
        let trainer = self.trainer.all().into_iter().flatten().map(|name| ("trainer", name));
        let server = self.server.all().into_iter().flatten().map(|name| ("server", name));
        trainer.chain(server).find(|(_, name)| !is_name(name))
    }

    fn wrong_label(&self) -> Option<(&'static str, &String)> {
        let gpu = self.gpu_matchers.keys().map(|name| ("gpuMatchers", name));
        let node = self.node_matchers.keys().map(|name| ("nodeMatchers", name));
        let label = self.node_label.iter().map(|name| ("nodeLabel", name));
        gpu.chain(node).chain(label).find(|(_, name)| !is_name(name) || name.contains(':'))
    }

    /// The time over which one look's numbers are taken, where looks are `interval` apart.
    pub fn range(&self, interval: SignedDuration) -> SignedDuration {
        let scrapes = self.scrape_interval.as_ref().and_then(|text| text.to_duration().ok());
        scrapes.map_or(interval, |scrapes| interval.max(scrapes * 2))
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
    /// Counters of steps; beside them counts what a histogram or summary of their length does.
    pub steps: Vec<String>,
    /// Counters of samples.
    pub throughput: Vec<String>,
    /// Counters of tokens, for trainers that do not count samples.
    pub tokens: Vec<String>,
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
            throughput: names(&["training_samples_total"]),
            tokens: names(&["training_tokens_total"]),
            loss: names(&["training_loss"]),
            quality: Vec::new(),
        }
    }
}

impl TrainerNames {
    fn all(&self) -> [&Vec<String>; 7] {
        let [work, tokens] = [&self.throughput, &self.tokens];
        [&self.step_seconds, &self.data_wait_seconds, &self.steps, work, tokens, &self.loss, &self.quality]
    }
}

/// Metric names of what model servers say of themselves, which are tried before those that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ServerNames {
    /// Gauges of requests in service.
    pub running: Vec<String>,
    /// Gauges of requests that wait.
    pub waiting: Vec<String>,
    /// Counters of tokens or answers.
    pub progress: Vec<String>,
    /// Time of a request in the queue, seconds: a histogram or a summary, without `_sum` and `_count`.
    pub queue_seconds: Vec<String>,
    /// Time to the first token, seconds, likewise.
    pub first_token_seconds: Vec<String>,
    /// Time to the end of the answer, seconds, likewise.
    pub whole_seconds: Vec<String>,
    /// Requests in one execution of the model, of a server that forms its batches beforehand: a histogram, a summary or a gauge.
    pub batch: Vec<String>,
    /// Lengths of prompts: a histogram, without `_bucket`.
    pub prompt_tokens: Vec<String>,
    /// Gauges of the KV cache in use, 0 to 1.
    pub kv: Vec<String>,
    /// Counters of requests that are thrown out of the KV cache.
    pub preemptions: Vec<String>,
    /// Tokens of an answer: a histogram or a summary, without `_sum` and `_count`.
    pub output_tokens: Vec<String>,
    /// Tokens that a request allows its answer, likewise.
    pub output_cap: Vec<String>,
}

impl ServerNames {
    fn all(&self) -> [&Vec<String>; 12] {
        [
            &self.running,
            &self.waiting,
            &self.progress,
            &self.queue_seconds,
            &self.first_token_seconds,
            &self.whole_seconds,
            &self.batch,
            &self.prompt_tokens,
            &self.kv,
            &self.preemptions,
            &self.output_tokens,
            &self.output_cap,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn parse(evidence: &str) -> Result<EvidenceConfig, String> {
        let text = format!("evidence: {{{evidence}}}");
        Config::parse(&text, "config.yaml".into()).map(|config| config.evidence).map_err(|error| error.to_string())
    }

    #[test]
    fn names_of_metrics_are_names() {
        for wrong in ["rate(x[1m])", "1st", "", "a-b"] {
            for (part, field) in [("trainer", "loss"), ("server", "promptTokens"), ("server", "outputCap")] {
                let message = parse(&format!("{part}: {{{field}: ['{wrong}']}}")).unwrap_err();
                assert!(
                    message.contains(&format!("{wrong:?} in evidence.{part}, which is no metric name")),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn labels_are_labels() {
        for (part, text) in [
            ("gpuMatchers", "gpuMatchers: {'a-b': x}"),
            ("nodeMatchers", "nodeMatchers: {'a-b': x}"),
            ("nodeLabel", "nodeLabel: 'a-b'"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(&format!("\"a-b\" in evidence.{part}, which is no label")), "{message}");
        }
    }

    #[test]
    fn trainers_have_default_names_until_others_are_given() {
        let config =
            parse("recorded: true, gpuMatchers: {job: dcgm-exporter}, trainer: {loss: [my:loss], quality: [accuracy]}")
                .unwrap();
        let trainer = config.trainer;

        assert!(config.recorded);
        assert_eq!(config.gpu_matchers["job"], "dcgm-exporter");
        assert_eq!((trainer.loss, trainer.quality), (vec!["my:loss".to_owned()], vec!["accuracy".to_owned()]));
        assert_eq!(trainer.throughput, ["training_samples_total"]);
        assert_eq!(trainer.tokens, ["training_tokens_total"]);
    }

    #[test]
    fn boards_are_said_by_product() {
        let config = parse("boards: {NVIDIA B300: {nvlink: 900, power: 1100}}").unwrap();

        assert_eq!(config.boards["NVIDIA B300"], BoardConfig { nvlink: Some(900), pcie: None, power: Some(1_100) });
        assert!(parse("boards: {NVIDIA B300: {pcie: 0}}").unwrap_err().contains("\"NVIDIA B300\" with a 0"));
        assert!(parse("boards: {NVIDIA B300: {watts: 9}}").unwrap_err().contains("watts"));
    }

    #[test]
    fn rates_are_taken_over_two_scrapes_where_looks_are_closer() {
        let range = |text: &str| parse(text).unwrap().range(SignedDuration::from_mins(1)).as_secs();

        assert_eq!(
            [range("recorded: true"), range("scrapeInterval: 15s"), range("scrapeInterval: 60s")],
            [60, 60, 120]
        );
        for wrong in ["0s", "60", "soon"] {
            assert!(parse(&format!("scrapeInterval: '{wrong}'")).unwrap_err().contains("evidence.scrapeInterval"));
        }
    }

    #[test]
    fn a_unit_is_one_that_the_metric_can_be_in() {
        let message = |units: &str| parse(&format!("units: {{{units}}}")).unwrap_err();

        assert!(message("my_metric: Percent").contains("\"my_metric\" in evidence.units, which is not read"));
        assert!(message("DCGM_FI_DEV_GPU_UTIL_RATIO: MiB").contains("write one of Ratio, Percent"));
        assert!(message("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL: Ratio").contains("write one of Bytes, KB"));
        assert!(parse("units: {DCGM_FI_DEV_GPU_UTIL_RATIO: Percent, DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL: KiB}").is_ok());
    }
}
