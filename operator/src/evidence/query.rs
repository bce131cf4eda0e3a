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
            Self::Steps => steps(trainer, window),
            Self::Throughput => of_server("sum", "rate", &trainer.throughput, window),
            Self::Loss => of_server("avg", "avg_over_time", &trainer.loss, window),
            Self::Quality => of_server("avg", "avg_over_time", &trainer.quality, window),
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
            Self::Steps if trainer.steps.is_empty() => Some(&trainer.step_seconds),
            Self::Steps => Some(&trainer.steps),
            Self::Throughput => Some(&trainer.throughput),
            Self::Loss => Some(&trainer.loss),
            Self::Quality => Some(&trainer.quality),
            _ => None,
        }
    }

    /// The question of a metric whose names are the same everywhere.
    fn shared_query(self, window: &str) -> String {
        let gpu = |names: &[&str]| of_gpu("avg_over_time", names, window);
        let server = |function: &str, names: &[&str]| of_server("sum", function, names, window);
        match self {
            Self::Util => gpu(names::UTIL),
            Self::Engine => gpu(names::ENGINE),
            Self::Swing => of_gpu("stddev_over_time", names::ENGINE, window),
            Self::Sm => gpu(names::SM),
            Self::Dram => gpu(names::DRAM),
            Self::Tensor => gpu(names::TENSOR),
            Self::Fp32 => gpu(names::FP32),
            Self::PcieRx => of_link(names::PCIE_RX.0, Some(names::PCIE_RX.1), window),
            Self::PcieTx => of_link(names::PCIE_TX.0, Some(names::PCIE_TX.1), window),
            Self::NvlinkRx => of_link(names::NVLINK_RX, None, window),
            Self::NvlinkTx => of_link(names::NVLINK_TX, None, window),
            Self::Memory => memory(window),
            Self::Clock => gpu(names::CLOCK),
            // The product tells the limit of its board where the exporter does not.
            Self::Power => first(names::POWER, |name| {
                format!("max by ({GPU}, modelName) ({})", over("avg_over_time", name, window))
            }),
            Self::PowerLimit => gpu(names::POWER_LIMIT),
            Self::ClocksHeld => clocks_held(),
            Self::ClockEvents => clock_events(),
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
            Self::WaitingForRoom => {
                let none = |name: &str| format!("0 * {}", server("avg_over_time", &[name]));
                let none = first(names::WAITING_BY_REASON, none);
                format!("{} or {none}", server("avg_over_time", names::WAITING_FOR_ROOM))
            }
            Self::Batch => {
                format!("{} / {}", server("rate", &[names::INFERENCES]), server("rate", &[names::EXECUTIONS]))
            }
            Self::Kv => of_server("avg", "avg_over_time", names::KV, window),
            Self::Preemptions => server("rate", names::PREEMPTIONS),
            Self::Progress => server("rate", names::PROGRESS),
            Self::QueueSeconds => {
                format!("{} or {}", mean_of(names::QUEUE_SECONDS, window), triton(names::TRITON_QUEUE, window))
            }
            Self::FirstTokenSeconds => mean_of(names::FIRST_TOKEN_SECONDS, window),
            Self::WholeSeconds => {
                format!("{} or {}", mean_of(names::WHOLE_SECONDS, window), triton(names::TRITON_WHOLE, window))
            }
            Self::PromptSpread => first(names::PROMPT_TOKENS, |name| {
                format!("{} / {}", quantile_of("0.95", name, window), quantile_of("0.5", name, window))
            }),
            Self::OutputTokens => mean_of(names::OUTPUT_TOKENS, window),
            Self::OutputCap => mean_of(names::OUTPUT_CAP, window),
            Self::NetworkRx => server("rate", &[names::NETWORK_RX]),
            Self::NetworkTx => server("rate", &[names::NETWORK_TX]),
            // Named by the administrator.
            Self::StepSeconds | Self::DataWaitSeconds | Self::Steps | Self::Throughput | Self::Loss | Self::Quality => {
                String::new()
            }
        }
    }
}

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

fn max_of_gpu(values: &str) -> String {
    format!("max by ({GPU}) ({values})")
}

/// A link's traffic, from gauges of bytes a second or from counters of bytes. Some series of links spell the GPU's label
/// in lower case.
fn of_link(gauge: &str, counter: Option<&str>, window: &str) -> String {
    let of = |function: &str, name: &str| format!("max by ({GPU}, gpu_uuid) ({})", over(function, name, window));
    let gauge = of("avg_over_time", gauge);
    counter.map_or_else(|| gauge.clone(), |counter| format!("{gauge} or {}", of("rate", counter)))
}

/// What is in use of what can be used.
fn memory(window: &str) -> String {
    let used = over("avg_over_time", names::MEMORY_USED, window);
    let free = over("avg_over_time", names::MEMORY_FREE, window);
    let share = max_of_gpu(&format!("{used} / ({used} + {free})"));
    format!("{} or {share}", of_gpu("avg_over_time", names::MEMORY, window))
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

/// Steps a second, by counters or by how many of them a histogram or summary of their length has: a gauge repeats the last
/// one's length for ever.
fn steps(trainer: &TrainerNames, window: &str) -> String {
    let counted = trainer.step_seconds.iter().map(|name| format!("{name}_count"));
    let names: Vec<String> = trainer.steps.iter().cloned().chain(counted).collect();
    of_server("sum", "rate", &names, window)
}

/// One where a bit of [`names::HOLDING_BITS`] is set, else zero.
fn clocks_held() -> String {
    let bits = |name: &str| {
        let bits = names::HOLDING_BITS.map(|bit| format!("floor({name} / {bit}) % 2"));
        max_of_gpu(&bits.join(" + "))
    };
    format!("clamp_max({}, 1)", first(names::CLOCK_REASONS, bits))
}

/// Events a minute, of the reason that has most: the exporter counts those of its last minutes, anew at each scrape.
fn clock_events() -> String {
    format!("{} / {}", max_of_gpu(names::HELD_EVENTS), names::HELD_EVENTS_MINUTES)
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
             sum by (namespace, pod) (rate(vllm_request_params_max_tokens_count[60s]))"
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
