//! LLM servers behind a router, as a fluid.

use super::{
    Work,
    busy::busy,
    engine::{Engine, Lengths, most_in_batch},
    seats::Seats,
};
use crate::scenario::Llm;
use crate::sim::{Ledger, Replica, Stage};
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
    /// Plays `seconds`; returns how many requests were finished.
    pub fn step(
        &mut self,
        llm: &Llm,
        arrived: Work,
        replicas: &[Replica],
        seconds: f64,
        ledgers: &mut BTreeMap<String, Ledger>,
    ) -> f64 {
        self.follow(llm, replicas);
        self.lengths = self.lengths.mixed(self.held + self.in_seats(), arrived);
        self.held += arrived.amount;
        let level = self.level();
        self.held = level.map_or(self.held, |_| 0.0);
        let mut finished = 0.0;
        for (seat, replica) in self.seats.iter_mut().zip(replicas) {
            let taken = level.filter(|_| seat.stage == Stage::Ready);
            let new = taken.map_or(0.0, |level| (level - seat.inside.load()).max(0.0));
            finished += seat.inside.run(llm, self.lengths, new, replica.cpu_limit, seconds);
            self.cpu_limit = replica.cpu_limit;
        }
        self.charge(llm, replicas, seconds, ledgers);
        finished
    }

    fn charge(&self, llm: &Llm, replicas: &[Replica], seconds: f64, ledgers: &mut BTreeMap<String, Ledger>) {
        let (most, servers) = (most_in_batch(llm, self.lengths), self.seats.ready().count() as u32);
        // Level servers share one answer.
        let mut known = (f64::INFINITY, 1.0);
        for (seat, replica) in self.seats.iter().zip(replicas).filter(|(seat, _)| seat.opened) {
            let batch = seat.inside.batch();
            if (known.0 - batch).abs() > 1e-9 {
                known = (batch, busy(servers, batch, most));
            }
            let ledger = ledgers.entry(replica.uid.clone()).or_default();
            ledger.used += seat.inside.used(llm, self.lengths, known.1, replica.cpu_limit, seconds);
            // As in the request-level model: a fixed share of the card, whatever the load.
            ledger.level.gpu_memory_mib = f64::INFINITY;
            ledger.level.memory_bytes = 9e9;
        }
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
    fn follow(&mut self, llm: &Llm, replicas: &[Replica]) {
        self.held += self.seats.follow(replicas).iter().map(Engine::load).sum::<f64>();
        for seat in self.seats.iter_mut().filter(|seat| seat.stage != Stage::Ready) {
            self.held += seat.inside.give_back_waiting(llm, self.lengths);
        }
    }

    /// The load up to which every Ready server is filled, so that all that is held finds a place: each request goes
    /// to the emptiest. `None` if no server takes work.
    fn level(&self) -> Option<f64> {
        let mut loads: Vec<f64> = self.seats.ready().map(Engine::load).collect();
        loads.sort_by(f64::total_cmp);
        let mut filled = self.held;
        for (index, load) in loads.iter().enumerate() {
            filled += load;
            let level = filled / (index + 1) as f64;
            if loads.get(index + 1).is_none_or(|next| level <= *next) {
                return Some(level);
            }
        }
        None
    }
}
