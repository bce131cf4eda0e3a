//! The question for each metric, in `PromQL`.

use super::metric::Metric;
use super::names;
use crate::config::TrainerNames;

/// What tells GPUs and their pods apart, under all of the label schemes that scraping gives.
const GPU: &str = "namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID";

impl Metric {
    /// The question, over the last `window` in Prometheus's notation; none where nobody named what to ask for.
    pub fn query(self, window: &str, trainer: &TrainerNames) -> Option<String> {
        let question = match self {
            Self::StepSeconds => of_trainer(&trainer.step_seconds, window),
            Self::DataWaitSeconds => of_trainer(&trainer.data_wait_seconds, window),
            Self::Throughput => of_server("sum", &over("rate", &trainer.throughput, window)),
            Self::Loss => of_server("avg", &over("avg_over_time", &trainer.loss, window)),
            Self::Quality => of_server("avg", &over("avg_over_time", &trainer.quality, window)),
            _ => return Some(self.shared_query(window)),
        };
        let names = self.mapped(trainer).is_some_and(|names| !names.is_empty());
        names.then_some(question)
    }

    /// The names that the administrator gives it; none where they are fixed.
    pub(super) fn mapped(self, trainer: &TrainerNames) -> Option<&[String]> {
        match self {
            Self::StepSeconds => Some(&trainer.step_seconds),
            Self::DataWaitSeconds => Some(&trainer.data_wait_seconds),
            Self::Throughput => Some(&trainer.throughput),
            Self::Loss => Some(&trainer.loss),
            Self::Quality => Some(&trainer.quality),
            _ => None,
        }
    }

    /// The question of a metric whose names are the same everywhere.
    fn shared_query(self, window: &str) -> String {
        let gpu = |names: &[&str]| of_gpu(&over("avg_over_time", names, window));
        let server = |function: &str, names: &[&str]| of_server("sum", &over(function, names, window));
        match self {
            Self::Util => gpu(names::UTIL),
            Self::Engine => gpu(names::ENGINE),
            Self::Swing => of_gpu(&over("stddev_over_time", names::ENGINE, window)),
            Self::Sm => gpu(names::SM),
            Self::Dram => gpu(names::DRAM),
            Self::Tensor => gpu(names::TENSOR),
            Self::Fp32 => gpu(names::FP32),
            Self::PcieRx => of_link(names::PCIE_RX, window),
            Self::PcieTx => of_link(names::PCIE_TX, window),
            Self::NvlinkRx => of_link((names::NVLINK_RX, &[]), window),
            Self::NvlinkTx => of_link((names::NVLINK_TX, &[]), window),
            Self::Memory => memory(window),
            Self::Clock => gpu(names::CLOCK),
            // The product tells the limit of its board where the exporter does not.
            Self::Power => format!("max by ({GPU}, modelName) ({})", over("avg_over_time", names::POWER, window)),
            Self::PowerLimit => gpu(names::POWER_LIMIT),
            Self::ClocksHeld => clocks_held(),
            Self::Cores => of_container("rate", "container_cpu_usage_seconds_total", window),
            Self::Throttled => format!(
                "{} / {}",
                of_container("increase", "container_cpu_cfs_throttled_periods_total", window),
                of_container("increase", "container_cpu_cfs_periods_total", window)
            ),
            Self::Pressure => of_container("rate", "container_pressure_cpu_waiting_seconds_total", window),
            Self::IoPressure => of_container("rate", "container_pressure_io_waiting_seconds_total", window),
            Self::Running => server("avg_over_time", names::RUNNING),
            Self::Waiting => server("avg_over_time", names::WAITING),
            Self::WaitingForRoom => format!(
                "{} or 0 * {}",
                server("avg_over_time", names::WAITING_FOR_ROOM),
                server("avg_over_time", names::WAITING_BY_REASON)
            ),
            Self::Batch => format!("{} / {}", server("rate", names::INFERENCES), server("rate", names::EXECUTIONS)),
            Self::Kv => of_server("avg", &over("avg_over_time", names::KV, window)),
            Self::Preemptions => server("rate", names::PREEMPTIONS),
            Self::Progress => server("rate", names::PROGRESS),
            Self::QueueSeconds => {
                format!("{} or {}", mean_of(names::QUEUE_SECONDS, window), triton(names::TRITON_QUEUE, window))
            }
            Self::FirstTokenSeconds => mean_of(names::FIRST_TOKEN_SECONDS, window),
            Self::WholeSeconds => {
                format!("{} or {}", mean_of(names::WHOLE_SECONDS, window), triton(names::TRITON_WHOLE, window))
            }
            Self::PromptSpread => {
                let of = |quantile: &str| quantile_of(quantile, names::PROMPT_TOKENS, window);
                format!("{} / {}", of("0.95"), of("0.5"))
            }
            Self::OutputTokens => mean_of(names::OUTPUT_TOKENS, window),
            Self::OutputCap => mean_of(names::OUTPUT_CAP, window),
            Self::NetworkRx => server("rate", &[names::NETWORK_RX]),
            Self::NetworkTx => server("rate", &[names::NETWORK_TX]),
            // Named by the administrator.
            Self::StepSeconds | Self::DataWaitSeconds | Self::Throughput | Self::Loss | Self::Quality => String::new(),
        }
    }
}

/// The first of `names` that a series has, old and new names of one field beside each other included.
fn over(function: &str, names: &[impl AsRef<str>], window: &str) -> String {
    names.iter().map(|name| format!("{function}({}[{window}])", name.as_ref())).collect::<Vec<_>>().join(" or ")
}

fn of_gpu(values: &str) -> String {
    format!("max by ({GPU}) ({values})")
}

/// A link's traffic, from gauges of bytes a second or from counters of bytes. Some series of links spell the GPU's label
/// in lower case.
fn of_link((gauges, counters): (&[&str], &[&str]), window: &str) -> String {
    let gauges = over("avg_over_time", gauges, window);
    let both = if counters.is_empty() { gauges } else { format!("{gauges} or {}", over("rate", counters, window)) };
    format!("max by ({GPU}, gpu_uuid) ({both})")
}

/// What is in use of what can be used.
fn memory(window: &str) -> String {
    let used = over("avg_over_time", &[names::MEMORY_USED], window);
    let free = over("avg_over_time", &[names::MEMORY_FREE], window);
    of_gpu(&format!("{} or {used} / ({used} + {free})", over("avg_over_time", names::MEMORY, window)))
}

fn of_container(function: &str, name: &str, window: &str) -> String {
    format!("sum by (namespace, pod, container) ({function}({name}{{container!=\"\"}}[{window}]))")
}

fn of_server(aggregate: &str, values: &str) -> String {
    format!("{aggregate} by (namespace, pod) ({values})")
}

/// The mean of what a histogram or summary counted.
fn mean_of(names: &[impl AsRef<str>], window: &str) -> String {
    let part = |suffix: &str| {
        let parts: Vec<_> = names.iter().map(|name| format!("{}{suffix}", name.as_ref())).collect();
        of_server("sum", &over("rate", &parts, window))
    };
    format!("{} / {}", part("_sum"), part("_count"))
}

/// A quantile of what histograms counted, of each pod.
fn quantile_of(quantile: &str, names: &[&str], window: &str) -> String {
    let buckets: Vec<_> = names.iter().map(|name| format!("{name}_bucket")).collect();
    format!("histogram_quantile({quantile}, sum by (namespace, pod, le) ({}))", over("rate", &buckets, window))
}

/// Seconds of a request, where Triton counts microseconds over all of them.
fn triton(total: &str, window: &str) -> String {
    let sum = |name: &str| of_server("sum", &over("rate", &[name], window));
    format!("{} / {} / 1e6", sum(total), sum(names::TRITON_REQUESTS))
}

/// Seconds that a trainer says, in a histogram, a summary or a gauge.
fn of_trainer(names: &[String], window: &str) -> String {
    format!("{} or {}", mean_of(names, window), of_server("avg", &over("avg_over_time", names, window)))
}

/// One where a bit of [`names::HOLDING_BITS`] is set, or an event of [`names::HELD_EVENTS`] happened lately; else zero.
fn clocks_held() -> String {
    let reasons = names::CLOCK_REASONS.join(" or ");
    let bits = names::HOLDING_BITS.map(|bit| format!("floor(({reasons}) / {bit}) % 2"));
    format!("clamp_max({} or {}, 1)", of_gpu(&bits.join(" + ")), of_gpu(names::HELD_EVENTS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::promql;

    fn asked(metric: Metric) -> String {
        metric.query("60s", &TrainerNames::default()).unwrap_or_default()
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
             (avg_over_time(DCGM_FI_PROF_SM_ACTIVE[60s]) or avg_over_time(DCGM_FI_PROF_SM_UTIL_RATIO[60s]))"
        );
    }

    #[test]
    fn a_mean_is_the_rate_of_the_sum_over_the_rate_of_the_count() {
        assert_eq!(
            asked(Metric::OutputCap),
            "sum by (namespace, pod) (rate(vllm:request_params_max_tokens_sum[60s]) or \
             rate(vllm_request_params_max_tokens_sum[60s])) / \
             sum by (namespace, pod) (rate(vllm:request_params_max_tokens_count[60s]) or \
             rate(vllm_request_params_max_tokens_count[60s]))"
        );
    }

    #[test]
    fn a_trainer_is_asked_for_by_the_names_that_the_administrator_gives() {
        let named = TrainerNames { quality: vec!["eval_accuracy".into()], ..TrainerNames::default() };

        assert_eq!(Metric::Quality.query("60s", &TrainerNames::default()), None);
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
}
