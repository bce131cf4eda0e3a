//! The causes: how a workload spends GPU, CPU and storage. No metric value can be written here.

use super::{Batch, CpuPool, MaxTokens, Router, Span, Training};
use serde::{Deserialize, Serialize};

/// How a workload turns work into load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(clippy::large_enum_variant)] // a scenario has a few of them
pub enum Model {
    /// A server that batches language-model requests, as vLLM does.
    Llm(Llm),
    /// Synchronous data-parallel training that works through a backlog of samples.
    Training(Training),
    /// A server whose requests each need a fixed GPU time, fed from one queue.
    Service(Service),
}

/// Model servers that batch while they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LlmServer {
    /// vLLM.
    #[default]
    Vllm,
    /// Hugging Face's text-generation-inference.
    Tgi,
}

/// Continuous batching on one replica. One iteration takes
/// `prefillFixedMs + prefillMsPerToken × new prompt tokens` (if any) `+ decodeFixedMs + decodeMsPerSequence × batch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Llm {
    /// The served model, as the label `model_name` shows it.
    pub model_name: String,
    /// Fixed cost of an iteration that prefills, ms.
    pub prefill_fixed_ms: f64,
    /// Cost of a prompt token, ms.
    pub prefill_ms_per_token: f64,
    /// Fixed cost of a decode iteration, ms.
    pub decode_fixed_ms: f64,
    /// Cost of each sequence in a decode iteration, ms.
    pub decode_ms_per_sequence: f64,
    /// Most sequences in a batch (vLLM's `max_num_seqs`).
    pub batch_cap: u32,
    /// Most prompt tokens that one iteration prefills (vLLM's `max_num_batched_tokens`).
    #[serde(default = "batched_tokens")]
    pub batched_tokens: u32,
    /// Tokens that the KV cache of one replica holds.
    pub kv_capacity_tokens: u32,
    /// Bytes of KV cache a token takes.
    #[serde(default = "kv_bytes")]
    pub kv_bytes_per_token: f64,
    /// Weights on each GPU, GiB: read once an iteration.
    pub weights_gib: f64,
    /// The CPU stage in front of the engine.
    pub tokenizer: Tokenizer,
    /// Whose metrics the server shows; it works alike whichever.
    #[serde(default)]
    pub server: LlmServer,
    /// Cores that the CPU stages of all replicas share, since their pods are packed on the same nodes; none means that
    /// each has its own.
    #[serde(default)]
    pub cpu_pool: Option<CpuPool>,
    /// The cap on answers; none means that requests set none.
    #[serde(default)]
    pub max_tokens: Option<MaxTokens>,
    /// How requests are spread; none means that each goes to the replica with the fewest.
    #[serde(default)]
    pub router: Option<Router>,
    /// Time after a replica turns Ready in which its CPU compiles kernels and requests wait.
    #[serde(default)]
    pub warm_up: Span,
}

/// The CPU stage in front of an LLM engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tokenizer {
    /// Threads that tokenise, one core each.
    pub cores: f64,
    /// CPU time of a request, ms.
    pub ms_per_request: f64,
}

/// One queue; each replica takes up to `concurrency` requests, prepares them on the CPU and serves them one by one on the GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    /// GPU time of a request, seconds.
    pub gpu_seconds_per_request: f64,
    /// CPU time of a request before the GPU, seconds.
    #[serde(default)]
    pub cpu_seconds_per_request: f64,
    /// Time of a request inside a replica before the GPU in which nothing of it works: it asks another service, seconds.
    #[serde(default)]
    pub wait_seconds_per_request: f64,
    /// Most requests inside one replica.
    pub concurrency: u32,
    /// GPU memory in use on each GPU, MiB.
    #[serde(default = "service_memory")]
    pub gpu_memory_mib: f64,
    /// Cores that the CPU stages of all replicas share, since their pods are packed on the same nodes; none means that
    /// each has its own.
    #[serde(default)]
    pub cpu_pool: Option<CpuPool>,
    /// Dynamic batching in each replica; takes the place of `gpuSecondsPerRequest` and `concurrency`.
    #[serde(default)]
    pub batch: Option<Batch>,
    /// How requests are spread; none means that replicas pull from one queue, or with `batch` that each request goes to
    /// the replica with the fewest.
    #[serde(default)]
    pub router: Option<Router>,
    /// Time after a replica turns Ready in which its CPU compiles kernels and requests wait.
    #[serde(default)]
    pub warm_up: Span,
}

fn batched_tokens() -> u32 {
    8192
}

/// Llama-3-8B in bf16: 2 × 32 layers × 8 heads × 128 × 2 bytes.
fn kv_bytes() -> f64 {
    131_072.0
}

fn service_memory() -> f64 {
    21_000.0
}
