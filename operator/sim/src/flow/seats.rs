//! What is kept for each replica while replicas come, drain and go.

use crate::sim::{Replica, Stage, Tick};

/// What is kept for one replica.
#[derive(Debug)]
pub(super) struct Seat<T> {
    uid: String,
    pub stage: Stage,
    /// From when on it works, on the models' clock; `None` until it is Ready for the first time.
    pub works_from: Option<f64>,
    pub inside: T,
}

/// A seat for each replica, in the order of the replicas.
#[derive(Debug)]
pub(super) struct Seats<T>(Vec<Seat<T>>);

impl<T> Default for Seats<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Seat<T> {
    /// Seconds of `tick` in which it works; `None` if it never was Ready.
    pub fn works(&self, tick: Tick) -> Option<f64> {
        self.works_from.map(|from| (tick.until - from.max(tick.from)).max(0.0))
    }
}

impl<T: Default> Seats<T> {
    /// One seat for each of `replicas`, in their order; new ones work from `from` on. What sat where no replica is any
    /// more is returned.
    pub fn follow(&mut self, replicas: &[Replica], from: f64) -> Vec<T> {
        let same = self.0.len() == replicas.len()
            && self.0.iter().zip(replicas).all(|(seat, replica)| seat.uid == replica.uid);
        let mut old = if same { Vec::new() } else { std::mem::take(&mut self.0) };
        if !same {
            self.0.extend(replicas.iter().map(|replica| taken(&mut old, replica)));
        }
        for (seat, replica) in self.0.iter_mut().zip(replicas) {
            seat.stage = replica.stage;
            if replica.stage == Stage::Ready {
                seat.works_from.get_or_insert(from);
            }
        }
        old.into_iter().map(|seat| seat.inside).collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Seat<T>> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Seat<T>> {
        self.0.iter_mut()
    }

    /// What sits on the replicas that take work.
    pub fn ready(&self) -> impl Iterator<Item = &T> {
        self.iter().filter(|seat| seat.stage == Stage::Ready).map(|seat| &seat.inside)
    }
}

fn taken<T: Default>(old: &mut Vec<Seat<T>>, replica: &Replica) -> Seat<T> {
    let found = old.iter().position(|seat| seat.uid == replica.uid);
    found.map_or_else(
        || Seat { uid: replica.uid.clone(), stage: replica.stage, works_from: None, inside: T::default() },
        |index| old.remove(index),
    )
}
