//! A request on its way through a server, and the CPU stage that turns its text into tokens.

use crate::{
    scenario::Tokenizer,
    sim::{Tick, source::Arrival},
};
use std::collections::VecDeque;

/// A request on its way through a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// When the router got it, seconds.
    pub arrived: f64,
    /// When the server got it: later than `arrived` if no replica was Ready.
    pub received: f64,
    /// When the engine got it, tokenised.
    pub queued: f64,
    /// Whether the engine has scheduled it once.
    pub scheduled: bool,
    /// Tokens of the prompt.
    pub prompt: u32,
    /// Tokens to generate.
    pub output: u32,
    /// Tokens generated so far.
    pub generated: u32,
    /// The cap on the answer that the request asked for.
    pub cap: Option<u32>,
}

impl Request {
    /// A request that has just arrived.
    pub fn new(arrival: Arrival) -> Self {
        Self {
            arrived: arrival.at,
            received: arrival.at,
            queued: arrival.at,
            scheduled: false,
            prompt: arrival.prompt.max(1),
            output: arrival.output.max(1),
            generated: 0,
            cap: None,
        }
    }

    /// The same request with a cap on its answer, and whether the answer runs on until it is stopped.
    #[must_use]
    pub fn capped(self, cap: u32, runs_on: bool) -> Self {
        Self { output: if runs_on { cap } else { self.output.min(cap) }, cap: Some(cap), ..self }
    }

    /// Whether its answer ends at the cap.
    pub fn cut(&self) -> bool {
        self.cap == Some(self.output)
    }

    /// The same request, with all work on it lost.
    #[must_use]
    pub fn restarted(self) -> Self {
        Self { scheduled: false, generated: 0, ..self }
    }

    /// Tokens it holds in the KV cache.
    pub fn tokens(&self) -> u32 {
        self.prompt + self.generated
    }
}

/// The CPU stage of one replica: a few threads, first come first served.
#[derive(Debug, Default)]
pub struct Tokenizing {
    queue: VecDeque<Request>,
    /// Requests with the moment at which they are done, in order of time.
    done: VecDeque<(f64, Request)>,
    free_at: Vec<f64>,
}

impl Tokenizing {
    /// Requests inside.
    pub fn len(&self) -> usize {
        self.queue.len() + self.done.len()
    }

    /// Takes a request.
    pub fn take(&mut self, request: Request) {
        self.queue.push_back(request);
    }

    /// Everything inside, given back.
    pub fn give_back(&mut self) -> Vec<Request> {
        self.queue.drain(..).chain(self.done.drain(..).map(|(_, request)| request)).collect()
    }

    /// Starts every request that gets a thread within `tick`; `spare` is what the CPU limit leaves, in cores.
    /// Returns how many threads wanted a core, on the average.
    pub fn run(&mut self, stage: &Tokenizer, spare: Option<f64>, tick: Tick) -> f64 {
        let cores = spare.map_or(stage.cores, |spare| stage.cores.min(spare.max(0.05)));
        let threads = stage.cores.ceil().max(1.0);
        let seconds = stage.ms_per_request / 1000.0;
        let took = seconds * (threads / cores).max(1.0);
        self.free_at.resize(threads as usize, tick.from);
        let mut begun = 0.0;
        let waiting = self.len() as f64;
        while let Some(request) = self.queue.front() {
            let Some(thread) = self.free_at.iter_mut().min_by(|one, other| one.total_cmp(other)) else { break };
            let start = thread.max(request.received);
            if start >= tick.until {
                break;
            }
            *thread = start + took;
            begun += seconds;
            let end = *thread;
            if let Some(request) = self.queue.pop_front() {
                let place = self.done.partition_point(|(other, _)| *other <= end);
                self.done.insert(place, (end, request));
            }
        }
        if took > tick.length() || !self.queue.is_empty() { waiting.min(threads) } else { begun / tick.length() }
    }

    /// When the next request is done.
    pub fn next_done(&self) -> Option<f64> {
        self.done.front().map(|(at, _)| *at)
    }

    /// The next request that is done by `now`.
    pub fn pop_done(&mut self, now: f64) -> Option<Request> {
        let (at, request) = self.done.pop_front_if(|(at, _)| *at <= now)?;
        Some(Request { queued: at, ..request })
    }
}
