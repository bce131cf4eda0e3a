//! One LLM server as a fluid: tokenizer, waiting, batch; and what that does to its GPU.

use super::{busy::busy, law::Law, lengths::Lengths};
use crate::scenario::{Llm, Tokenizer};
use crate::sim::Usage;
use crate::sim::cfs;
use crate::sim::llm::{ENGINE_CORES, Iteration, charge_gpu};

/// Requests by which servers that are level may differ.
const ROUNDING: f64 = 1e-9;

/// One LLM server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Engine {
    /// Requests in front of the tokenizer.
    tokenizing: f64,
    /// Requests behind it, waiting or in the batch.
    inside: f64,
    /// Of these, in the batch.
    batch: f64,
}

/// What is the same for all servers in one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub llm: &'a Llm,
    pub lengths: Lengths,
    /// Servers that take work.
    pub servers: u32,
    pub seconds: f64,
}

/// A server at the start of a step, what comes in over it, the cores that the container may use, and the seconds in
/// which it works: fewer while it warms up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub engine: Engine,
    pub new: f64,
    pub cpu_limit: Option<f64>,
    pub works: f64,
}

/// The server at the end of the step, and what it did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub engine: Engine,
    pub finished: f64,
    pub used: Usage,
}

impl Asked {
    /// Whether the answer to `other` will do: rounding parts level servers, and this makes them level again.
    pub fn same(&self, other: &Self) -> bool {
        let near = |one: f64, other: f64| (one - other).abs() < ROUNDING;
        near(self.engine.tokenizing, other.engine.tokenizing)
            && near(self.engine.inside, other.engine.inside)
            && near(self.engine.batch, other.engine.batch)
            && near(self.new, other.new)
            && near(self.works, other.works)
            && self.cpu_limit == other.cpu_limit
    }
}

impl Step<'_> {
    pub fn run(self, Asked { engine, new, cpu_limit, works }: Asked) -> Done {
        let Self { llm, lengths, servers, seconds } = self;
        let wanted = engine.tokenizing + new;
        let tokenized = wanted.min(tokens_rate(&llm.tokenizer, cpu_limit) * seconds);
        let amount = engine.inside + tokenized;
        let inside = law(llm, lengths, engine.batch).left(amount, works);
        let most = most_in_batch(llm, lengths);
        let batch = if works > 0.0 { inside.min(most) } else { 0.0 };
        let engine = Engine { tokenizing: wanted - tokenized, inside, batch };

        let busy = busy(servers, engine.batch, most);
        let in_batch = if busy > 0.0 { engine.batch / busy } else { 1.0 };
        let mut used = gpu(llm, lengths, amount - inside, in_batch, works);
        let threads = if engine.tokenizing > 0.0 {
            llm.tokenizer.cores.ceil().max(1.0)
        } else {
            tokenized * llm.tokenizer.ms_per_request / 1000.0 / seconds
        };
        // While it warms up it compiles.
        let cores = threads + ENGINE_CORES * (busy * works + seconds - works) / seconds;
        used += cfs::charge(cores, 0.05 * cores, cpu_limit, seconds);
        Done { engine, finished: amount - inside, used }
    }
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
    let lengths = lengths.capped(llm.max_tokens.as_ref());
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
fn most_in_batch(llm: &Llm, lengths: Lengths) -> f64 {
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
    if finished <= 0.0 || seconds <= 0.0 {
        return Usage::default();
    }
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
