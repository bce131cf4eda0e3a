//! Marginal gain: whether replicas that were added brought what they should, and a ceiling for a while if they did not.

use super::waits::Waiting;
use super::{GateMemory, Waits};
use crate::facts::Checked;
use crate::figures::{Throughput, WorkUnit};
use crate::memory::Moment;
use crate::opinion::{Lean, Opinion};
use crate::policy::{Class, GatePolicy};
use crate::rules::RuleName;
use crate::units::Replicas;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Growth whose gain is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// When it was written.
    pub at: Moment,
    /// Replicas before.
    pub from: Replicas,
    /// Replicas since.
    pub to: Replicas,
    /// Work done before.
    pub before: Throughput,
    /// How long work waited before.
    #[serde(default)]
    pub waits: Waits,
    /// Since when all replicas are there and warm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<Moment>,
}

/// Replicas were added for nothing: no more than this for a while. It limits growth only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Since when.
    pub at: Moment,
    /// Growth ends here.
    pub replicas: Replicas,
    /// What was found.
    pub gain: Gain,
}

/// What growth brought; written as a short list, since it is kept in status.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct Gain {
    /// Replicas before.
    pub from: Replicas,
    /// Replicas after.
    pub to: Replicas,
    /// Work done a second before, by all replicas.
    pub before: f64,
    /// Work done a second after.
    pub after: f64,
    /// Of what.
    pub unit: WorkUnit,
    /// Where to look, in this order: data, communication, CPU.
    pub checks: [Check; 3],
}

type Listed = (Replicas, Replicas, f64, f64, WorkUnit, [Check; 3]);

impl From<Listed> for Gain {
    fn from((from, to, before, after, unit, checks): Listed) -> Self {
        Self { from, to, before, after, unit, checks }
    }
}

impl From<Gain> for Listed {
    fn from(gain: Gain) -> Self {
        (gain.from, gain.to, gain.before, gain.after, gain.unit, gain.checks)
    }
}

/// One point of the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Check {
    /// Measured, and no rule fires.
    Passed,
    /// A rule fires.
    Failed,
    /// Not measured.
    Unknown,
}

/// The points of the checklist, in order, each with the rules that fail it.
pub const CHECKLIST: [(&str, &[RuleName]); 3] = [
    ("data", &[RuleName::DataLoader, RuleName::HostDeviceTransfer, RuleName::StorageStall]),
    ("communication", &[RuleName::CommunicationBound, RuleName::Imbalance, RuleName::Straggler]),
    ("CPU", &[RuleName::CpuStage, RuleName::DataLoader, RuleName::LaunchBound]),
];

fn checklist(opinion: &Opinion) -> [Check; 3] {
    let Checked { data, communication, cpu } = opinion.facts.checked;
    let check = |at: usize, measured: bool| {
        let fails = opinion.findings.iter().any(|finding| CHECKLIST[at].1.contains(&finding.rule));
        match (fails, measured) {
            (true, _) => Check::Failed,
            (false, true) => Check::Passed,
            (false, false) => Check::Unknown,
        }
    };
    [check(0, data), check(1, communication), check(2, cpu)]
}

/// The differences of this many standard errors are noise.
const STANDARD_ERRORS: f64 = 2.0;

impl Trial {
    /// Whether `after` shows that the replicas added surely brought less than half of their share: the noise between
    /// replicas, or of the workload's own signal, speaks for growth. None while that can't be said: a missing sample never speaks against it.
    fn fell_short(&self, after: Throughput) -> Option<bool> {
        let (from, to) = (self.from.0, self.to.0);
        let alike = self.before.unit == after.unit && self.before.replicas == from && after.replicas == to;
        let noise_after = after.error().filter(|_| alike && from > 0)?;
        let noise_before = match self.before.unit {
            // Growth comes soon after demand: before it there may be too few looks.
            WorkUnit::Own => self.before.error().unwrap_or(noise_after),
            // One replica has no spread of its own; that of the others stands in.
            _ if from == 1 => after.spread?,
            _ => self.before.error()?,
        };
        let share = f64::from(to.saturating_sub(from)) / f64::from(from);
        let gained = after.total - self.before.total;
        let error = noise_before.hypot(noise_after);
        Some(gained + STANDARD_ERRORS * error < self.before.total * share / 2.0)
    }
}

/// What a trial is judged by in one cycle.
pub(super) struct Backlog<'a> {
    /// A fresh evaluation, if there is one.
    pub opinion: Option<&'a Opinion>,
    /// Since when demand exceeds the replicas.
    pub since: Option<Timestamp>,
    /// Replicas that are asked for.
    pub current: Replicas,
    /// Every replica is Ready and warm.
    pub settled: bool,
    /// What kind of work it is.
    pub class: Class,
}

impl GateMemory {
    /// Growth that the gate allowed was written. Growth on top of growth that is still on trial is tried together with it;
    /// growth up to a ceiling is none to try.
    pub(crate) fn try_growth(&mut self, from: Replicas, to: Replicas, at: Moment) {
        if self.ceiling.is_some() {
            self.trial = None;
            return;
        }
        if let Some(trial) = self.trial.filter(|trial| trial.to == from) {
            self.trial = Some(Trial { at, to, warm: None, ..trial });
            return;
        }
        let before = self.figures.and_then(|figures| figures.throughput);
        let told = |before: &Throughput| before.spread.is_some() || before.unit == WorkUnit::Own;
        let complete = before.filter(|before| before.replicas == from.0 && told(before));
        let waits = self.waits.unwrap_or_default();
        self.trial = complete.map(|before| Trial { at, from, to, before, waits, warm: None });
    }

    /// Goes on with the trial, and ends it if it can be said what growth brought.
    pub(super) fn try_on(&mut self, seen: &Backlog<'_>, policy: &GatePolicy, now: Timestamp) {
        let Some(mut trial) = self.trial.take() else { return };
        let over = trial.to != seen.current || now >= trial.at.plus(policy.expiry + policy.window);
        if over {
            return;
        }
        trial.warm = seen.settled.then(|| trial.warm.unwrap_or(Moment::of(now)));
        match seen.opinion.map_or(Outcome::Open, |opinion| trial.result(seen, self.waits, opinion, policy)) {
            Outcome::Open => self.trial = Some(trial),
            Outcome::Worthwhile => {}
            Outcome::Futile(gain) => {
                let replicas = match seen.class {
                    Class::Inference => trial.to,
                    Class::Training | Class::Batch => trial.from,
                };
                self.ceiling = Some(Ceiling { at: Moment::of(now), replicas, gain });
            }
        }
    }
}

/// What a trial has shown so far.
enum Outcome {
    /// Nothing yet.
    Open,
    /// The replicas added brought enough.
    Worthwhile,
    /// They did not.
    Futile(Gain),
}

impl Trial {
    fn result(&self, seen: &Backlog<'_>, waits: Option<Waits>, opinion: &Opinion, policy: &GatePolicy) -> Outcome {
        let whole: SignedDuration = policy.window.mul_f64(policy.thresholds.coverage);
        let since = self.warm.zip(seen.since).map(|(warm, since)| warm.0.max(since));
        let covered = since.is_some_and(|since| opinion.at.duration_since(since) >= whole);
        let known = covered && !matches!(opinion.lean, Lean::Unknown(_));
        let waiting = self.waits.against(waits.unwrap_or_default());
        if known && waiting == Waiting::Shorter {
            return Outcome::Worthwhile;
        }
        // The users of inference wait: where nobody says how long, throughput alone proves nothing.
        let no_shorter = match waiting {
            Waiting::NoShorter => true,
            Waiting::Untold => seen.class != Class::Inference,
            Waiting::Shorter | Waiting::Unknown => false,
        };
        let Some(after) = opinion.facts.figures.throughput.filter(|_| known) else { return Outcome::Open };
        match self.fell_short(after) {
            Some(false) => Outcome::Worthwhile,
            Some(true) if no_shorter => Outcome::Futile(Gain {
                from: self.from,
                to: self.to,
                before: self.before.total,
                after: after.total,
                unit: after.unit,
                checks: checklist(opinion),
            }),
            None | Some(true) => Outcome::Open,
        }
    }
}
