//! A latency objective: exceeded for long enough it asks for more than what runs, met it asks for nothing.

use crate::memory::Moment;
use crate::policy::{Slo, Target};
use crate::reading::{ReadFailure, Trouble};
use crate::units::{Replicas, SignalName};
use crate::world::{SignalValue, Workload};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// What an objective makes of its signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SloSays {
    /// Met, or not exceeded for long enough: asks for nothing.
    Nothing,
    /// Exceeded for long enough: asks for this many.
    More {
        /// The replicas it asks for.
        replicas: Replicas,
        /// The latency.
        value: f64,
    },
    /// Nothing usable.
    Trouble(Trouble),
}

/// What `slo` asks for, having been exceeded `since` then without a pause.
pub fn slo(slo: Slo, value: &SignalValue, since: Option<Moment>, workload: &Workload, now: Timestamp) -> SloSays {
    let latency = match latency(value) {
        Ok(latency) => latency,
        Err(trouble) => return SloSays::Trouble(trouble),
    };
    let long_enough = since.is_some_and(|since| now >= since.plus(slo.breach_for));
    if latency <= slo.value || !long_enough {
        return SloSays::Nothing;
    }
    SloSays::More { replicas: workload.current().plus(slo.step), value: latency }
}

/// The objectives that are exceeded now, and since when. While replicas are on their way no time counts: they must have had
/// their effect before more is asked for. A few that are made anew, and what is late, are no reason to wait.
pub fn breached(workload: &Workload, now: Timestamp) -> BTreeMap<SignalName, Moment> {
    let policies = workload.policy.signals.iter().zip(&workload.signals);
    let exceeded = policies.filter_map(|(signal, state)| match signal.target {
        Target::Slo(slo) => (latency(&state.value).ok()? > slo.value).then_some(&signal.name),
        Target::AverageValue(_) | Target::Value(_) | Target::Replicas => None,
    });
    let since = |name: &SignalName| workload.memory.breached.get(name).copied().unwrap_or(Moment::of(now));
    exceeded.filter(|_| !workload.awaits_replicas(now)).map(|name| (name.clone(), since(name))).collect()
}

fn latency(value: &SignalValue) -> Result<f64, Trouble> {
    match value {
        SignalValue::External(reading) => reading.believed(),
        SignalValue::Pods(_) => Err(Trouble::Failed(ReadFailure::NotAVector)),
        SignalValue::PodsUnread(reading) => Err(reading.trouble().unwrap_or(Trouble::Failed(ReadFailure::NotAVector))),
    }
}
