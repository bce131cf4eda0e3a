//! The names under which exporters and servers send one thing, over their versions; the first that a GPU or pod has counts.
//!
//! Units go with the name, or with what is configured for it, never with the value. Collectors that rewrite names turn a
//! colon into an underscore.

/// Percent; the second 0–1 since DCGM 4.7. In 4.6 it was what the first is, which must be configured.
pub const UTIL: &[&str] = &["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO"];
/// 0–1.
pub const ENGINE: &[&str] = &["DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"];
/// 0–1.
pub const SM: &[&str] = &["DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO"];
/// 0–1.
pub const DRAM: &[&str] = &["DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_DRAM_UTIL_RATIO"];
/// 0–1.
pub const TENSOR: &[&str] = &["DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO"];
/// 0–1.
pub const FP32: &[&str] = &["DCGM_FI_PROF_PIPE_FP32_ACTIVE", "DCGM_FI_PROF_FP32_UTIL_RATIO"];
/// Bytes a second, and the same as counters of bytes.
pub const PCIE_RX: (&str, &str) = ("DCGM_FI_PROF_PCIE_RX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES_TOTAL");
/// Bytes a second, and the same as counters of bytes.
pub const PCIE_TX: (&str, &str) = ("DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_TX_BYTES_TOTAL");
/// Bytes a second.
pub const NVLINK_RX: &str = "DCGM_FI_PROF_NVLINK_RX_BYTES";
/// Bytes a second.
pub const NVLINK_TX: &str = "DCGM_FI_PROF_NVLINK_TX_BYTES";
/// Counts both directions of all links, in a unit that depends on version and driver: used where it is configured. The
/// second since DCGM 4.6.
pub const NVLINK_TOTAL: &[&str] = &["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL"];
/// Lanes in use. A link keeps its width at rest, unlike its generation.
pub const PCIE_LANES: &[&str] = &["DCGM_FI_DEV_PCIE_LINK_WIDTH"];
/// Lanes that card and slot have.
pub const PCIE_LANES_MOST: &[&str] = &["DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH"];
/// The number of the last XID; it never clears, and does not show that the same one came again.
pub const XID: &[&str] = &["DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR"];
/// 0–1 of what can be used.
pub const MEMORY: &[&str] = &["DCGM_FI_DEV_FB_USED_RATIO", "DCGM_FI_DEV_FB_USED_PERCENT"];
/// MiB.
pub const MEMORY_USED: &str = "DCGM_FI_DEV_FB_USED";
/// MiB; what the driver reserves is in neither.
pub const MEMORY_FREE: &str = "DCGM_FI_DEV_FB_FREE";
/// MHz.
pub const CLOCK: &[&str] = &["DCGM_FI_DEV_SM_CLOCK"];
/// Watts.
pub const POWER: &[&str] = &["DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"];
/// Watts; what is enforced comes before what is set, and is never more.
pub const POWER_LIMIT: &[&str] = &["DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "DCGM_FI_DEV_POWER_MGMT_LIMIT"];

/// Bits.
pub const CLOCK_REASONS: &[&str] = &["DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"];
/// Hardware slowdown, heat seen by software, heat seen by hardware, hardware power brake. An idle GPU, clocks that
/// somebody set and a power cap in software are normal operation.
pub const HOLDING_BITS: [u16; 4] = [8, 32, 64, 128];
/// The same as counts of events over the exporter's own window.
pub const HELD_EVENTS: &str =
    "DCGM_EXP_CLOCK_EVENTS_COUNT{clock_event=~\"hw_slowdown|sw_thermal|hw_thermal|hw_power_brake\"}";

/// The exporter's own window, minutes, unless it is told another.
pub const HELD_EVENTS_MINUTES: u8 = 5;

/// Requests.
pub const RUNNING: &[&str] = &[
    "vllm:num_requests_running",
    "vllm_num_requests_running",
    "sglang:num_running_reqs",
    "sglang_num_running_reqs",
    "trtllm_num_requests_running",
    "nv_trt_llm_request_metrics{request_type=\"scheduled\"}",
    "tgi_batch_current_size",
    "ray_serve_replica_processing_queries",
];
/// Requests.
pub const WAITING: &[&str] = &[
    "vllm:num_requests_waiting",
    "vllm_num_requests_waiting",
    "sglang:num_queue_reqs",
    "sglang_num_queue_reqs",
    "trtllm_num_requests_waiting",
    "nv_trt_llm_request_metrics{request_type=\"waiting\"}",
    "nv_inference_pending_request_count",
    "tgi_queue_size",
    "ray_serve_replica_queued_queries",
    "ray_serve_deployment_queued_queries",
];
/// Requests, but for those that wait for something else than room.
pub const WAITING_FOR_ROOM: &[&str] = &[
    "vllm:num_requests_waiting_by_reason{reason!=\"deferred\"}",
    "vllm_num_requests_waiting_by_reason{reason!=\"deferred\"}",
];
/// Requests, whatever they wait for.
pub const WAITING_BY_REASON: &[&str] = &["vllm:num_requests_waiting_by_reason", "vllm_num_requests_waiting_by_reason"];
/// Requests in one execution: histograms, summaries or gauges of servers that form their batches beforehand.
pub const BATCH: &[&str] = &["bentoml_runner_adaptive_batch_size"];
/// Counts requests.
pub const INFERENCES: &str = "nv_inference_count";
/// Counts requests that were answered, by why they ended: TensorRT-LLM's own server, which counts no tokens.
pub const ANSWERS: &str = "trtllm_request_success_total";
/// Counts executions of a model.
pub const EXECUTIONS: &str = "nv_inference_exec_count";
/// 0–1.
pub const KV: &[&str] = &[
    "vllm:kv_cache_usage_perc",
    "vllm_kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
    "vllm_gpu_cache_usage_perc",
    "sglang:token_usage",
    "sglang_token_usage",
    "trtllm_kv_cache_utilization",
    "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\"}",
];
/// Counts requests; `SGLang` calls them retracted.
pub const PREEMPTIONS: &[&str] = &[
    "vllm:num_preemptions_total",
    "vllm_num_preemptions_total",
    "sglang:num_retracted_requests_total",
    "sglang_num_retracted_requests_total",
];
/// Counts tokens.
pub const PROGRESS: &[&str] = &[
    "vllm:generation_tokens_total",
    "vllm_generation_tokens_total",
    "sglang:generation_tokens_total",
    "sglang_generation_tokens_total",
    "tgi_request_generated_tokens_sum",
];

/// Histograms of seconds.
pub const QUEUE_SECONDS: &[&str] = &[
    "vllm:request_queue_time_seconds",
    "vllm_request_queue_time_seconds",
    "sglang:queue_time_seconds",
    "sglang_queue_time_seconds",
    "trtllm_request_queue_time_seconds",
    "tgi_request_queue_duration",
];
/// Histograms of seconds.
pub const FIRST_TOKEN_SECONDS: &[&str] = &[
    "vllm:time_to_first_token_seconds",
    "vllm_time_to_first_token_seconds",
    "sglang:time_to_first_token_seconds",
    "sglang_time_to_first_token_seconds",
    "trtllm_time_to_first_token_seconds",
];
/// Histograms of seconds.
pub const WHOLE_SECONDS: &[&str] = &[
    "vllm:e2e_request_latency_seconds",
    "vllm_e2e_request_latency_seconds",
    "sglang:e2e_request_latency_seconds",
    "sglang_e2e_request_latency_seconds",
    "trtllm_e2e_request_latency_seconds",
    "tgi_request_duration",
];
/// Histograms of tokens.
pub const PROMPT_TOKENS: &[&str] = &[
    "vllm:request_prompt_tokens",
    "vllm_request_prompt_tokens",
    "sglang:prompt_tokens_histogram",
    "sglang_prompt_tokens_histogram",
    "tgi_request_input_length",
];
/// Histograms of tokens.
pub const OUTPUT_TOKENS: &[&str] = &[
    "vllm:request_generation_tokens",
    "vllm_request_generation_tokens",
    "sglang:generation_tokens_histogram",
    "sglang_generation_tokens_histogram",
    "tgi_request_generated_tokens",
];
/// Histograms of tokens.
pub const OUTPUT_CAP: &[&str] =
    &["vllm:request_params_max_tokens", "vllm_request_params_max_tokens", "tgi_request_max_new_tokens"];
/// Counts microseconds over all requests.
pub const TRITON_QUEUE: &str = "nv_inference_queue_duration_us";
/// Counts microseconds over all requests.
pub const TRITON_WHOLE: &str = "nv_inference_request_duration_us";
/// Counts requests.
pub const TRITON_REQUESTS: &str = "nv_inference_request_success";

/// Counts bytes of the pod, over all of its interfaces.
pub const NETWORK_RX: &str = "container_network_receive_bytes_total";
/// Counts bytes of the pod, over all of its interfaces.
pub const NETWORK_TX: &str = "container_network_transmit_bytes_total";

/// The kernel's name of a node, which is its name in the cluster as a rule.
pub const NODE_NAME: &str = "node_uname_info";
/// Counts seconds of each CPU in which it waited for storage.
pub const IOWAIT: &str = "node_cpu_seconds_total{mode=\"iowait\"}";
/// Counts bytes of an `InfiniBand` or `RoCE` port.
pub const RDMA_RX: &str = "node_infiniband_port_data_received_bytes_total";
/// Counts bytes of an `InfiniBand` or `RoCE` port.
pub const RDMA_TX: &str = "node_infiniband_port_data_transmitted_bytes_total";
/// Bytes a second that a port can carry.
pub const RDMA_SPEED: &str = "node_infiniband_rate_bytes_per_second";
/// Bytes a second that a network card can carry; not of what is no card, which claims any speed.
pub const LINK_SPEED: &str =
    "node_network_speed_bytes{device!~\"lo|veth.*|cali.*|lxc.*|cilium.*|cni.*|docker.*|br-.*|tun.*\"}";
