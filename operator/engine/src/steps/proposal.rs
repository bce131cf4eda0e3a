//! One signal's proposal: HPA's formulas, tolerance and rules for missing pods.

use crate::policy::{Behavior, Target};
use crate::reading::{ReadFailure, Reading, Trouble};
use crate::units::{PodName, Replicas};
use crate::world::{PodState, SignalValue, Workload};
use std::collections::BTreeMap;

/// What one signal asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Proposal {
    /// A number.
    Number {
        /// The replicas it asks for.
        replicas: Replicas,
        /// Its value: for a value a pod, the sum.
        value: f64,
        /// Its target.
        target: f64,
        /// Ready replicas without a believable value, out of all Ready replicas.
        missing: (u32, u32),
    },
    /// Nothing usable.
    Trouble(Trouble),
}

/// What `value` asks for, `current` replicas being asked for now.
pub fn propose(target: Target, value: &SignalValue, workload: &Workload) -> Proposal {
    let current = workload.current();
    let behavior = &workload.policy.behavior;
    match value {
        SignalValue::External(reading) | SignalValue::PodsUnread(reading) => match reading.known() {
            Some(value) => external(target, value, current, ready_count(workload), behavior),
            None => Proposal::Trouble(trouble(reading)),
        },
        SignalValue::Pods(rows) => of_pods(target.number(), rows, workload),
    }
}

fn trouble(reading: &Reading<f64>) -> Trouble {
    reading.trouble().unwrap_or(Trouble::Failed(ReadFailure::NotAVector))
}

fn external(target: Target, value: f64, current: Replicas, ready: u32, behavior: &Behavior) -> Proposal {
    let replicas = match target {
        Target::Replicas => Replicas(ceiling(value)),
        Target::AverageValue(each) if current > Replicas::ZERO && tolerated(value / (each * f64::from(current.0)), behavior) => current,
        Target::AverageValue(each) => Replicas(ceiling(exact_ratio(value, each))),
        Target::Value(aim) if current == Replicas::ZERO => Replicas(ceiling(exact_ratio(value, aim))),
        Target::Value(aim) if tolerated(value / aim, behavior) => current,
        Target::Value(aim) => Replicas(ceiling(exact_ratio(value * f64::from(ready), aim))),
    };
    Proposal::Number { replicas, value, target: target.number(), missing: (0, 0) }
}

/// How HPA sees the pods of a Pods metric.
#[derive(Default)]
struct Groups {
    known: Vec<f64>,
    /// Live, but not started: they count as nothing when growing.
    unready: usize,
    /// Started, without a believable value.
    missing: usize,
    ready_missing: u32,
    ready: u32,
    trouble: Option<Trouble>,
}

fn of_pods(target: f64, rows: &BTreeMap<PodName, Reading<f64>>, workload: &Workload) -> Proposal {
    let groups = grouped(rows, workload);
    if groups.known.is_empty() {
        return Proposal::Trouble(groups.trouble.unwrap_or(Trouble::Missing));
    }
    let replicas = from_groups(&groups, target, workload.current(), &workload.policy.behavior);
    let sum = groups.known.iter().sum();
    Proposal::Number { replicas, value: sum, target, missing: (groups.ready_missing, groups.ready) }
}

fn grouped(rows: &BTreeMap<PodName, Reading<f64>>, workload: &Workload) -> Groups {
    let mut groups = Groups::default();
    for pod in workload.pods() {
        let reading = rows.get(&pod.name).copied().unwrap_or(Reading::Missing);
        match (pod.state, reading.known()) {
            (PodState::Ended, _) => continue,
            (PodState::Pending { .. }, _) => groups.unready += 1,
            (_, Some(value)) => groups.known.push(value),
            (_, None) => {
                groups.missing += 1;
                groups.trouble = groups.trouble.or(reading.trouble());
            }
        }
        if pod.is_ready() {
            groups.ready += 1;
            groups.ready_missing += u32::from(reading.known().is_none());
        }
    }
    groups
}

/// HPA's `calcPlainMetricReplicas`: missing pods pull towards no change, unstarted ones only damp growth.
fn from_groups(groups: &Groups, target: f64, current: Replicas, behavior: &Behavior) -> Replicas {
    let sum: f64 = groups.known.iter().sum();
    let count = groups.known.len();
    let ratio = sum / (target * count as f64);
    let damped_by_unready = groups.unready > 0 && ratio > 1.0;
    if groups.missing == 0 && !damped_by_unready {
        let unchanged = tolerated(ratio, behavior);
        return if unchanged { current } else { Replicas(ceiling(exact_ratio(sum, target))) };
    }
    let filled = if ratio < 1.0 { target * groups.missing as f64 } else { 0.0 };
    let unready = if damped_by_unready { groups.unready } else { 0 };
    let all = count + groups.missing + unready;
    let refilled = (sum + filled) / (target * all as f64);
    let turned = (ratio < 1.0 && refilled > 1.0) || (ratio > 1.0 && refilled < 1.0);
    if tolerated(refilled, behavior) || turned {
        return current;
    }
    let replicas = Replicas(ceiling(exact_ratio(sum + filled, target)));
    let reversed = (refilled < 1.0 && replicas > current) || (refilled > 1.0 && replicas < current);
    if reversed { current } else { replicas }
}

fn tolerated(ratio: f64, behavior: &Behavior) -> bool {
    1.0 - behavior.down.tolerance <= ratio && ratio <= 1.0 + behavior.up.tolerance
}

fn ready_count(workload: &Workload) -> u32 {
    u32::try_from(workload.pods().filter(|pod| pod.is_ready()).count()).unwrap_or(u32::MAX)
}

/// HPA counts in thousandths, so 1.1 / 0.1 is 11 and not a little more.
fn exact_ratio(value: f64, by: f64) -> f64 {
    (value * 1000.0).round() / (by * 1000.0).round()
}

/// Rounded up and kept within what a replica count can be.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn ceiling(value: f64) -> u32 {
    value.ceil().clamp(0.0, f64::from(i32::MAX)) as u32
}
