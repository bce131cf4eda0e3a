//! The question for each metric, in `PromQL`.

use super::metric::Metric;
use super::names;
use super::units::{self, Units};
use crate::config::{EvidenceConfig, Unit};

/// What tells GPUs and their pods apart, under all of the label schemes that scraping gives.
const GPU: &str = "namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID";

impl Metric {
    /// The question, over the last `window` in Prometheus's notation; none where nobody named what to ask for.
    pub fn query(self, window: &str, config: &EvidenceConfig) -> Option<String> {
        let trainer = &config.trainer;
        let question = match self {
            Self::StepSeconds => of_trainer(&trainer.step_seconds, window),
            Self::DataWaitSeconds => of_trainer(&trainer.data_wait_seconds, window),
            Self::Throughput => of_server("sum", "rate", &trainer.throughput, window),
            Self::Loss => of_server("avg", "avg_over_time", &trainer.loss, window),
            Self::Quality => of_server("avg", "avg_over_time", &trainer.quality, window),
            Self::NodeName | Self::Iowait | Self::RdmaRx | Self::RdmaTx | Self::LinkSpeed => {
                return Some(self.of_node(window, config.node_label.as_deref()));
            }
            _ => return Some(self.shared_query(window, config)),
        };
        let names = self.mapped(config).is_some_and(|names| !names.is_empty());
        names.then_some(question)
    }

    /// The names that the administrator gives it; none where they are fixed.
    pub(super) fn mapped(self, config: &EvidenceConfig) -> Option<&[String]> {
        let trainer = &config.trainer;
        match self {
            Self::StepSeconds => Some(&trainer.step_seconds),
            Self::DataWaitSeconds => Some(&trainer.data_wait_seconds),
            Self::Throughput => Some(&trainer.throughput),
            Self::Loss => Some(&trainer.loss),
            Self::Quality => Some(&trainer.quality),
            _ => None,
        }
    }

    /// Names of model servers that the administrator gives, which are tried first.
    fn further(self, config: &EvidenceConfig) -> &[String] {
        let server = &config.server;
        match self {
            Self::Running => &server.running,
            Self::Waiting => &server.waiting,
            Self::Progress => &server.progress,
            Self::QueueSeconds => &server.queue_seconds,
            Self::FirstTokenSeconds => &server.first_token_seconds,
            Self::WholeSeconds => &server.whole_seconds,
            Self::PromptSpread => &server.prompt_tokens,
            _ => &[],
        }
    }

    /// The question of a metric whose names are known.
    #[allow(clippy::too_many_lines)] // one a line
    fn shared_query(self, window: &str, config: &EvidenceConfig) -> String {
        let units = &config.units;
        let gpu = |names: &[&str]| of_gpu("avg_over_time", names, window);
        let share = |names: &[&str]| share_of_gpu("avg_over_time", names, window, Unit::Ratio, units);
        let known = |names: &[&'static str]| -> Vec<&str> {
            self.further(config).iter().map(String::as_str).chain(names.iter().copied()).collect()
        };
        let server = |function: &str, names: &[&str]| of_server("sum", function, names, window);
        match self {
            Self::Util => share_of_gpu("avg_over_time", names::UTIL, window, Unit::Percent, units),
            Self::Engine => share(names::ENGINE),
            Self::Swing => share_of_gpu("stddev_over_time", names::ENGINE, window, Unit::Ratio, units),
            Self::Sm => share(names::SM),
            Self::Dram => share(names::DRAM),
            Self::Tensor => share(names::TENSOR),
            Self::Fp32 => share(names::FP32),
            Self::PcieRx => of_link(names::PCIE_RX.0, Some(names::PCIE_RX.1), window),
            Self::PcieTx => of_link(names::PCIE_TX.0, Some(names::PCIE_TX.1), window),
            Self::NvlinkRx => of_nvlink(names::NVLINK_RX, window, units),
            Self::NvlinkTx => of_nvlink(names::NVLINK_TX, window, units),
            Self::Memory => memory(window, units),
            Self::Clock => gpu(names::CLOCK),
            // The product tells the limit of its board where the exporter does not.
            Self::Power => first(names::POWER, |name| {
                format!("max by ({GPU}, modelName) ({})", over("avg_over_time", name, window))
            }),
            Self::PowerLimit => gpu(names::POWER_LIMIT),
            Self::ClocksHeld => clocks_held(),
            // A link that had its width at any time of the look has it.
            Self::PcieLanes => of_gpu("max_over_time", names::PCIE_LANES, window),
            Self::PcieLanesMost => of_gpu("max_over_time", names::PCIE_LANES_MOST, window),
            // The number of an error has no mean.
            Self::Xid => of_gpu("last_over_time", names::XID, window),
            Self::Cores => of_container("rate", "container_cpu_usage_seconds_total", window),
            Self::Throttled => format!(
                "{} / {}",
                of_container("increase", "container_cpu_cfs_throttled_periods_total", window),
                of_container("increase", "container_cpu_cfs_periods_total", window)
            ),
            Self::Pressure => of_container("rate", "container_pressure_cpu_waiting_seconds_total", window),
            Self::IoPressure => of_container("rate", "container_pressure_io_waiting_seconds_total", window),
            Self::Running => server("avg_over_time", &known(names::RUNNING)),
            Self::Waiting => server("avg_over_time", &known(names::WAITING)),
            Self::WaitingForRoom => {
                let none = |name: &str| format!("0 * {}", server("avg_over_time", &[name]));
                let none = first(names::WAITING_BY_REASON, none);
                format!("{} or {none}", server("avg_over_time", names::WAITING_FOR_ROOM))
            }
            Self::Batch => {
                format!("{} / {}", server("rate", &[names::INFERENCES]), server("rate", &[names::EXECUTIONS]))
            }
            Self::Kv => first(names::KV, |name| {
                let usage = of_server("avg", "avg_over_time", &[name], window);
                units::converted(usage, name, Unit::Ratio, units)
            }),
            Self::Preemptions => server("rate", names::PREEMPTIONS),
            Self::Progress => server("rate", &known(names::PROGRESS)),
            Self::QueueSeconds => {
                format!("{} or {}", mean_of(&known(names::QUEUE_SECONDS), window), triton(names::TRITON_QUEUE, window))
            }
            Self::FirstTokenSeconds => mean_of(&known(names::FIRST_TOKEN_SECONDS), window),
            Self::WholeSeconds => {
                format!("{} or {}", mean_of(&known(names::WHOLE_SECONDS), window), triton(names::TRITON_WHOLE, window))
            }
            Self::PromptSpread => first(&known(names::PROMPT_TOKENS), |name| {
                format!("{} / {}", quantile_of("0.95", name, window), quantile_of("0.5", name, window))
            }),
            Self::OutputTokens => mean_of(names::OUTPUT_TOKENS, window),
            Self::OutputCap => mean_of(names::OUTPUT_CAP, window),
            Self::NetworkRx => server("rate", &[names::NETWORK_RX]),
            Self::NetworkTx => server("rate", &[names::NETWORK_TX]),
            // Named by the administrator, or of nodes.
            Self::StepSeconds
            | Self::DataWaitSeconds
            | Self::Throughput
            | Self::Loss
            | Self::Quality
            | Self::NodeName
            | Self::Iowait
            | Self::RdmaRx
            | Self::RdmaTx
            | Self::LinkSpeed => String::new(),
        }
    }

    /// The question of a metric of nodes.
    fn of_node(self, window: &str, label: Option<&str>) -> String {
        let labels = label.map_or_else(|| NODE.to_owned(), |label| format!("{NODE}, {label}"));
        let by = |aggregate: &str, of: &str| format!("{aggregate} by ({labels}) ({of})");
        let traffic = |name| format!("{} / {}", by("sum", &over("rate", name, window)), by("sum", names::RDMA_SPEED));
        match self {
            Self::Iowait => by("avg", &over("rate", names::IOWAIT, window)),
            Self::RdmaRx => traffic(names::RDMA_RX),
            Self::RdmaTx => traffic(names::RDMA_TX),
            Self::LinkSpeed => by("max", names::LINK_SPEED),
            _ => by("max", names::NODE_NAME),
        }
    }

    /// Whether what the administrator names or says of units makes the question another than the recorded one.
    pub(super) fn is_as_recorded(self, config: &EvidenceConfig) -> bool {
        const WINDOW: &str = "1m";
        self.query(WINDOW, config) == self.query(WINDOW, &EvidenceConfig::default())
    }
}

/// What tells nodes apart, as far as scraping tells.
const NODE: &str = "node, nodename, kubernetes_node, instance";

/// What the first of `names` says that a GPU or pod has, from what each says of it. Joined after they are aggregated: old
/// and new series of one thing may differ in labels, and would count both.
fn first(names: &[impl AsRef<str>], each: impl Fn(&str) -> String) -> String {
    names.iter().map(|name| each(name.as_ref())).collect::<Vec<_>>().join(" or ")
}

fn over(function: &str, name: &str, window: &str) -> String {
    format!("{function}({name}[{window}])")
}

fn of_gpu(function: &str, names: &[&str], window: &str) -> String {
    first(names, |name| max_of_gpu(&over(function, name, window)))
}

/// A share of a GPU, by names that may count it in different units.
fn share_of_gpu(function: &str, names: &[&str], window: &str, wanted: Unit, units: &Units) -> String {
    first(names, |name| units::converted(max_of_gpu(&over(function, name, window)), name, wanted, units))
}

fn max_of_gpu(values: &str) -> String {
    format!("max by ({GPU}) ({values})")
}

/// A link's traffic, from gauges of bytes a second or from counters of bytes. Some series of links spell the GPU's label
/// in lower case.
fn of_link(gauge: &str, counter: Option<&str>, window: &str) -> String {
    let gauge = max_of_link("avg_over_time", gauge, window);
    counter.map_or_else(|| gauge.clone(), |counter| format!("{gauge} or {}", max_of_link("rate", counter, window)))
}

fn max_of_link(function: &str, name: &str, window: &str) -> String {
    format!("max by ({GPU}, gpu_uuid) ({})", over(function, name, window))
}

/// One direction of `NVLink`; where only the sum of both is counted, and its unit is known, half of that: the busier one is
/// no less.
fn of_nvlink(gauge: &str, window: &str, units: &Units) -> String {
    let gauge = of_link(gauge, None, window);
    let Some(bytes) = units.get(names::NVLINK_TOTAL).and_then(|unit| units::bytes(*unit)) else { return gauge };
    format!("{gauge} or {} * {bytes} / 2", max_of_link("rate", names::NVLINK_TOTAL, window))
}

/// What is in use of what can be used.
fn memory(window: &str, units: &Units) -> String {
    let used = over("avg_over_time", names::MEMORY_USED, window);
    let free = over("avg_over_time", names::MEMORY_FREE, window);
    let share = max_of_gpu(&format!("{used} / ({used} + {free})"));
    format!("{} or {share}", share_of_gpu("avg_over_time", names::MEMORY, window, Unit::Ratio, units))
}

fn of_container(function: &str, name: &str, window: &str) -> String {
    format!("sum by (namespace, pod, container) ({function}({name}{{container!=\"\"}}[{window}]))")
}

fn of_server(aggregate: &str, function: &str, names: &[impl AsRef<str>], window: &str) -> String {
    first(names, |name| format!("{aggregate} by (namespace, pod) ({})", over(function, name, window)))
}

/// The mean of what a histogram or summary counted.
fn mean_of(names: &[impl AsRef<str>], window: &str) -> String {
    let part = |name: &str, suffix: &str| of_server("sum", "rate", &[format!("{name}{suffix}")], window);
    first(names, |name| format!("{} / {}", part(name, "_sum"), part(name, "_count")))
}

/// A quantile of what a histogram counted, of each pod.
fn quantile_of(quantile: &str, name: &str, window: &str) -> String {
    let buckets = over("rate", &format!("{name}_bucket"), window);
    format!("histogram_quantile({quantile}, sum by (namespace, pod, le) ({buckets}))")
}

/// Seconds of a request, where Triton counts microseconds over all of them.
fn triton(total: &str, window: &str) -> String {
    let sum = |name: &str| of_server("sum", "rate", &[name], window);
    format!("{} / {} / 1e6", sum(total), sum(names::TRITON_REQUESTS))
}

/// Seconds that a trainer says, in a histogram, a summary or a gauge.
fn of_trainer(names: &[String], window: &str) -> String {
    format!("{} or {}", mean_of(names, window), of_server("avg", "avg_over_time", names, window))
}

/// One where a bit of [`names::HOLDING_BITS`] is set, or an event of [`names::HELD_EVENTS`] happened lately; else zero.
fn clocks_held() -> String {
    let bits = |name: &str| {
        let bits = names::HOLDING_BITS.map(|bit| format!("floor({name} / {bit}) % 2"));
        max_of_gpu(&bits.join(" + "))
    };
    format!("clamp_max({} or {}, 1)", first(names::CLOCK_REASONS, bits), max_of_gpu(names::HELD_EVENTS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ServerNames, TrainerNames};
    use crate::signals::promql;

    fn asked(metric: Metric) -> String {
        metric.query("60s", &EvidenceConfig::default()).unwrap_or_default()
    }

    #[test]
    fn every_question_is_valid() {
        for metric in Metric::ALL.into_iter().filter(|metric| *metric != Metric::Quality) {
            let query = asked(metric);
            assert!(promql::parse(&query).is_ok(), "{metric:?}: {query}");
        }
    }

    #[test]
    fn the_old_and_the_new_name_of_a_field_are_asked_for_in_order() {
        assert_eq!(
            asked(Metric::Sm),
            "max by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID) \
             (avg_over_time(DCGM_FI_PROF_SM_ACTIVE[60s])) or \
             max by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID) \
             (avg_over_time(DCGM_FI_PROF_SM_UTIL_RATIO[60s]))"
        );
    }

    /// `sum by (…) (a or b)` adds both wherever one has a label that the other lacks.
    #[test]
    fn no_aggregate_has_two_names_of_one_thing_inside() {
        for metric in Metric::ALL {
            let query = asked(metric);
            let mut depth = 0_usize;
            for (at, letter) in query.char_indices() {
                depth = match letter {
                    '(' => depth + 1,
                    ')' => depth - 1,
                    _ => depth,
                };
                let allowed = usize::from(metric == Metric::ClocksHeld);
                assert!(depth <= allowed || !query[at..].starts_with(" or "), "{metric:?}: {query}");
            }
        }
    }

    #[test]
    fn a_mean_is_the_rate_of_the_sum_over_the_rate_of_the_count() {
        assert_eq!(
            asked(Metric::OutputCap),
            "sum by (namespace, pod) (rate(vllm:request_params_max_tokens_sum[60s])) / \
             sum by (namespace, pod) (rate(vllm:request_params_max_tokens_count[60s])) or \
             sum by (namespace, pod) (rate(vllm_request_params_max_tokens_sum[60s])) / \
             sum by (namespace, pod) (rate(vllm_request_params_max_tokens_count[60s])) or \
             sum by (namespace, pod) (rate(tgi_request_max_new_tokens_sum[60s])) / \
             sum by (namespace, pod) (rate(tgi_request_max_new_tokens_count[60s]))"
        );
    }

    #[test]
    fn a_trainer_is_asked_for_by_the_names_that_the_administrator_gives() {
        let trainer = TrainerNames { quality: vec!["eval_accuracy".into()], ..TrainerNames::default() };
        let named = EvidenceConfig { trainer, ..EvidenceConfig::default() };

        assert_eq!(Metric::Quality.query("60s", &EvidenceConfig::default()), None);
        assert_eq!(
            Metric::Quality.query("60s", &named).unwrap(),
            "avg by (namespace, pod) (avg_over_time(eval_accuracy[60s]))"
        );
        assert_eq!(
            asked(Metric::DataWaitSeconds),
            "sum by (namespace, pod) (rate(training_data_wait_seconds_sum[60s])) / \
             sum by (namespace, pod) (rate(training_data_wait_seconds_count[60s])) or \
             avg by (namespace, pod) (avg_over_time(training_data_wait_seconds[60s]))"
        );
    }

    fn with_unit(name: &str, unit: Unit) -> EvidenceConfig {
        EvidenceConfig { units: Units::from([(name.to_owned(), unit)]), ..EvidenceConfig::default() }
    }

    /// DCGM 4.6 sends under `…_RATIO` what 4.7 sends under the old name: a whole percent.
    #[test]
    fn utilisation_is_a_percent_whatever_its_unit_is_on_the_wire() {
        let ends = |config: &EvidenceConfig| {
            let asked = Metric::Util.query("60s", config).unwrap();
            let ends = asked.split(" or ").map(|part| part[part.rfind("60s").unwrap()..].to_owned());
            ends.collect::<Vec<_>>()
        };

        assert_eq!(ends(&EvidenceConfig::default()), ["60s]))", "60s])) * 100"]);
        assert_eq!(ends(&with_unit("DCGM_FI_DEV_GPU_UTIL_RATIO", Unit::Percent)), ["60s]))", "60s]))"]);
    }

    #[test]
    fn a_unit_that_is_configured_is_converted_and_not_read_as_it_was_recorded() {
        let config = with_unit("DCGM_FI_PROF_SM_UTIL_RATIO", Unit::Percent);

        let asked = Metric::Sm.query("60s", &config).unwrap();
        assert!(asked.ends_with("(avg_over_time(DCGM_FI_PROF_SM_UTIL_RATIO[60s])) / 100"), "{asked}");
        assert!(promql::parse(&asked).is_ok());
        assert_eq!([Metric::Sm, Metric::Dram].map(|metric| metric.is_as_recorded(&config)), [false, true]);
        let kv = Metric::Kv.query("60s", &with_unit("trtllm_kv_cache_utilization", Unit::Percent)).unwrap();
        assert!(kv.contains("(avg_over_time(trtllm_kv_cache_utilization[60s])) / 100 or"), "{kv}");
    }

    /// dcgm-exporter's default counters have no other number of `NVLink`.
    #[test]
    fn the_sum_of_both_directions_is_used_where_its_unit_is_configured_and_half_of_it_is_one() {
        let config = with_unit("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", Unit::KiB);
        let asked = |config: &EvidenceConfig| Metric::NvlinkTx.query("60s", config).unwrap();

        assert!(!asked(&EvidenceConfig::default()).contains("BANDWIDTH_TOTAL"));
        let sum = "(rate(DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL[60s])) * 1024 / 2";
        assert!(asked(&config).ends_with(sum) && promql::parse(&asked(&config)).is_ok(), "{}", asked(&config));
    }

    #[test]
    fn names_of_servers_that_the_administrator_gives_come_first() {
        let server = ServerNames { prompt_tokens: vec!["my_prompts".into()], ..ServerNames::default() };
        let config = EvidenceConfig { server, ..EvidenceConfig::default() };
        let asked = Metric::PromptSpread.query("60s", &config).unwrap();

        assert!(
            asked.starts_with("histogram_quantile(0.95, sum by (namespace, pod, le) (rate(my_prompts_bucket[60s])))")
        );
        assert!(asked.contains("vllm:request_prompt_tokens_bucket") && !Metric::PromptSpread.is_as_recorded(&config));
    }

    #[test]
    fn nodes_are_told_apart_by_each_label_that_scraping_gives_and_by_the_configured_one() {
        let config = EvidenceConfig { node_label: Some("host".into()), ..EvidenceConfig::default() };

        assert_eq!(
            Metric::Iowait.query("60s", &config).unwrap(),
            "avg by (node, nodename, kubernetes_node, instance, host) \
             (rate(node_cpu_seconds_total{mode=\"iowait\"}[60s]))"
        );
        assert_eq!(
            asked(Metric::RdmaTx),
            "sum by (node, nodename, kubernetes_node, instance) \
             (rate(node_infiniband_port_data_transmitted_bytes_total[60s])) / \
             sum by (node, nodename, kubernetes_node, instance) (node_infiniband_rate_bytes_per_second)"
        );
    }
}
