//! What a model server says of its own work.

use crate::span::Span;
use serde::{Deserialize, Serialize};

/// One server's means over the window (vLLM, `SGLang`, TensorRT-LLM, Triton); none where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each tells of one source
pub struct ServerEvidence {
    /// Requests in service.
    pub running: Option<Span>,
    /// Requests that wait for room. Those that wait for something else, such as a `LoRA` slot, are left out where the
    /// server tells them apart.
    pub waiting: Option<Span>,
    /// Requests in one execution of the model.
    pub batch: Option<Span>,
    /// KV cache in use, 0–1.
    pub kv: Option<Span>,
    /// `kv` was measured here within the last day and is missing now: it may be what keeps the batch small.
    pub kv_lost: bool,
    /// Requests thrown out of the KV cache, a second.
    pub preemptions: Option<Span>,
    /// Tokens or answers a second.
    pub progress: Option<Span>,
    /// `progress` was measured here within the last day and is missing now: nobody knows whether it stands still.
    pub progress_lost: bool,
    /// `progress` counts answers, since tokens are not counted.
    #[serde(default)]
    pub answers: bool,
    /// Time that a request waits in the engine's queue, seconds.
    #[serde(default)]
    pub queue_seconds: Option<Span>,
    /// Time from a request's arrival at the server to its first token, seconds.
    #[serde(default)]
    pub first_token_seconds: Option<Span>,
    /// `first_token_seconds` was measured here within the last day and is missing now: the whole time does not stand in
    /// for it then, since a queue is a smaller share of that.
    #[serde(default)]
    pub first_token_lost: bool,
    /// Time from a request's arrival at the server to its end, seconds.
    #[serde(default)]
    pub whole_seconds: Option<Span>,
    /// The 95th percentile of prompt lengths over their median.
    #[serde(default)]
    pub prompt_spread: Option<Span>,
    /// Tokens of an answer.
    #[serde(default)]
    pub output_tokens: Option<Span>,
    /// The most tokens that a request allows its answer.
    #[serde(default)]
    pub output_cap: Option<Span>,
}

impl ServerEvidence {
    /// Whether it has a KV cache, and so takes its memory in advance: how much of it is in use says nothing then.
    pub const fn keeps_a_cache(&self) -> bool {
        self.kv.is_some() || self.kv_lost
    }

    /// Whether it counts tokens, or did lately.
    pub const fn generates_tokens(&self) -> bool {
        !self.answers && (self.progress.is_some() || self.progress_lost)
    }

    /// The queue's share of the time to the first token, or of the whole time where a server has no first token.
    pub fn queue_share(&self) -> Option<Span> {
        let stand_in = self.whole_seconds.filter(|_| !self.first_token_lost);
        self.queue_seconds?.share_of(self.first_token_seconds.or(stand_in)?)
    }
}
