//! What is asked, and that it is asked of every GPU, container, server, trainer and node once.

use super::*;
use crate::config::ServerNames;
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
         sum by (namespace, pod) (rate(vllm_request_params_max_tokens_count[60s])) or \
         sum by (namespace, pod) (rate(tgi_request_max_new_tokens_sum[60s])) / \
         sum by (namespace, pod) (rate(tgi_request_max_new_tokens_count[60s]))"
    );
}

#[test]
fn the_peak_of_memory_is_the_largest_sample_where_the_least_is_free() {
    let by =
        "max by (namespace, pod, exported_namespace, exported_pod, pod_namespace, pod_name, UUID, GPU_I_ID, modelName)";
    let used = "max_over_time(DCGM_FI_DEV_FB_USED[60s])";

    assert_eq!(
        asked(Metric::MemoryPeak),
        format!(
            "{by} (max_over_time(DCGM_FI_DEV_FB_USED_RATIO[60s])) or {by} (max_over_time(DCGM_FI_DEV_FB_USED_PERCENT[60s])) or \
             {by} ({used}) > 10000000 or {by} (min_over_time(DCGM_FI_DEV_FB_USED[60s])) < 0 or \
             {by} (max_over_time(DCGM_FI_DEV_FB_FREE[60s])) > 10000000 or \
             {by} (min_over_time(DCGM_FI_DEV_FB_FREE[60s])) < 0 or \
             {by} ({used} / ({used} + min_over_time(DCGM_FI_DEV_FB_FREE[60s])))"
        )
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

    let percent = ["60s])) > 100", "60s])) < 0", "60s]))"];
    // What guards the mean is in the same unit.
    let ratio = ["60s])) * 100 > 100", "60s])) * 100 < 0", "60s])) * 100"];
    assert_eq!(ends(&EvidenceConfig::default()), [percent, ratio].concat());
    assert_eq!(ends(&with_unit("DCGM_FI_DEV_GPU_UTIL_RATIO", Unit::Percent)), [percent, percent].concat());
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

/// A gauge of a step's length repeats the last one's for ever; its count does not.
#[test]
fn steps_are_asked_for_by_their_counter_or_by_the_count_of_their_lengths() {
    let rate = |name: &str| format!("sum by (namespace, pod) (max without ({SCRAPED_BY}) (rate({name}[60s])))");
    assert_eq!(
        asked(Metric::Steps),
        format!("{} or {}", rate("training_steps_total"), rate("training_step_seconds_count"))
    );
    let trainer = TrainerNames { steps: Vec::new(), step_seconds: vec!["step".into()], ..TrainerNames::default() };
    let config = EvidenceConfig { trainer, ..EvidenceConfig::default() };
    assert_eq!(Metric::Steps.query("60s", &config), Some(rate("step_count")));
    let trainer = TrainerNames { steps: Vec::new(), step_seconds: Vec::new(), ..TrainerNames::default() };
    assert_eq!(Metric::Steps.query("60s", &EvidenceConfig { trainer, ..EvidenceConfig::default() }), None);
}

/// The exporter counts events of its last five minutes: one of them is no five minutes of held clocks.
#[test]
fn clock_events_are_a_rate_a_minute_and_no_share_of_time() {
    assert!(!asked(Metric::ClocksHeld).contains("DCGM_EXP_CLOCK_EVENTS_COUNT"));
    let events = asked(Metric::ClockEvents);
    assert!(events.contains("DCGM_EXP_CLOCK_EVENTS_COUNT") && events.ends_with(" / 5"), "{events}");
}

#[test]
fn batches_formed_beforehand_are_asked_for_by_known_names_and_by_those_of_the_administrator() {
    assert!(asked(Metric::Batch).starts_with("sum by (namespace, pod) (rate(bentoml_runner_adaptive_batch_size_sum["));
    let server = ServerNames { batch: vec!["my_batch".into()], ..ServerNames::default() };
    let config = EvidenceConfig { server, ..EvidenceConfig::default() };
    let query = Metric::Batch.query("60s", &config).unwrap();
    assert!(query.starts_with("sum by (namespace, pod) (rate(my_batch_sum[60s])) /"), "{query}");
    assert!(query.contains("(rate(nv_inference_exec_count[60s])) and on (namespace, pod)"), "{query}");
}

#[test]
fn names_of_servers_that_the_administrator_gives_come_first() {
    let server = ServerNames { prompt_tokens: vec!["my_prompts".into()], ..ServerNames::default() };
    let config = EvidenceConfig { server, ..EvidenceConfig::default() };
    let asked = Metric::PromptSpread.query("60s", &config).unwrap();

    assert!(asked.starts_with("histogram_quantile(0.95, sum by (namespace, pod, le) (rate(my_prompts_bucket[60s])))"));
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
