//! Arrivals as amounts, step by step.

use super::Work;
use crate::scenario::{Arrivals, Model, ScenarioError, Workload};
use crate::sim::source::{Source, Stretch};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::{f64::consts::TAU, path::Path};

/// Means above this are drawn from the normal distribution, which is as good there.
const MANY: f64 = 50.0;

/// What arrives at one workload. Requests come in Poisson numbers, samples of a training run evenly.
#[derive(Debug)]
pub struct Inflow {
    arrivals: Arrivals,
    even: bool,
    source: Source,
    dice: StdRng,
}

impl Inflow {
    /// The arrivals of `workload`; paths begin at `folder`. Fails if a trace or a series cannot be read.
    pub fn new(workload: &Workload, folder: &Path, seed: u64) -> Result<Self, ScenarioError> {
        let own = match &workload.arrivals {
            Arrivals::Rate(rate) => rate.seed,
            Arrivals::Series(series) => series.seed,
            Arrivals::Trace(_) => 0,
        };
        Ok(Self {
            arrivals: workload.arrivals.clone(),
            even: matches!(workload.model, Model::Training(_)),
            source: Source::new(&workload.arrivals, folder, seed)?,
            dice: StdRng::seed_from_u64(seed ^ own.rotate_left(32)),
        })
    }

    /// Takes over arrivals that changed. Nothing changes on an error.
    pub fn adopt(&mut self, workload: &Workload) -> Result<(), ScenarioError> {
        self.source.follow(&workload.arrivals)?;
        self.arrivals = workload.arrivals.clone();
        Ok(())
    }

    /// What arrives in the `length` seconds that start `begun` seconds after the scenario began. A trace goes on from
    /// the end of the last call.
    pub fn next(&mut self, begun: f64, length: f64) -> Work {
        let stretch = Stretch { from: begun, length, begun };
        let (prompt, output) = match &self.arrivals {
            Arrivals::Trace(_) => return self.replayed(stretch),
            Arrivals::Rate(rate) => (rate.prompt_tokens, rate.output_tokens),
            Arrivals::Series(series) => (series.prompt_tokens, series.output_tokens),
        };
        let expected = self.source.expected(&self.arrivals, stretch);
        let amount = if self.even { expected } else { poisson(&mut self.dice, expected) };
        Work { amount, prompt_tokens: f64::from(prompt), output_tokens: f64::from(output) }
    }

    fn replayed(&mut self, stretch: Stretch) -> Work {
        let requests = self.source.requests(&self.arrivals, stretch);
        let amount = requests.len() as f64;
        let mean = |tokens: u64| tokens as f64 / amount.max(1.0);
        Work {
            amount,
            prompt_tokens: mean(requests.iter().map(|request| u64::from(request.prompt)).sum()),
            output_tokens: mean(requests.iter().map(|request| u64::from(request.output)).sum()),
        }
    }
}

fn poisson(dice: &mut StdRng, mean: f64) -> f64 {
    if mean > MANY {
        let (radius, angle) = (exponential(dice) * 2.0, dice.random::<f64>() * TAU);
        return (mean + (mean * radius).sqrt() * angle.cos()).round().max(0.0);
    }
    let (mut count, mut passed) = (0.0, exponential(dice));
    while passed < mean {
        count += 1.0;
        passed += exponential(dice);
    }
    count
}

fn exponential(dice: &mut StdRng) -> f64 {
    -(1.0 - dice.random::<f64>()).ln()
}
