//! One signal's proposal: HPA's formulas, tolerance and rules for missing and unready pods.

use crate::policy::{Behavior, Target};
use crate::reading::{Oddity, ReadFailure, Reading, Trouble};
use crate::units::{PodName, Replicas};
use crate::world::{PodState, SignalValue, Workload};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;

/// What one signal asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Proposal {
    /// A number.
    Number {
        /// The replicas it asks for.
        replicas: Replicas,
        /// What the windows store of it: what the replicas that show a value ask for, however many others start.
        raw: Replicas,
        /// Its value: for a value a pod, the sum.
        value: f64,
        /// Its target.
        target: f64,
        /// Ready replicas without a believable value.
        gaps: Gaps,
    },
    /// Nothing usable.
    Trouble(Trouble),
}

/// A replica that is Ready for less long may not have been scraped yet: the default of Prometheus' `scrape_interval`.
pub const FIRST_SAMPLE: SignedDuration = SignedDuration::from_secs(60);

/// Ready replicas without a believable value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// That should have one.
    pub missing: u32,
    /// Too new to have one.
    pub new: u32,
    /// All Ready replicas.
    pub of: u32,
}

/// What `value` asks for, `current` replicas being asked for now.
pub fn propose(target: Target, value: &SignalValue, workload: &Workload, now: Timestamp) -> Proposal {
    if !(target.number() > 0.0 && target.number().is_finite()) {
        return Proposal::Trouble(Trouble::Implausible(Oddity::NotANumber));
    }
    match value {
        SignalValue::External(reading) => match reading.believed() {
            Ok(value) => external(target, value, workload),
            Err(trouble) => Proposal::Trouble(trouble),
        },
        SignalValue::Pods(rows) => of_pods(target.number(), rows, workload, now),
        SignalValue::PodsUnread(reading) => {
            Proposal::Trouble(reading.trouble().unwrap_or(Trouble::Failed(ReadFailure::NotAVector)))
        }
    }
}

fn external(target: Target, value: f64, workload: &Workload) -> Proposal {
    let current = workload.current();
    let tolerated = |ratio| tolerated(ratio, &workload.policy.behavior);
    let replicas = match target {
        Target::Replicas => ceiling(value),
        // An objective is no formula: `slo` asks for it.
        Target::Slo(_) => current,
        Target::AverageValue(each) if tolerated(value / (each * f64::from(current.0))) => current,
        Target::AverageValue(each) => ceiling(value / each),
        Target::Value(aim) if current == Replicas::ZERO => ceiling(value / aim),
        Target::Value(aim) if tolerated(value / aim) => current,
        // HPA multiplies by the Ready replicas; with none it would answer a total outage by shrinking to the minimum.
        Target::Value(_) if workload.ready() == Replicas::ZERO => current,
        Target::Value(aim) => ceiling(value * f64::from(workload.ready().0) / aim),
    };
    Proposal::Number { replicas, raw: replicas, value, target: target.number(), gaps: Gaps::default() }
}

/// How HPA sees the pods of a Pods metric.
#[derive(Default)]
struct Groups {
    /// The sum over Ready pods with a believable value, and how many they are.
    sum: f64,
    known: u32,
    /// Ready, without a believable value.
    missing: u32,
    /// Ready too lately to have one: set aside like those that are not Ready.
    new: u32,
    /// Live, but not Ready: they count as nothing when growing, and not at all when shrinking. HPA does so for CPU; for
    /// other metrics it adds what a running pod reports before it is Ready, which makes crash loops grow.
    unready: u32,
    trouble: Option<Trouble>,
}

type Samples = BTreeMap<PodName, Reading<f64>>;

fn of_pods(target: f64, rows: &Samples, workload: &Workload, now: Timestamp) -> Proposal {
    let groups = grouped(rows, workload, now);
    if groups.known == 0 {
        return Proposal::Trouble(groups.trouble.unwrap_or(Trouble::Missing));
    }
    let behavior = &workload.policy.behavior;
    let replicas = from_groups(&groups, target, workload.current(), behavior);
    let raw = groups.alone(target, replicas, behavior);
    let Groups { sum: value, known, missing, new, .. } = groups;
    Proposal::Number { replicas, raw, value, target, gaps: Gaps { missing, new, of: known + missing + new } }
}

fn grouped(rows: &Samples, workload: &Workload, now: Timestamp) -> Groups {
    let mut groups = Groups::default();
    let mut rows = Rows::of(rows);
    for pod in workload.pods().filter(|pod| pod.is_live()) {
        let PodState::Ready { since } = pod.state else {
            groups.unready += 1;
            continue;
        };
        match rows.find(&pod.name).unwrap_or(&Reading::Missing).believed() {
            Ok(value) => {
                groups.sum += value;
                groups.known += 1;
            }
            Err(Trouble::Missing) if now.duration_since(since) < FIRST_SAMPLE => groups.new += 1,
            Err(trouble) => {
                groups.missing += 1;
                groups.trouble = groups.trouble.or(Some(trouble));
            }
        }
    }
    groups
}

/// Rows, found without a search where pods come in the order of their names.
struct Rows<'a> {
    all: &'a Samples,
    ahead: btree_map::Range<'a, PodName, Reading<f64>>,
}

impl<'a> Rows<'a> {
    fn of(all: &'a Samples) -> Self {
        Self { all, ahead: all.range(..) }
    }

    fn find(&mut self, pod: &PodName) -> Option<&'a Reading<f64>> {
        if let Some((name, reading)) = self.ahead.next()
            && name == pod
        {
            return Some(reading);
        }
        self.ahead = self.all.range((Bound::Included(pod), Bound::Unbounded));
        self.ahead.next().filter(|(name, _)| *name == pod).map(|(_, reading)| reading)
    }
}

impl Groups {
    /// What the known replicas ask for of the number that HPA's rules make of it. Replicas that start damp growth down to
    /// no change, and none of them is measured: noted as if it had been asked for, that number would outlive their start
    /// by a window.
    fn alone(&self, target: f64, asked: Replicas, behavior: &Behavior) -> Replicas {
        if self.unready + self.new == 0 || self.missing > 0 {
            asked
        } else if tolerated(self.sum / (target * f64::from(self.known)), behavior) {
            Replicas(self.known).min(asked)
        } else {
            ceiling(self.sum / target).min(asked)
        }
    }
}

/// Missing pods pull towards no change, unready ones damp growth.
fn from_groups(groups: &Groups, target: f64, current: Replicas, behavior: &Behavior) -> Replicas {
    let ratio = groups.sum / (target * f64::from(groups.known));
    let growing = ratio > 1.0;
    let unready = if growing { groups.unready + groups.new } else { 0 };
    if groups.missing == 0 && unready == 0 {
        return if tolerated(ratio, behavior) { current } else { ceiling(groups.sum / target) };
    }
    let filled = if growing { 0.0 } else { target * f64::from(groups.missing) };
    let all = f64::from(groups.known + groups.missing + unready);
    let refilled = (groups.sum + filled) / (target * all);
    let turned = growing != (refilled > 1.0);
    if tolerated(refilled, behavior) || turned {
        return current;
    }
    let replicas = ceiling((groups.sum + filled) / target);
    let reversed = if growing { replicas < current } else { replicas > current };
    if reversed { current } else { replicas }
}

/// Relative room for the rounding of floats: 1.1 / 0.1 is 11 and not a little more, as in HPA's whole thousandths.
const ROUNDING: f64 = 1e-12;

fn tolerated(ratio: f64, behavior: &Behavior) -> bool {
    let (least, most) = (1.0 - behavior.down.tolerance, 1.0 + behavior.up.tolerance);
    least * (1.0 - ROUNDING) <= ratio && ratio <= most * (1.0 + ROUNDING)
}

/// Rounded up and kept within what a replica count can be.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn ceiling(value: f64) -> Replicas {
    let whole = value.round();
    let value = if (value - whole).abs() <= whole * ROUNDING { whole } else { value.ceil() };
    Replicas(value.clamp(0.0, f64::from(i32::MAX)) as u32)
}
