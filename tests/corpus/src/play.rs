//! Plays a scenario with the models alone, for a number of replicas, with its cause or without.

use crate::case::{Case, NEIGHBOUR, Pod, WORKLOAD};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use wellfed_sim::sim::{Sim, Stage};

/// How often the truth is read: the time over which the models average it, seconds.
const LOOK: f64 = 5.0;

/// Moments over which the time of a request is averaged: two minutes.
const RECENT: usize = 24;

/// Which of the runs that a label compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As it is.
    AsIs,
    /// With one replica more.
    OneMore,
    /// With its cause mended.
    Mended,
}

/// What truly stood at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Seconds since the start.
    pub second: f64,
    /// Requests or samples that wait.
    pub waiting: f64,
    /// Requests in service.
    pub running: f64,
    /// Requests or samples finished a second that brought something: one that is learned for nothing does not.
    pub throughput: f64,
    /// Seconds that a request is in the system, by Little's law over two minutes; none where none was finished.
    pub whole: Option<f64>,
}

/// What a run brought, over the time that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Requests or samples finished a second.
    pub throughput: f64,
    /// Mean time that they wait, seconds, by Little's law; where an objective asks for replicas, that they are in the system.
    pub waiting: f64,
}

impl Outcome {
    /// Of the moments of `case` since `from`.
    pub fn since(case: &Case, from: f64, moments: &[Moment]) -> Self {
        let compared: Vec<&Moment> = moments.iter().filter(|moment| moment.second > from + LOOK).collect();
        let mean = |value: fn(&Moment) -> f64| {
            compared.iter().map(|moment| value(moment)).sum::<f64>() / compared.len().max(1) as f64
        };
        let throughput = mean(|moment| moment.throughput).max(0.0);
        let inside = if case.draft.slo.is_some() { mean(|moment| moment.running) } else { 0.0 };
        Self { throughput, waiting: (mean(|moment| moment.waiting) + inside) / throughput.max(1e-9) }
    }
}

/// Somebody who looks on: after each step, with the pods that played it.
pub trait Onlooker {
    /// One step was played; `moment` is what stands now, every five seconds.
    fn look(&mut self, sim: &Sim, pods: &[Pod], moment: Option<&Moment>);
}

/// Nobody looks.
impl Onlooker for () {
    fn look(&mut self, _: &Sim, _: &[Pod], _: Option<&Moment>) {}
}

/// Plays `variant` of `case` to its end.
pub fn play(case: &Case, variant: Variant, onlooker: &mut impl Onlooker) -> Result<Vec<Moment>> {
    let mut sim = Sim::new(&case.world).with_context(|| case.name.clone())?;
    if variant == Variant::Mended {
        for (path, value) in &case.draft.mend {
            sim.set(WORKLOAD, path, value).with_context(|| case.name.clone())?;
        }
    }
    let count = case.draft.replicas + u32::from(variant == Variant::OneMore);
    let mut moments: Vec<Moment> = Vec::new();
    while sim.now() < f64::from(case.draft.minutes) * 60.0 {
        let pods = case.draft.pods(count, sim.now());
        let replicas = pods.iter().map(|pod| pod.replica.clone()).collect();
        let neighbours = case.draft.neighbours();
        sim.step(&BTreeMap::from([(WORKLOAD.to_owned(), replicas), (NEIGHBOUR.to_owned(), neighbours)]));
        let due = moments.last().map_or(0.0, |last| last.second) + LOOK <= sim.now();
        if due {
            let now = moment(&sim, &pods);
            let whole = whole(moments.iter().rev().take(RECENT - 1).chain([&now]));
            moments.push(Moment { whole, ..now });
        }
        onlooker.look(&sim, &pods, moments.last().filter(|_| due));
    }
    Ok(moments)
}

/// Seconds that a request is in the system, by Little's law.
fn whole<'a>(recent: impl Iterator<Item = &'a Moment>) -> Option<f64> {
    let add = |(inside, done): (f64, f64), one: &Moment| (inside + one.waiting + one.running, done + one.throughput);
    let (inside, done) = recent.fold((0.0, 0.0), add);
    (done > 0.0).then(|| inside / done)
}

/// What truly stands now.
fn moment(sim: &Sim, pods: &[Pod]) -> Moment {
    let truth = sim.workloads().first().map(wellfed_sim::sim::Running::truth).unwrap_or_default();
    let any = pods.iter().any(|pod| pod.replica.stage == Stage::Ready);
    let running = if any { truth.running } else { 0.0 };
    Moment { second: sim.now(), waiting: truth.queue, running, throughput: truth.useful, whole: None }
}
