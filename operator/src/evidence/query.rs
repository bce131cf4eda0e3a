//! The question for each metric, in `PromQL`.

use super::bounds::LARGEST_MEMORY;
use super::metric::{Metric, Subject};
use super::names;
use super::units::{self, Units};
use crate::config::{EvidenceConfig, TrainerNames, Unit};

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
    pub fn query(self, window: &str, config: &EvidenceConfig) -> Option<String> {
        let trainer = &config.trainer;
        let question = match self {
            Self::StepSeconds => of_trainer(&trainer.step_seconds, window),
            Self::DataWaitSeconds => of_trainer(&trainer.data_wait_seconds, window),
            Self::Steps => steps(trainer, window),
            Self::Throughput => counted("rate", &trainer.throughput, window),
            Self::TrainedTokens => counted("rate", &trainer.tokens, window),
            Self::Loss => of_server("avg", "avg_over_time", &trainer.loss, window),
            Self::Quality => of_server("avg", "avg_over_time", &trainer.quality, window),
            Self::NodeName | Self::Iowait | Self::RdmaRx | Self::RdmaTx | Self::LinkSpeed => {
                return Some(self.of_node(window, config.node_label.as_deref()));
            }
            _ if self.subject() == Subject::Gpu => return Some(self.guarded(&self.shared_query(window, config))),
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
            Self::Steps if trainer.steps.is_empty() => Some(&trainer.step_seconds),
            Self::Steps => Some(&trainer.steps),
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
            Self::Batch => &server.batch,
            Self::PromptSpread => &server.prompt_tokens,
            _ => &[],
        }
    }

    /// The question of a metric whose names are known.
    #[allow(clippy::too_many_lines)] // one a line
    fn shared_query(self, window: &str, config: &EvidenceConfig) -> String {
        let units = &config.units;
        let gpu = |names: &[&str]| of_gpu(MEAN, names, window);
        let share = |names: &[&str]| share_of_gpu(MEAN, names, window, Unit::Ratio, units);
        let known = |names: &[&'static str]| -> Vec<&str> {
            self.further(config).iter().map(String::as_str).chain(names.iter().copied()).collect()
        };
        let server = |function: &str, names: &[&str]| counted(function, names, window);
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
            Self::MemoryPeak => memory_peak(window, units),
            Self::Clock => gpu(names::CLOCK),
            Self::Power => gpu(names::POWER),
            Self::PowerLimit => gpu(names::POWER_LIMIT),
            Self::ClocksHeld => clocks_held(),
            Self::ClockEvents => clock_events(),
            // A link that had its width at any time of the look has it.
            Self::PcieLanes => of_gpu("max_over_time", names::PCIE_LANES, window),
            Self::PcieLanesMost => of_gpu("max_over_time", names::PCIE_LANES_MOST, window),
            // The number of an error has no mean.
            Self::Xid => of_gpu("last_over_time", names::XID, window),
            Self::Cores => of_container(&each("rate", "container_cpu_usage_seconds_total", window)),
            Self::Throttled => of_container(&format!(
                "{} / {}",
                each("increase", "container_cpu_cfs_throttled_periods_total", window),
                each("increase", "container_cpu_cfs_periods_total", window)
            )),
            Self::Pressure => of_container(&each("rate", "container_pressure_cpu_waiting_seconds_total", window)),
            Self::IoPressure => of_container(&each("rate", "container_pressure_io_waiting_seconds_total", window)),
            Self::Running => server("avg_over_time", &known(names::RUNNING)),
            Self::Waiting => server("avg_over_time", &known(names::WAITING)),
            Self::WaitingForRoom => waiting_for_room(window),
            Self::Batch => {
                let sum = |name: &str| of_server("sum", "rate", &[name], window);
                let triton = format!("{} / {}", sum(names::INFERENCES), sum(names::EXECUTIONS));
                // Of servers that form their batches beforehand.
                let beforehand = of_trainer(&known(names::BATCH), window);
                format!("{beforehand} or {}", of_one_model(&triton, names::INFERENCES))
            }
            Self::Kv => first(names::KV, |name| {
                let usage = of_server("avg", "avg_over_time", &[name], window);
                units::converted(usage, name, Unit::Ratio, units)
            }),
            Self::Preemptions => server("rate", names::PREEMPTIONS),
            Self::Progress => server("rate", &known(names::PROGRESS)),
            Self::Answers => server("rate", &[names::INFERENCES]),
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
            Self::NetworkRx => of_network(names::NETWORK_RX, window),
            Self::NetworkTx => of_network(names::NETWORK_TX, window),
            // Named by the administrator, or of nodes.
            Self::StepSeconds
            | Self::DataWaitSeconds
            | Self::Steps
            | Self::Throughput
            | Self::TrainedTokens
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
    let gauge = max_of_link(MEAN, gauge, window);
    counter.map_or_else(|| gauge.clone(), |counter| format!("{gauge} or {}", max_of_link("rate", counter, window)))
}

fn max_of_link(function: &str, name: &str, window: &str) -> String {
    format!("max by ({GPU}, gpu_uuid, model_name) ({})", over(function, name, window))
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
    let shares = share_of_gpu(MEAN, names::MEMORY, window, Unit::Ratio, units);
    format!("{shares} or {} or {share}", impossible_memory(window))
}

/// Of two sentinels one is half of both.
fn impossible_memory(window: &str) -> String {
    first(&[names::MEMORY_USED, names::MEMORY_FREE], |name| {
        let most = |function: &str| max_of_gpu(&over(function, name, window));
        format!("{} > {LARGEST_MEMORY} or {} < 0", most("max_over_time"), most("min_over_time"))
    })
}

/// The most that was in use at one time. Used and free are always the same together, so that at that time the least was free.
fn memory_peak(window: &str, units: &Units) -> String {
    let used = over("max_over_time", names::MEMORY_USED, window);
    let free = over("min_over_time", names::MEMORY_FREE, window);
    let share = max_of_gpu(&format!("{used} / ({used} + {free})"));
    let shares = share_of_gpu("max_over_time", names::MEMORY, window, Unit::Ratio, units);
    format!("{shares} or {} or {share}", impossible_memory(window))
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

/// What a trainer or a server says in a histogram, a summary or a gauge.
fn of_trainer(names: &[impl AsRef<str>], window: &str) -> String {
    format!("{} or {}", mean_of(names, window), of_server("avg", "avg_over_time", names, window))
}

/// Steps a second, by counters or by how many of them a histogram or summary of their length has: a gauge repeats the last
/// one's length for ever.
fn steps(trainer: &TrainerNames, window: &str) -> String {
    let lengths = trainer.step_seconds.iter().map(|name| format!("{name}_count"));
    let names: Vec<String> = trainer.steps.iter().cloned().chain(lengths).collect();
    counted("rate", &names, window)
}

/// One where a bit of [`names::HOLDING_BITS`] is set, else zero. Of a sentinel none of these bits is set.
fn clocks_held() -> String {
    let bits = |name: &str| {
        let bits = names::HOLDING_BITS.map(|bit| format!("floor({name} / {bit}) % 2"));
        max_of_gpu(&bits.join(" + "))
    };
    let impossible = first(names::CLOCK_REASONS, |name| format!("{} > {LARGEST_BITS}", max_of_gpu(name)));
    format!("{impossible} or clamp_max({}, 1)", first(names::CLOCK_REASONS, bits))
}

/// Events a minute, of the reason that has most: the exporter counts those of its last minutes, anew at each scrape.
fn clock_events() -> String {
    format!("{} / {}", max_of_gpu(names::HELD_EVENTS), names::HELD_EVENTS_MINUTES)
}

#[cfg(test)]
mod tests;
