//! The models' causes as scenario files write them, and how fast they go: the generator's own arithmetic.

use serde_json::{Value, json};

/// A language-model server.
#[derive(Clone, Copy, Debug)]
pub struct Llm {
    /// Weights on each GPU, GiB.
    pub weights: f64,
    /// Of a decode iteration, ms.
    pub decode_fixed: f64,
    /// Of each sequence in it, ms.
    pub decode_each: f64,
    /// Of a prompt token, ms.
    pub prefill_each: f64,
    /// Tokens of a prompt.
    pub prompt: u32,
    /// Tokens of an answer.
    pub output: u32,
    /// Most sequences in a batch.
    pub batch: u32,
    /// Tokens that the KV cache holds.
    pub kv: u32,
    /// Threads that tokenise.
    pub tokenizers: f64,
    /// CPU time of a request, ms.
    pub tokenizing: f64,
}

/// Fixed part of an iteration that prefills, ms.
const PREFILL_FIXED: f64 = 15.0;

impl Llm {
    /// As a scenario file writes it.
    pub fn json(&self) -> Value {
        json!({"llm": {
            "modelName": "served", "prefillFixedMs": PREFILL_FIXED, "prefillMsPerToken": self.prefill_each,
            "decodeFixedMs": self.decode_fixed, "decodeMsPerSequence": self.decode_each, "batchCap": self.batch,
            "kvCapacityTokens": self.kv, "weightsGib": self.weights,
            "tokenizer": {"cores": self.tokenizers, "msPerRequest": self.tokenizing},
        }})
    }

    /// What fits into the batch at once.
    pub fn concurrent(&self) -> f64 {
        let room = f64::from(self.kv) / (f64::from(self.prompt) + f64::from(self.output) / 2.0);
        f64::from(self.batch).min(room.floor()).max(1.0)
    }

    /// Requests a second that one replica can answer, its GPU and its tokeniser considered.
    pub fn rate(&self) -> f64 {
        let batch = self.concurrent();
        let decode = f64::from(self.output) * (self.decode_fixed + self.decode_each * batch) / batch;
        let tokenising = 1000.0 * self.tokenizers / self.tokenizing.max(1e-9);
        (1000.0 / (self.prefill() + decode)).min(tokenising)
    }

    /// Seconds until a request that meets no other is answered.
    pub fn alone(&self) -> f64 {
        1.0 / Self { batch: 1, tokenizing: 0.0, ..*self }.rate()
    }

    /// Seconds of these to its first token.
    pub fn first(&self) -> f64 {
        (self.prefill() + self.decode_fixed + self.decode_each) / 1000.0
    }

    /// Seconds by which a request holds up each that it meets from its beginning to its end.
    pub fn own(&self) -> f64 {
        (self.prefill() + f64::from(self.output) * self.decode_each) / 1000.0
    }

    fn prefill(&self) -> f64 {
        PREFILL_FIXED + self.prefill_each * f64::from(self.prompt)
    }

    /// Poisson arrivals at `per_second`, with other rates from later seconds on.
    pub fn arrivals(&self, per_second: f64, steps: &[(f64, f64)]) -> Value {
        rate(per_second, steps, self.prompt, self.output)
    }
}

/// A training run.
#[derive(Clone, Copy, Debug)]
pub struct Training {
    /// GPU time of a step, seconds.
    pub compute: f64,
    /// Samples of a step on one replica.
    pub samples: f64,
    /// Gradient exchange as a share of `compute`.
    pub exchange: f64,
    /// Loader workers.
    pub workers: f64,
    /// CPU time of a sample, seconds.
    pub cpu: f64,
    /// Bytes of a sample.
    pub bytes: f64,
    /// Bytes a second from the storage, for all replicas.
    pub storage: Option<f64>,
    /// Samples of a step on all replicas together; none means `samples` on each.
    pub together: Option<f64>,
    /// Samples that wait.
    pub backlog: f64,
}

impl Training {
    /// As a scenario file writes it, with further causes beside.
    pub fn with(&self, causes: &[(&str, Value)]) -> Value {
        let mut model = self.json();
        for (name, cause) in causes {
            model["training"][name] = cause.clone();
        }
        model
    }

    /// As a scenario file writes it.
    pub fn json(&self) -> Value {
        json!({"training": {
            "globalBatch": self.together,
            "gpuSecondsPerStep": self.compute, "samplesPerStep": self.samples, "communicationFraction": self.exchange,
            "loader": {"workers": self.workers, "cpuSecondsPerSample": self.cpu, "bytesPerSample": self.bytes},
            "storage": {"bytesPerSecond": self.storage}, "backlog": self.backlog,
        }})
    }

    /// Samples a second of one replica that waits for nothing.
    pub fn rate(&self) -> f64 {
        self.samples / self.compute
    }

    /// The CPU cores that keep one replica's GPUs at work.
    pub fn cores(&self) -> f64 {
        self.rate() * self.cpu
    }
}

/// A service whose requests each take their GPU time.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// GPU time of a request, seconds.
    pub gpu: f64,
    /// CPU time before it, seconds.
    pub cpu: f64,
    /// Time before it in which another service answers, seconds.
    pub wait: f64,
    /// Most requests inside.
    pub concurrency: u32,
}

impl Service {
    /// As a scenario file writes it.
    pub fn json(&self) -> Value {
        json!({"service": {
            "gpuSecondsPerRequest": self.gpu, "cpuSecondsPerRequest": self.cpu,
            "waitSecondsPerRequest": self.wait, "concurrency": self.concurrency,
        }})
    }

    /// Requests a second that one replica can answer on `limit` cores.
    pub fn rate(&self, limit: f64) -> f64 {
        let inside = f64::from(self.concurrency);
        let by_slots = inside / (self.gpu + self.wait + self.cpu * (inside / limit).max(1.0));
        (1.0 / self.gpu).min(limit / self.cpu).min(by_slots)
    }
}

/// Arrivals at `per_second`, with other rates from later seconds on.
pub fn rate(per_second: f64, steps: &[(f64, f64)], prompt: u32, output: u32) -> Value {
    let steps: Vec<_> = steps.iter().map(|(at, rate)| json!({"at": span(*at), "perSecond": rate})).collect();
    json!({"rate": {"perSecond": per_second, "steps": steps, "promptTokens": prompt, "outputTokens": output}})
}

/// Nothing arrives.
pub fn nothing() -> Value {
    rate(0.0, &[], 1, 1)
}

/// Seconds as a scenario file writes them.
pub fn span(seconds: f64) -> String {
    format!("{:.0}ms", seconds * 1000.0)
}
