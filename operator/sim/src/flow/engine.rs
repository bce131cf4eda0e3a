//! One LLM server as a fluid: tokenizer, waiting, batch; and what that does to its GPU.

use super::{Work, busy::busy, law::Law};
use crate::scenario::{Llm, Tokenizer};
use crate::sim::Usage;
use crate::sim::llm::{ENGINE_CORES, Iteration, charge_cpu, charge_gpu};

/// Mean lengths of the requests inside, tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lengths {
    prompt: f64,
    output: f64,
}

impl Default for Lengths {
    fn default() -> Self {
        Self { prompt: 1.0, output: 1.0 }
    }
}

impl From<Work> for Lengths {
    fn from(work: Work) -> Self {
        Self { prompt: work.prompt_tokens.max(1.0), output: work.output_tokens.max(1.0) }
    }
}

impl Lengths {
    /// The mean when `arrived` joins `inside` requests of these lengths.
    pub fn mixed(self, inside: f64, arrived: Work) -> Self {
        let (new, all) = (Self::from(arrived), inside + arrived.amount);
        if all <= 0.0 {
            return self;
        }
        let mean = |old: f64, new: f64| (old * inside + new * arrived.amount) / all;
        Self { prompt: mean(self.prompt, new.prompt), output: mean(self.output, new.output) }
    }
}

/// One LLM server.
#[derive(Debug, Default)]
pub(super) struct Engine {
    /// Requests in front of the tokenizer.
    tokenizing: f64,
    /// Requests behind it, waiting or in the batch.
    inside: f64,
    /// Of these, in the batch.
    batch: f64,
    /// Requests tokenised and finished in the last step.
    tokenized: f64,
    finished: f64,
}

impl Engine {
    /// Requests at any stage.
    pub fn load(&self) -> f64 {
        self.tokenizing + self.inside
    }

    /// Requests in the batch.
    pub fn batch(&self) -> f64 {
        self.batch
    }

    /// What is not in the batch, given back.
    pub fn give_back_waiting(&mut self, llm: &Llm, lengths: Lengths) -> f64 {
        let running = self.inside.min(most_in_batch(llm, lengths));
        let back = self.load() - running;
        (self.tokenizing, self.inside) = (0.0, running);
        back
    }

    /// Takes `new` requests over `seconds` and works for so long; returns how many were finished.
    pub fn run(&mut self, llm: &Llm, lengths: Lengths, new: f64, cpu_limit: Option<f64>, seconds: f64) -> f64 {
        let wanted = self.tokenizing + new;
        self.tokenized = wanted.min(tokens_rate(&llm.tokenizer, cpu_limit) * seconds);
        self.tokenizing = wanted - self.tokenized;
        let amount = self.inside + self.tokenized;
        self.inside = law(llm, lengths, self.batch).left(amount, seconds);
        self.finished = amount - self.inside;
        self.batch = self.inside.min(most_in_batch(llm, lengths));
        self.finished
    }

    /// What the last run used, if there was a batch for a share of `busy` of its `seconds`.
    pub fn used(&self, llm: &Llm, lengths: Lengths, busy: f64, cpu_limit: Option<f64>, seconds: f64) -> Usage {
        let batch = if busy > 0.0 { self.batch / busy } else { 1.0 };
        let mut used = gpu(llm, lengths, self.finished, batch, seconds);
        let threads = if self.tokenizing > 0.0 {
            llm.tokenizer.cores.ceil().max(1.0)
        } else {
            self.tokenized * llm.tokenizer.ms_per_request / 1000.0 / seconds
        };
        charge_cpu(&mut used, threads + ENGINE_CORES * busy, cpu_limit, seconds);
        used
    }

    /// Seconds to the first token of a request that comes in now.
    pub fn first_token(&self, llm: &Llm, lengths: Lengths, cpu_limit: Option<f64>) -> f64 {
        let tokenizer = &llm.tokenizer;
        let stage = self.tokenizing / tokens_rate(tokenizer, cpu_limit) + tokens_took(tokenizer, cpu_limit);
        let waiting = (self.inside - self.batch) / law(llm, lengths, self.batch).most;
        let prefill = (llm.prefill_fixed_ms + llm.prefill_ms_per_token * lengths.prompt) / 1000.0;
        let under_way = busy(1, self.batch, most_in_batch(llm, lengths)) * decode_seconds(llm, self.batch) / 2.0;
        stage + waiting + under_way + prefill + decode_seconds(llm, self.batch + 1.0)
    }
}

/// Requests a second that one server finishes at most.
pub(super) fn capacity(llm: &Llm, lengths: Lengths, cpu_limit: Option<f64>) -> f64 {
    law(llm, lengths, 0.0).most.min(tokens_rate(&llm.tokenizer, cpu_limit))
}

/// A request stays for `output` iterations. Each lasts a fixed time, longer by a share for every sequence in the
/// batch, and everybody waits while one is prefilled.
fn law(llm: &Llm, lengths: Lengths, batch: f64) -> Law {
    let fixed = lengths.output * llm.decode_fixed_ms / 1000.0;
    let shared = |batch: f64| {
        let prefill = llm.prefill_fixed_ms / together(batch, lengths) + llm.prefill_ms_per_token * lengths.prompt;
        (prefill + lengths.output * llm.decode_ms_per_sequence) / 1000.0
    };
    let full = most_in_batch(llm, lengths);
    let own = shared(batch);
    Law { delay: fixed + own, shared: own, most: full / (fixed + full * shared(full)) }
}

/// Most requests in the batch: its cap, the KV cache, and how many prompts an iteration may read.
pub(super) fn most_in_batch(llm: &Llm, lengths: Lengths) -> f64 {
    // Half of its answer is there, on the average.
    let held = f64::from(llm.kv_capacity_tokens) / (lengths.prompt + lengths.output / 2.0);
    let read = lengths.output * (f64::from(llm.batched_tokens) / lengths.prompt).floor().max(1.0);
    f64::from(llm.batch_cap).min(held).min(read).max(1.0)
}

/// Requests that share an iteration's prefill, when those of a batch leave and are replaced at random.
fn together(batch: f64, lengths: Lengths) -> f64 {
    let an_iteration = batch / lengths.output;
    if an_iteration < 1e-6 { 1.0 } else { an_iteration / (1.0 - (-an_iteration).exp()) }
}

fn decode_seconds(llm: &Llm, batch: f64) -> f64 {
    (llm.decode_fixed_ms + llm.decode_ms_per_sequence * batch) / 1000.0
}

/// What the GPU did for `finished` requests in batches of `batch`.
fn gpu(llm: &Llm, lengths: Lengths, finished: f64, batch: f64, seconds: f64) -> Usage {
    let (group, decode_seconds) = (together(batch, lengths), decode_seconds(llm, batch));
    let tokens = group * lengths.prompt;
    let prefill_seconds = (llm.prefill_fixed_ms + llm.prefill_ms_per_token * tokens) / 1000.0;
    let (reads, iterations) = (finished / group, finished * lengths.output / batch);
    let kv_tokens = batch * (lengths.prompt + lengths.output / 2.0);
    let one = |prefilled: f64, prefill_seconds: f64| {
        let mut used = Usage::default();
        let iteration = Iteration { prefilled: prefilled.round() as u32, prefill_seconds, decode_seconds };
        charge_gpu(&mut used, llm, &iteration, batch, kv_tokens);
        used
    };
    let mut used = one(tokens, prefill_seconds) * reads;
    used += one(0.0, 0.0) * (iterations - reads).max(0.0);
    // A crumb that is swept up counts as finished at once; no GPU works longer than there is time.
    used * (seconds / used.gpu_busy).min(1.0)
}

fn tokenizer_cores(stage: &Tokenizer, cpu_limit: Option<f64>) -> f64 {
    cpu_limit.map_or(stage.cores, |limit| stage.cores.min((limit - ENGINE_CORES).max(0.05)))
}

/// Requests a second that get through the tokenizer at most.
fn tokens_rate(stage: &Tokenizer, cpu_limit: Option<f64>) -> f64 {
    tokenizer_cores(stage, cpu_limit) * 1000.0 / stage.ms_per_request
}

/// Seconds that the tokenizer takes for one request.
fn tokens_took(stage: &Tokenizer, cpu_limit: Option<f64>) -> f64 {
    let threads = stage.cores.ceil().max(1.0);
    stage.ms_per_request / 1000.0 * (threads / tokenizer_cores(stage, cpu_limit)).max(1.0)
}
