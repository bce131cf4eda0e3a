//! Plays a scenario with the models alone, for a number of replicas, with its cause or without.

use crate::case::{Case, NEIGHBOUR, Objective, Pod, WORKLOAD};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use wellfed_sim::sim::{Sim, Stage, State};

/// How often the truth is read: the time over which the models average it, seconds.
const LOOK: f64 = 5.0;

/// Moments over which the time of a request is averaged: two minutes.
const RECENT: usize = 24;

/// Requests whose time the objective is about that were answered so far, or got their first token, and the seconds that
/// each took to that, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answered {
    count: f64,
    seconds: f64,
}

impl Answered {
    fn so_far(sim: &Sim, objective: Objective) -> Self {
        match sim.workloads().first().map(|workload| &workload.state) {
            Some(State::Llm(pool)) => pool.engines.values().fold(Self::default(), |all, one| {
                let took = match objective {
                    Objective::Whole => &one.whole,
                    Objective::FirstToken => &one.first_token,
                };
                Self { count: all.count + took.total as f64, seconds: all.seconds + took.sum }
            }),
            Some(State::Service(pool)) => pool.batchers.values().fold(Self::default(), |all, one| Self {
                count: all.count + one.inferences as f64,
                seconds: all.seconds + one.queue_seconds + one.compute_seconds,
            }),
            Some(State::Training(_)) | None => Self::default(),
        }
    }

    /// The mean time of those since `before`; none where there was none.
    fn mean_since(self, before: Self) -> Option<f64> {
        let count = self.count - before.count;
        (count > 0.0).then(|| (self.seconds - before.seconds) / count)
    }
}

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
    /// What language-model servers, and servers that batch, have answered so far, or begun to.
    pub answered: Answered,
    /// Mean time of those of two minutes, or of the last ones before; none before the first.
    pub took: Option<f64>,
}

/// What a run brought, over the time that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Requests or samples finished a second.
    pub throughput: f64,
    /// Mean time that they wait, seconds, by Little's law; where an objective asks for replicas, the mean
    /// time that it is about.
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
        let ends = case.draft.slo.and_then(|_| compared.first().zip(compared.last()));
        let whole = ends.and_then(|(first, last)| last.answered.mean_since(first.answered));
        Self { throughput, waiting: whole.unwrap_or(mean(|moment| moment.waiting) / throughput.max(1e-9)) }
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
    let objective = case.draft.slo.map_or(Objective::Whole, |slo| slo.of);
    let mut moments: Vec<Moment> = Vec::new();
    while sim.now() < f64::from(case.draft.minutes) * 60.0 {
        let pods = case.draft.pods(count, sim.now());
        let replicas = pods.iter().map(|pod| pod.replica.clone()).collect();
        let neighbours = case.draft.neighbours();
        sim.step(&BTreeMap::from([(WORKLOAD.to_owned(), replicas), (NEIGHBOUR.to_owned(), neighbours)]));
        let due = moments.last().map_or(0.0, |last| last.second) + LOOK <= sim.now();
        if due {
            let now = moment(&sim, &pods, objective);
            let before = moments.len().checked_sub(RECENT).map_or(Answered::default(), |at| moments[at].answered);
            let last = moments.last().and_then(|last| last.took);
            moments.push(Moment { took: now.answered.mean_since(before).or(last), ..now });
        }
        onlooker.look(&sim, &pods, moments.last().filter(|_| due));
    }
    Ok(moments)
}

/// What truly stands now.
fn moment(sim: &Sim, pods: &[Pod], objective: Objective) -> Moment {
    let truth = sim.workloads().first().map(wellfed_sim::sim::Running::truth).unwrap_or_default();
    let any = pods.iter().any(|pod| pod.replica.stage == Stage::Ready);
    let running = if any { truth.running } else { 0.0 };
    let answered = Answered::so_far(sim, objective);
    Moment { second: sim.now(), waiting: truth.queue, running, throughput: truth.useful, answered, took: None }
}
