//! A pool of LLM servers that batch continuously, as vLLM does, behind a router.

mod engine;
mod tokens;

use super::{
    Tick,
    even::Even,
    replica::{Replica, Stage, shares, stuck_to},
    source::Arrival,
    usage::Ledger,
};
use crate::scenario::Llm;
pub use engine::Engine;
pub(crate) use engine::{ENGINE_CORES, Iteration, charge_gpu};
use std::collections::{BTreeMap, VecDeque};
pub use tokens::Request;

/// The router and the engines behind it.
#[derive(Debug)]
pub struct LlmPool {
    /// Requests that no Ready replica took yet.
    pub held: VecDeque<Request>,
    /// An engine for each replica that is not Starting, by uid.
    pub engines: BTreeMap<String, Engine>,
    /// Requests answered by replicas that are gone.
    finished_before: u64,
    sticky: Even,
    run_on: Even,
}

impl Default for LlmPool {
    fn default() -> Self {
        let (held, engines) = (VecDeque::new(), BTreeMap::new());
        Self { held, engines, finished_before: 0, sticky: Even::STICKY, run_on: Even::RUN_ON }
    }
}

impl LlmPool {
    /// Runs all engines over `tick`; `ledgers` gets what they used.
    pub fn step(
        &mut self,
        llm: &Llm,
        arrivals: Vec<Arrival>,
        replicas: &[Replica],
        tick: Tick,
        ledgers: &mut BTreeMap<String, Ledger>,
    ) {
        self.follow(replicas, tick.from + llm.warm_up.seconds());
        for arrival in arrivals {
            let request = self.ask(llm, arrival);
            self.held.push_back(request);
        }
        self.route(llm, replicas, tick.from);
        let share = shares(llm.cpu_pool.as_ref(), replicas);
        for replica in replicas {
            let Some(engine) = self.engines.get_mut(&replica.uid) else { continue };
            let ledger = ledgers.entry(replica.uid.clone()).or_default();
            ledger.used += engine.run(llm, replica.cpu_limit, share, tick);
            // vLLM takes a fixed share of the card at its start and keeps it, whatever the load.
            ledger.level.gpu_memory_mib = f64::INFINITY;
            ledger.level.memory_bytes = 9e9;
        }
    }

    /// Requests in the pool that wait or run, with those that no replica took.
    pub fn in_system(&self) -> usize {
        self.held.len() + self.engines.values().map(Engine::load).sum::<usize>()
    }

    /// Requests answered since the start.
    pub fn finished(&self) -> u64 {
        self.finished_before + self.engines.values().map(|engine| engine.finished).sum::<u64>()
    }

    fn ask(&mut self, llm: &Llm, arrival: Arrival) -> Request {
        let request = Request::new(arrival);
        match &llm.max_tokens {
            Some(cap) => request.capped(cap.asked, self.run_on.hit(cap.run_on)),
            None => request,
        }
    }

    /// New replicas get an engine that works from `from` on, gone ones lose theirs; what they had not finished begins again elsewhere.
    fn follow(&mut self, replicas: &[Replica], from: f64) {
        let stages: BTreeMap<&str, Stage> =
            replicas.iter().map(|replica| (replica.uid.as_str(), replica.stage)).collect();
        let mut back = Vec::new();
        self.engines.retain(|uid, engine| match stages.get(uid.as_str()) {
            Some(Stage::Ready) => {
                engine.accepting = true;
                true
            }
            Some(Stage::Draining | Stage::Starting) => {
                engine.accepting = false;
                back.append(&mut engine.give_back_waiting());
                true
            }
            None => {
                back.append(&mut engine.give_back_all());
                self.finished_before += engine.finished;
                false
            }
        });
        back.sort_by(|one, other| other.arrived.total_cmp(&one.arrived));
        for request in back {
            self.held.push_front(request.restarted());
        }
        for replica in replicas.iter().filter(|replica| replica.stage == Stage::Ready) {
            self.engines.entry(replica.uid.clone()).or_insert_with(|| Engine::new(from));
        }
    }

    /// Each request goes to the Ready replica with the fewest; those that stick, to one of theirs.
    fn route(&mut self, llm: &Llm, replicas: &[Replica], now: f64) {
        let own = stuck_to(llm.router.as_ref(), replicas);
        while !self.held.is_empty() {
            let sticks = llm.router.as_ref().is_some_and(|router| self.sticky.hit(router.pinned));
            let open = self
                .engines
                .iter_mut()
                .filter(|(uid, engine)| engine.accepting && (!sticks || own.contains(&uid.as_str())));
            let Some((_, engine)) = open.min_by_key(|(_, engine)| engine.load()) else { return };
            let Some(request) = self.held.pop_front() else { return };
            engine.take(Request { received: request.arrived.max(now), ..request });
        }
    }
}
