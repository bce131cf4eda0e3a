//! Signals of a workload.

use super::NOW;
use crate::policy::{SignalPolicy, Slo, Target};
use crate::reading::Reading;
use crate::units::{PodName, Replicas, SignalName};
use crate::world::{Pod, SignalState, SignalValue};
use jiff::SignedDuration;

/// A signal, and what it says.
#[derive(Clone, Debug)]
pub struct Signal {
    name: SignalName,
    target: Target,
    says: Says,
    failures: u32,
}

#[derive(Clone, Debug)]
enum Says {
    One(Reading<f64>),
    /// In the order of the pods; a pod beyond the last has no row.
    Each(Vec<Reading<f64>>),
    Unread(Reading<f64>),
}

/// One number, of which each replica should bear `target`.
pub fn average(name: &str, number: f64, target: f64) -> Signal {
    Signal::of(name, Target::AverageValue(target), Says::One(known(number)))
}

/// One number that should be `target`.
pub fn value(name: &str, number: f64, target: f64) -> Signal {
    Signal::of(name, Target::Value(target), Says::One(known(number)))
}

/// The number of replicas itself.
pub fn replicas(name: &str, number: f64) -> Signal {
    Signal::of(name, Target::Replicas, Says::One(known(number)))
}

/// A latency of `number` with an objective of `most`, two minutes of patience and a step of one.
pub fn latency(name: &str, number: f64, most: f64) -> Signal {
    let slo = Slo { value: most, breach_for: SignedDuration::from_mins(2), step: Replicas(1) };
    Signal::of(name, Target::Slo(slo), Says::One(known(number)))
}

/// One number a pod, in the order of the pods; none means no row.
pub fn each(name: &str, target: f64, rows: &[Option<f64>]) -> Signal {
    let rows = rows.iter().map(|row| row.map_or(Reading::Missing, known)).collect();
    Signal::of(name, Target::AverageValue(target), Says::Each(rows))
}

/// One number that can't be used.
pub fn broken(name: &str, reading: Reading<f64>) -> Signal {
    Signal::of(name, Target::AverageValue(10.0), Says::One(reading))
}

/// One number a pod, and no answer at all.
pub fn unread(name: &str, reading: Reading<f64>) -> Signal {
    Signal::of(name, Target::AverageValue(10.0), Says::Unread(reading))
}

fn known(value: f64) -> Reading<f64> {
    Reading::Known { value, at: NOW }
}

impl Signal {
    fn of(name: &str, target: Target, says: Says) -> Self {
        Self { name: SignalName::from(name), target, says, failures: 0 }
    }

    /// Failed so many times in a row.
    #[must_use]
    pub const fn failed(mut self, times: u32) -> Self {
        self.failures = times;
        self
    }

    pub(super) fn build<'a>(&self, pods: impl Iterator<Item = &'a Pod>) -> (SignalPolicy, SignalState) {
        let value = match &self.says {
            Says::One(reading) => SignalValue::External(*reading),
            Says::Unread(reading) => SignalValue::PodsUnread(*reading),
            Says::Each(rows) => {
                let named = pods.map(|pod| PodName::clone(&pod.name)).zip(rows.iter().copied());
                SignalValue::Pods(named.filter(|(_, reading)| *reading != Reading::Missing).collect())
            }
        };
        let policy = SignalPolicy { name: self.name.clone(), target: self.target };
        (policy, SignalState { value, failures: self.failures })
    }
}
