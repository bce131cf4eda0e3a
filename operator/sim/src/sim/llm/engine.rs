//! One LLM server: admission, iterations, KV cache, and what all that does to its GPU.

use super::tokens::{Request, Tokenizing};
use crate::{
    scenario::Llm,
    sim::{
        Tick, cfs,
        histogram::{FIRST_TOKEN, Histogram, REQUEST, TOKENS},
        replica::tighter,
        usage::Usage,
    },
};
use std::collections::VecDeque;

/// Cores that the engine's own loop keeps busy while anything runs.
pub(crate) const ENGINE_CORES: f64 = 1.0;
/// Share of an iteration with kernels on the GPU; the rest is launching and sampling on the CPU.
const KERNEL_SHARE: f64 = 0.97;
/// SMs at work and tensor cycles in use while prompts are read: large matrix products.
const PREFILL: (f64, f64) = (0.90, 0.55);
/// The same while tokens are generated one by one: wide, memory-bound kernels.
const DECODE: (f64, f64) = (0.62, 0.04);
/// Tensor cycles that each sequence of a batch adds while tokens are generated.
const DECODE_TENSOR_PER_SEQUENCE: f64 = 0.002;
/// Bytes of the prompt or answer of one token on the wire.
const TOKEN_BYTES: f64 = 4.0;

/// One LLM server.
#[derive(Debug)]
pub struct Engine {
    /// Whether the router may send it requests.
    pub accepting: bool,
    /// In the batch.
    pub running: Vec<Request>,
    /// Tokenised, not in the batch.
    pub waiting: VecDeque<Request>,
    tokenizing: Tokenizing,
    clock: f64,
    kv_tokens: u32,
    kv_capacity: u32,
    /// Requests answered.
    pub finished: u64,
    /// Those of them whose answer was stopped by its cap.
    pub cut: u64,
    /// Requests pushed out of the batch because the KV cache was full.
    pub preemptions: u64,
    /// Prompt tokens read.
    pub prompt_tokens: u64,
    /// Tokens generated.
    pub generation_tokens: u64,
    /// Seconds from tokenised to scheduled.
    pub queue_time: Histogram,
    /// Seconds from received to the first token.
    pub first_token: Histogram,
    /// Seconds from received to the last token.
    pub whole: Histogram,
    /// Prompt tokens of each answered request.
    pub prompts: Histogram,
    /// Tokens of each answer.
    pub answers: Histogram,
    /// Caps that the answered requests asked for; none of those without.
    pub caps: Histogram,
}

/// One pass through the model.
pub(crate) struct Iteration {
    pub(crate) prefilled: u32,
    pub(crate) prefill_seconds: f64,
    pub(crate) decode_seconds: f64,
}

impl Engine {
    /// An idle server that works from `from` on; until then its CPU is busy with itself.
    pub fn new(from: f64) -> Self {
        Self {
            accepting: true,
            running: Vec::new(),
            waiting: VecDeque::new(),
            tokenizing: Tokenizing::default(),
            clock: from,
            kv_tokens: 0,
            kv_capacity: 1,
            finished: 0,
            cut: 0,
            preemptions: 0,
            prompt_tokens: 0,
            generation_tokens: 0,
            queue_time: Histogram::new(REQUEST),
            first_token: Histogram::new(FIRST_TOKEN),
            whole: Histogram::new(REQUEST),
            prompts: Histogram::new(TOKENS),
            answers: Histogram::new(TOKENS),
            caps: Histogram::new(TOKENS),
        }
    }

    /// Requests inside, at any stage.
    pub fn load(&self) -> usize {
        self.tokenizing.len() + self.waiting.len() + self.running.len()
    }

    /// Share of the KV cache in use, 0–1.
    pub fn kv_usage(&self) -> f64 {
        f64::from(self.kv_tokens) / f64::from(self.kv_capacity)
    }

    /// Takes a request.
    pub fn take(&mut self, request: Request) {
        self.tokenizing.take(request);
    }

    /// What is not in the batch, given back.
    pub fn give_back_waiting(&mut self) -> Vec<Request> {
        let mut back = self.tokenizing.give_back();
        back.extend(self.waiting.drain(..));
        back
    }

    /// Everything, given back.
    pub fn give_back_all(&mut self) -> Vec<Request> {
        let mut back = self.give_back_waiting();
        back.append(&mut self.running);
        self.kv_tokens = 0;
        back
    }

    /// Runs iterations over `tick`; the last may end a little later, and the next call starts there. `share` is what the
    /// server gets of the cores that it shares with others.
    pub fn run(&mut self, llm: &Llm, cpu_limit: Option<f64>, share: Option<f64>, tick: Tick) -> Usage {
        self.kv_capacity = llm.kv_capacity_tokens;
        let left = tighter(cpu_limit, share).map(|limit| limit - ENGINE_CORES);
        let tokenizers = self.tokenizing.run(&llm.tokenizer, left, tick);
        let mut used = Usage::default();
        let mut idle = 0.0;
        while self.clock < tick.until {
            self.collect();
            if self.running.is_empty() && self.waiting.is_empty() {
                let next = self.tokenizing.next_done().map_or(tick.until, |done| done.min(tick.until));
                idle += next - self.clock;
                self.clock = next;
                continue;
            }
            self.iterate(llm, &mut used);
        }
        let cores = tokenizers + ENGINE_CORES * (1.0 - idle / tick.length());
        used += cfs::charge(cores, 0.05 * cores, cpu_limit, tick.length());
        share.map_or(used, |share| cfs::crowd(used, share, tick.length()))
    }

    fn collect(&mut self) {
        while let Some(request) = self.tokenizing.pop_done(self.clock) {
            self.waiting.push_back(request);
        }
    }

    fn iterate(&mut self, llm: &Llm, used: &mut Usage) {
        let prefilled = self.admit(llm);
        let batch = self.running.len() as f64;
        let prefill_ms = llm.prefill_fixed_ms + llm.prefill_ms_per_token * f64::from(prefilled);
        let iteration = Iteration {
            prefilled,
            prefill_seconds: if prefilled > 0 { prefill_ms / 1000.0 } else { 0.0 },
            decode_seconds: (llm.decode_fixed_ms + llm.decode_ms_per_sequence * batch) / 1000.0,
        };
        self.clock += iteration.prefill_seconds + iteration.decode_seconds;
        charge_gpu(used, llm, &iteration, batch, f64::from(self.kv_tokens));
        self.generate();
        self.preempt();
    }

    /// Moves waiting requests into the batch as far as the cap, the prefill budget and the KV cache allow.
    fn admit(&mut self, llm: &Llm) -> u32 {
        let mut prefilled = 0;
        while self.running.len() < llm.batch_cap as usize
            && let Some(next) = self.waiting.front()
        {
            let tokens = next.tokens();
            let over_budget = prefilled > 0 && prefilled + tokens > llm.batched_tokens;
            let no_room = !self.running.is_empty() && self.kv_tokens + tokens > llm.kv_capacity_tokens;
            if over_budget || no_room {
                break;
            }
            let Some(mut request) = self.waiting.pop_front() else { break };
            if !request.scheduled {
                self.queue_time.observe(self.clock - request.queued);
                self.prompt_tokens += u64::from(request.prompt);
                request.scheduled = true;
            }
            prefilled += tokens;
            self.kv_tokens += tokens;
            self.running.push(request);
        }
        prefilled
    }

    /// Every request of the batch gets one token; the finished ones leave.
    fn generate(&mut self) {
        let now = self.clock;
        self.generation_tokens += self.running.len() as u64;
        for request in &mut self.running {
            request.generated += 1;
            self.kv_tokens += 1;
            if request.generated == 1 {
                self.first_token.observe(now - request.received);
            }
        }
        for done in self.running.extract_if(.., |request| request.generated >= request.output) {
            self.kv_tokens -= done.tokens();
            self.finished += 1;
            self.cut += u64::from(done.cut());
            self.whole.observe(now - done.received);
            self.prompts.observe(f64::from(done.prompt));
            self.answers.observe(f64::from(done.generated));
            done.cap.into_iter().for_each(|cap| self.caps.observe(f64::from(cap)));
        }
    }

    /// While the cache is over-full the youngest request leaves the batch and is computed again later.
    fn preempt(&mut self) {
        while self.kv_tokens > self.kv_capacity && self.running.len() > 1 {
            let Some(youngest) = self.running.pop() else { return };
            self.kv_tokens -= youngest.tokens();
            self.preemptions += 1;
            self.waiting.push_front(youngest);
        }
    }
}

pub(crate) fn charge_gpu(used: &mut Usage, llm: &Llm, iteration: &Iteration, batch: f64, kv_tokens: f64) {
    let (prefill, decode) = (iteration.prefill_seconds * KERNEL_SHARE, iteration.decode_seconds * KERNEL_SHARE);
    let decode_tensor = DECODE.1 + DECODE_TENSOR_PER_SEQUENCE * batch;
    let weights = llm.weights_gib * 1_073_741_824.0;
    let passes = 1.0 + f64::from(u8::from(iteration.prefilled > 0));
    *used += Usage {
        gpu_busy: prefill + decode,
        sm_active: prefill * PREFILL.0 + decode * DECODE.0,
        tensor_active: prefill * PREFILL.1 + decode * decode_tensor,
        dram_bytes: passes * weights + kv_tokens * llm.kv_bytes_per_token,
        pcie_rx_bytes: f64::from(iteration.prefilled) * TOKEN_BYTES + 65_536.0,
        pcie_tx_bytes: batch * TOKEN_BYTES + 16_384.0,
        net_rx_bytes: f64::from(iteration.prefilled) * TOKEN_BYTES,
        net_tx_bytes: batch * TOKEN_BYTES,
        ..Usage::default()
    };
}
