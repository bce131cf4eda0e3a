//! The question for each metric, in `PromQL`.

use super::bounds::LARGEST_MEMORY;
use super::metric::{Metric, Subject};
use super::names;
use crate::config::TrainerNames;

/// The function that makes one number of the samples of a gauge.
const MEAN: &str = "avg_over_time";
/// No field of bits is larger.
const LARGEST_BITS: u16 = u16::MAX;
/// What tells GPUs, their pods and their products apart, under all of the label schemes that scraping gives.
const GPU: &str =
    "namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID, modelName";

/// What tells the series of one container of a kubelet's cAdvisor apart: its CPUs, and what it was before it was started
/// again. Whatever else series differ in tells who scraped them.
const OF_A_CONTAINER: &str = "cpu, id, image, name";

/// What tells apart who scraped one address, and through what. Two addresses of a pod are two servers.
pub const SCRAPED_BY: &str = "job, service, endpoint, container, metrics_path, prometheus, prometheus_replica, replica";

impl Metric {
    /// The question, over the last `window` in Prometheus's notation; none where nobody named what to ask for.
    pub fn query(self, window: &str, trainer: &TrainerNames) -> Option<String> {
        let question = match self {
            Self::StepSeconds => of_trainer(&trainer.step_seconds, window),
            Self::DataWaitSeconds => of_trainer(&trainer.data_wait_seconds, window),
            Self::Throughput => counted("rate", &trainer.throughput, window),
            Self::TrainedTokens => counted("rate", &trainer.tokens, window),
            Self::Loss => of_server("avg", "avg_over_time", &trainer.loss, window),
            Self::Quality => of_server("avg", "avg_over_time", &trainer.quality, window),
            _ if self.subject() == Subject::Gpu => return Some(self.guarded(&self.shared_query(window))),
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
            Self::TrainedTokens => Some(&trainer.tokens),
            Self::Loss => Some(&trainer.loss),
            Self::Quality => Some(&trainer.quality),
            _ => None,
        }
    }

    /// A question about GPUs in which the mean of a gauge gives way to a sample in it that can't be a measurement. In the
    /// mean that would be lost; as the answer it is not believed.
    fn guarded(self, question: &str) -> String {
        let (smallest, largest) = self.sent();
        let guarded = |term: &str| {
            if term.matches(MEAN).count() != 1 {
                return term.to_owned();
            }
            let most = |side: &str| {
                term.replacen("max by", &format!("{side} by"), 1).replace(MEAN, &format!("{side}_over_time"))
            };
            format!("{} > {largest} or {} < {smallest} or {term}", most("max"), most("min"))
        };
        question.split(" or ").map(guarded).collect::<Vec<_>>().join(" or ")
    }

    /// The question of a metric whose names are the same everywhere.
    fn shared_query(self, window: &str) -> String {
        let gpu = |names: &[&str]| of_gpu("avg_over_time", names, window);
        let server = |function: &str, names: &[&str]| counted(function, names, window);
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
            Self::MemoryPeak => memory_peak(window),
            Self::Clock => gpu(names::CLOCK),
            Self::Power => gpu(names::POWER),
            Self::PowerLimit => gpu(names::POWER_LIMIT),
            Self::ClocksHeld => clocks_held(),
            Self::Cores => of_container(&each("rate", "container_cpu_usage_seconds_total", window)),
            Self::Throttled => of_container(&format!(
                "{} / {}",
                each("increase", "container_cpu_cfs_throttled_periods_total", window),
                each("increase", "container_cpu_cfs_periods_total", window)
            )),
            Self::Pressure => of_container(&each("rate", "container_pressure_cpu_waiting_seconds_total", window)),
            Self::IoPressure => of_container(&each("rate", "container_pressure_io_waiting_seconds_total", window)),
            Self::Running => server("avg_over_time", names::RUNNING),
            Self::Waiting => server("avg_over_time", names::WAITING),
            Self::WaitingForRoom => waiting_for_room(window),
            Self::Batch => {
                let sum = |name: &str| of_server("sum", "rate", &[name], window);
                let batch = format!("{} / {}", sum(names::INFERENCES), sum(names::EXECUTIONS));
                of_one_model(&batch, names::INFERENCES)
            }
            Self::Kv => of_server("avg", "avg_over_time", names::KV, window),
            Self::Preemptions => server("rate", names::PREEMPTIONS),
            Self::Progress => server("rate", names::PROGRESS),
            Self::Answers => server("rate", &[names::INFERENCES]),
            Self::QueueSeconds => {
                format!("{} or {}", mean_of(names::QUEUE_SECONDS, window), triton(names::TRITON_QUEUE, window))
            }
            Self::FirstTokenSeconds => mean_of(names::FIRST_TOKEN_SECONDS, window),
            Self::WholeSeconds => {
                format!("{} or {}", mean_of(names::WHOLE_SECONDS, window), triton(names::TRITON_WHOLE, window))
            }
            Self::PromptSpread => prompt_spread(window),
            Self::OutputTokens => mean_of(names::OUTPUT_TOKENS, window),
            Self::OutputCap => mean_of(names::OUTPUT_CAP, window),
            Self::NetworkRx => of_network(names::NETWORK_RX, window),
            Self::NetworkTx => of_network(names::NETWORK_TX, window),
            // Named by the administrator.
            Self::StepSeconds
            | Self::DataWaitSeconds
            | Self::Throughput
            | Self::TrainedTokens
            | Self::Loss
            | Self::Quality => String::new(),
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
    let of =
        |function: &str, name: &str| format!("max by ({GPU}, gpu_uuid, model_name) ({})", over(function, name, window));
    let gauge = of("avg_over_time", gauge);
    counter.map_or_else(|| gauge.clone(), |counter| format!("{gauge} or {}", of("rate", counter)))
}

/// What is in use of what can be used.
fn memory(window: &str) -> String {
    let used = over("avg_over_time", names::MEMORY_USED, window);
    let free = over("avg_over_time", names::MEMORY_FREE, window);
    let share = max_of_gpu(&format!("{used} / ({used} + {free})"));
    format!("{} or {} or {share}", of_gpu(MEAN, names::MEMORY, window), impossible_memory(window))
}

/// Of two sentinels one is half of both.
fn impossible_memory(window: &str) -> String {
    first(&[names::MEMORY_USED, names::MEMORY_FREE], |name| {
        let most = |function: &str| max_of_gpu(&over(function, name, window));
        format!("{} > {LARGEST_MEMORY} or {} < 0", most("max_over_time"), most("min_over_time"))
    })
}

/// The most that was in use at one time. Used and free are always the same together, so that at that time the least was free.
fn memory_peak(window: &str) -> String {
    let used = over("max_over_time", names::MEMORY_USED, window);
    let free = over("min_over_time", names::MEMORY_FREE, window);
    let share = max_of_gpu(&format!("{used} / ({used} + {free})"));
    format!("{} or {} or {share}", of_gpu("max_over_time", names::MEMORY, window), impossible_memory(window))
}

/// Of a container that is scraped twice either says it all; what the two say together is nothing.
fn of_container(of_each_scrape: &str) -> String {
    format!("max by (namespace, pod, container) ({of_each_scrape})")
}

/// What each scrape of a container says of it.
fn each(function: &str, name: &str, window: &str) -> String {
    format!("sum without ({OF_A_CONTAINER}) ({function}({name}{{container!=\"\"}}[{window}]))")
}

/// Of a pod's network, over its interfaces; scraped twice, or told of several of its containers, it is the same one.
fn of_network(name: &str, window: &str) -> String {
    format!("max by (namespace, pod) (sum without (interface) ({}))", over("rate", name, window))
}

/// What a pod counts, over its models, engines and reasons: what is scraped twice counts once.
fn counted(function: &str, names: &[impl AsRef<str>], window: &str) -> String {
    first(names, |name| {
        format!("sum by (namespace, pod) (max without ({SCRAPED_BY}) ({}))", over(function, name, window))
    })
}

/// Only of pods with one model. Of an ensemble Triton counts each request, and its time, for the whole and for each member.
fn of_one_model(question: &str, of_each: &str) -> String {
    let models = format!("count by (namespace, pod, model) ({of_each})");
    format!("{question} and on (namespace, pod) count by (namespace, pod) ({models}) == 1")
}

fn of_server(aggregate: &str, function: &str, names: &[impl AsRef<str>], window: &str) -> String {
    first(names, |name| format!("{aggregate} by (namespace, pod) ({})", over(function, name, window)))
}

/// Nothing waits for room where a server tells the reasons and room is none of them.
fn waiting_for_room(window: &str) -> String {
    let of = |names: &[&str]| counted("avg_over_time", names, window);
    let none = first(names::WAITING_BY_REASON, |name| format!("0 * {}", of(&[name])));
    format!("{} or {none}", of(names::WAITING_FOR_ROOM))
}

fn prompt_spread(window: &str) -> String {
    let spread = |name: &str| format!("{} / {}", quantile_of("0.95", name, window), quantile_of("0.5", name, window));
    first(names::PROMPT_TOKENS, spread)
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
    of_one_model(&format!("{} / {} / 1e6", sum(total), sum(names::TRITON_REQUESTS)), names::TRITON_REQUESTS)
}

/// Seconds that a trainer says, in a histogram, a summary or a gauge.
fn of_trainer(names: &[String], window: &str) -> String {
    format!("{} or {}", mean_of(names, window), of_server("avg", "avg_over_time", names, window))
}

/// One where a bit of [`names::HOLDING_BITS`] is set, or an event of [`names::HELD_EVENTS`] happened lately; else zero. Of a
/// sentinel none of these bits is set.
fn clocks_held() -> String {
    let bits = |name: &str| {
        let bits = names::HOLDING_BITS.map(|bit| format!("floor({name} / {bit}) % 2"));
        max_of_gpu(&bits.join(" + "))
    };
    let impossible = first(names::CLOCK_REASONS, |name| format!("{} > {LARGEST_BITS}", max_of_gpu(name)));
    let held = format!("{} or {}", first(names::CLOCK_REASONS, bits), max_of_gpu(names::HELD_EVENTS));
    format!("{impossible} or clamp_max({held}, 1)")
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
            "max by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID, modelName) \
             (max_over_time(DCGM_FI_PROF_SM_ACTIVE[60s])) > 1 or \
             min by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID, modelName) \
             (min_over_time(DCGM_FI_PROF_SM_ACTIVE[60s])) < 0 or \
             max by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID, modelName) \
             (avg_over_time(DCGM_FI_PROF_SM_ACTIVE[60s])) or \
             max by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID, modelName) \
             (max_over_time(DCGM_FI_PROF_SM_UTIL_RATIO[60s])) > 1 or \
             min by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID, modelName) \
             (min_over_time(DCGM_FI_PROF_SM_UTIL_RATIO[60s])) < 0 or \
             max by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID, modelName) \
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

    /// Two kubelet jobs, or two Prometheus of one pair, send each of a container's series twice.
    #[test]
    fn what_is_scraped_twice_counts_once() {
        assert_eq!(
            asked(Metric::Cores),
            "max by (namespace, pod, container) (sum without (cpu, id, image, name) \
             (rate(container_cpu_usage_seconds_total{container!=\"\"}[60s])))"
        );
        assert_eq!(
            asked(Metric::Throttled),
            "max by (namespace, pod, container) (\
             sum without (cpu, id, image, name) (increase(container_cpu_cfs_throttled_periods_total{container!=\"\"}[60s])) / \
             sum without (cpu, id, image, name) (increase(container_cpu_cfs_periods_total{container!=\"\"}[60s])))"
        );
        assert_eq!(
            asked(Metric::NetworkRx),
            "max by (namespace, pod) (sum without (interface) (rate(container_network_receive_bytes_total[60s])))"
        );
        assert!(asked(Metric::Preemptions).starts_with(
            "sum by (namespace, pod) (max without (job, service, endpoint, container, metrics_path, prometheus, \
             prometheus_replica, replica) (rate(vllm:num_preemptions_total[60s]))) or "
        ));
    }

    #[test]
    fn no_question_adds_up_what_two_scrapes_say() {
        for metric in Metric::ALL {
            for summed in asked(metric).split("sum by (namespace, pod) (").skip(1) {
                // A share of two sums is the same of either scrape, and of both.
                let share = asked(metric).contains(" / ");
                assert!(share || summed.starts_with("max without (job"), "{metric:?}: {summed}");
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
    fn the_peak_of_memory_is_the_largest_sample_where_the_least_is_free() {
        let by = "max by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID, modelName)";
        let used = "max_over_time(DCGM_FI_DEV_FB_USED[60s])";

        assert_eq!(
            asked(Metric::MemoryPeak),
            format!(
                "{by} (max_over_time(DCGM_FI_DEV_FB_USED_RATIO[60s])) or {by} (max_over_time(DCGM_FI_DEV_FB_USED_PERCENT[60s])) or \
                 {by} ({used} / ({used} + min_over_time(DCGM_FI_DEV_FB_FREE[60s])))"
            )
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
