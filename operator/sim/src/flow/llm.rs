//! LLM servers behind a router, as a fluid.

use super::{
    Work,
    engine::{Asked, Engine, Step},
    lengths::Lengths,
    seats::Seats,
    spread::spread,
};
use crate::scenario::Llm;
use crate::sim::{Ledger, Replica, Stage, Tick, Usage};
use std::collections::BTreeMap;

/// The router and the servers behind it.
#[derive(Debug, Default)]
pub(super) struct LlmFlow {
    /// Requests that no Ready replica took yet.
    held: f64,
    seats: Seats<Engine>,
    lengths: Lengths,
    /// CPU limit of the replicas at the last step.
    cpu_limit: Option<f64>,
}

impl LlmFlow {
    /// Plays `tick`; returns how many requests were finished.
    pub fn step(
        &mut self,
        llm: &Llm,
        arrived: Work,
        replicas: &[Replica],
        tick: Tick,
        ledgers: &mut BTreeMap<String, Ledger>,
    ) -> f64 {
        self.follow(llm, replicas, tick.from + llm.warm_up.seconds());
        let arriving = Lengths::from(arrived).capped(llm.max_tokens.as_ref());
        self.lengths = self.lengths.mixed(self.held + self.in_seats(), arriving, arrived.amount);
        self.held += arrived.amount;
        let mut new = self.route(llm).into_iter();
        let step =
            Step { llm, lengths: self.lengths, servers: self.seats.ready().count() as u32, seconds: tick.length() };
        let (mut finished, mut last) = (0.0, None);
        for (seat, replica) in self.seats.iter_mut().zip(replicas) {
            let new = if seat.stage == Stage::Ready { new.next().unwrap_or_default() } else { 0.0 };
            let Some(works) = seat.works(tick) else { continue };
            let asked = Asked { engine: seat.inside, new, cpu_limit: replica.cpu_limit, works };
            let done = match last {
                // Level servers share one answer.
                Some((other, done)) if asked.same(&other) => done,
                _ => step.run(asked),
            };
            last = Some((asked, done));
            seat.inside = done.engine;
            finished += done.finished;
            charge(ledgers.entry(replica.uid.clone()).or_default(), done.used);
            self.cpu_limit = replica.cpu_limit;
        }
        finished
    }

    pub fn queue(&self) -> f64 {
        self.held + self.seats.iter().map(|seat| seat.inside.load() - seat.inside.batch()).sum::<f64>()
    }

    pub fn running(&self) -> f64 {
        self.seats.iter().map(|seat| seat.inside.batch()).sum()
    }

    /// The router sends the next request to the emptiest server.
    pub fn latency(&self, llm: &Llm) -> Option<f64> {
        let emptiest = self.seats.ready().min_by(|one, other| one.load().total_cmp(&other.load()))?;
        Some(emptiest.first_token(llm, self.lengths, self.cpu_limit))
    }

    fn in_seats(&self) -> f64 {
        self.seats.iter().map(|seat| seat.inside.load()).sum()
    }

    /// What a replica that is gone had begins again elsewhere; what one that drains has not begun goes elsewhere too.
    fn follow(&mut self, llm: &Llm, replicas: &[Replica], from: f64) {
        self.held += self.seats.follow(replicas, from).iter().map(Engine::load).sum::<f64>();
        for seat in self.seats.iter_mut().filter(|seat| seat.stage != Stage::Ready) {
            self.held += seat.inside.give_back_waiting(llm, self.lengths);
        }
    }

    /// What each Ready server gets of all that is held; without one it stays held.
    fn route(&mut self, llm: &Llm) -> Vec<f64> {
        let loads: Vec<f64> = self.seats.ready().map(Engine::load).collect();
        let all = if loads.is_empty() { 0.0 } else { std::mem::take(&mut self.held) };
        spread(all, &loads, llm.router.as_ref())
    }
}

fn charge(ledger: &mut Ledger, used: Usage) {
    ledger.used += used;
    // As in the request-level model: a fixed share of the card, whatever the load.
    ledger.level.gpu_memory_mib = f64::INFINITY;
    ledger.level.memory_bytes = 9e9;
}
