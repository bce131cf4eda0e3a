//! The causes that lie in GPU memory, and what ends a process again and again.

use super::{
    Span,
    check::{Problem, not_negative, positive},
};
use serde::{Deserialize, Serialize};

/// GPU memory in which a step does not fit as a whole: samples are computed a few at a time, which leaves the card half
/// empty of work, and before each of them the allocator gives memory back and takes it again. Where fewer fit than
/// `microBatch` asks for, the process ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Footprint {
    /// Memory of each GPU that a step may use, MiB.
    pub usable_mib: f64,
    /// Weights, gradients and optimizer state of the whole model, MiB.
    pub state_mib: f64,
    /// Whether the replicas split that state, so that each holds its part; else each holds all of it.
    #[serde(default)]
    pub sharded: bool,
    /// Activations of one sample, MiB.
    pub sample_mib: f64,
    /// Samples that are computed at once; none means as many as fit.
    #[serde(default)]
    pub micro_batch: Option<f64>,
    /// Samples at once from which on kernels fill the card.
    pub full_samples: f64,
    /// Time before each of them in which the allocator works and no kernel runs, seconds.
    #[serde(default)]
    pub stall_seconds: f64,
    /// Time after the process started at which it needs the most.
    #[serde(default)]
    pub reached: Span,
}

/// A process that ends so long after each start. What it learned since its last checkpoint is lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Crash {
    /// How long it runs.
    pub after: Span,
    /// What ends it.
    #[serde(default)]
    pub of: End,
}

/// What ended a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Its GPU's memory did not suffice.
    GpuMemory,
    /// The kernel killed it for its host memory.
    HostMemory,
    /// Any other failure.
    #[default]
    Failed,
}

impl Footprint {
    /// Samples of `samples` that each of `count` replicas computes at once; none where they do not fit.
    pub fn at_once(&self, samples: f64, count: f64) -> Option<f64> {
        let fit = ((self.usable_mib - self.held(count)) / self.sample_mib).floor();
        let wanted = self.micro_batch.map_or(fit, |batch| batch.min(samples).max(1.0));
        (wanted >= 1.0 && wanted <= fit).then(|| wanted.min(samples).max(1.0))
    }

    /// Memory in use on each GPU of `count` replicas that compute `at_once` samples at once, MiB. An allocator that works
    /// before each of them has taken all that there is: it gives nothing back unless it must.
    pub fn used(&self, at_once: f64, count: f64) -> f64 {
        let needed = (self.held(count) + at_once * self.sample_mib).min(self.usable_mib);
        if self.stall_seconds > 0.0 { self.usable_mib } else { needed }
    }

    fn held(&self, count: f64) -> f64 {
        if self.sharded { self.state_mib / count } else { self.state_mib }
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        positive("usableMib", self.usable_mib)?;
        positive("stateMib", self.state_mib)?;
        positive("sampleMib", self.sample_mib)?;
        self.micro_batch.map_or(Ok(()), |batch| positive("microBatch", batch))?;
        positive("fullSamples", self.full_samples)?;
        not_negative("stallSeconds", self.stall_seconds)
    }
}

impl Crash {
    pub(super) fn check(self) -> Result<(), Problem> {
        positive("after", self.after.seconds())
    }
}
