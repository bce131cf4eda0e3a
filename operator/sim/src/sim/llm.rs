//! A pool of LLM servers that batch continuously, as vLLM does, behind a router.

mod engine;
mod tokens;

use super::{
    Tick,
    replica::{Replica, Stage},
    source::Arrival,
    usage::Ledger,
};
use crate::scenario::Llm;
pub use engine::Engine;
pub(crate) use engine::{ENGINE_CORES, Iteration, charge_cpu, charge_gpu};
use std::collections::{BTreeMap, VecDeque};
pub use tokens::Request;

/// The router and the engines behind it.
#[derive(Debug, Default)]
pub struct LlmPool {
    /// Requests that no Ready replica took yet.
    pub held: VecDeque<Request>,
    /// An engine for each replica that is not Starting, by uid.
    pub engines: BTreeMap<String, Engine>,
    /// Requests answered by replicas that are gone.
    finished_before: u64,
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
        self.follow(replicas, tick.from);
        self.held.extend(arrivals.into_iter().map(Request::new));
        self.route(tick.from);
        for replica in replicas {
            let Some(engine) = self.engines.get_mut(&replica.uid) else { continue };
            let ledger = ledgers.entry(replica.uid.clone()).or_default();
            ledger.used += engine.run(llm, replica.cpu_limit, tick);
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

    /// New replicas get an engine, gone ones lose theirs; what they had not finished begins again elsewhere.
    fn follow(&mut self, replicas: &[Replica], now: f64) {
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
            self.engines.entry(replica.uid.clone()).or_insert_with(|| Engine::new(now));
        }
    }

    /// Each request goes to the Ready replica with the fewest.
    fn route(&mut self, now: f64) {
        while !self.held.is_empty() {
            let emptiest =
                self.engines.values_mut().filter(|engine| engine.accepting).min_by_key(|engine| engine.load());
            let Some(engine) = emptiest else { return };
            let Some(request) = self.held.pop_front() else { return };
            engine.take(Request { received: request.arrived.max(now), ..request });
        }
    }
}
