//! What one arm cost one workload, and what it gave.

use serde::{Serialize, Serializer};
use std::fmt;
use wellfed::simulate::{Figures, Hindsight, Point, Policy, PolicyReport, Scenario};

/// Who decided, and what else differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arm {
    /// Nobody mends anything.
    AsIs(Policy),
    /// wellfed, whose gates hold growth until they know: `onUnknown: Hold` for every class.
    Holding,
    /// The owner mends the cause.
    Mended(Policy),
}

impl Arm {
    /// The policies under which a cause is mended.
    pub const MENDED: [Policy; 2] = [Policy::Wellfed, Policy::WellfedWithoutGate];

    /// Every arm of a workload that can be mended, in the order of the tables.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [Self::Holding].into_iter().chain(Self::MENDED.map(Self::Mended));
        Policy::ALL.into_iter().map(Self::AsIs).chain(others)
    }

    /// Who decided.
    pub const fn policy(self) -> Policy {
        match self {
            Self::AsIs(policy) | Self::Mended(policy) => policy,
            Self::Holding => Policy::Wellfed,
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsIs(policy) => f.pad(policy.name()),
            Self::Holding => f.pad("wellfed, holds until it knows"),
            Self::Mended(policy) => f.pad(&format!("{policy}, mended")),
        }
    }
}

impl Serialize for Arm {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// What one arm cost, and what it gave, a day.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Which.
    pub arm: Arm,
    /// GPUs × hours.
    pub gpu_hours: f64,
    /// Their price.
    pub cost: f64,
    /// What it cost beyond the optimum in hindsight, as a share of that.
    pub regret: Option<f64>,
    /// Share of time over the objective; none for training.
    pub time_over_slo: Option<f64>,
    /// Share of requests that came in that time; none for training.
    pub requests_over_slo: Option<f64>,
    /// Share of what arrived that was not finished at the end.
    pub unserved: f64,
    /// Hours that a request or a sample waited, on the average.
    pub waited: f64,
    /// Changes of the number of replicas.
    pub scale_events: f64,
    /// Those of them in the other direction within ten minutes.
    pub reversals: f64,
    /// GPUs × hours of replicas that did not help, whatever there was to do.
    pub gpu_hours_in_vain: f64,
    /// Times that the gate held growth.
    pub refusals: f64,
    /// GPUs × hours that it did not let be asked for, at least.
    pub gpu_hours_refused: f64,
}

impl Row {
    /// From what the simulation counted; `useful` is how many replicas help, from when on.
    pub fn of(
        arm: Arm,
        played: &PolicyReport,
        optimum: &Hindsight,
        scenario: &Scenario,
        useful: &[(f64, u32)],
    ) -> Self {
        let figures: &Figures = &played.figures;
        let daily = 86_400.0 / scenario.length;
        let gpus = scenario.workloads.first().map_or(1.0, |subject| f64::from(subject.pod.gpus));
        let arrived = arrived(&played.points, scenario.length);
        let min = scenario.workloads.first().map_or(0, |subject| subject.policy.min.0);
        Self {
            arm,
            gpu_hours: figures.gpu_hours * daily,
            cost: figures.cost * daily,
            regret: (optimum.cost > 0.0).then(|| figures.cost / optimum.cost - 1.0),
            time_over_slo: figures.time_over_slo,
            requests_over_slo: figures.requests_over_slo,
            unserved: unserved(figures.done, arrived),
            waited: if arrived > 0.0 { figures.queue_mean * scenario.length / arrived / 3600.0 } else { 0.0 },
            scale_events: f64::from(figures.scale_events) * daily,
            reversals: f64::from(figures.reversals) * daily,
            gpu_hours_in_vain: gpus * in_vain(&played.points, scenario.length, min, useful) * daily,
            refusals: f64::from(figures.refusals) * daily,
            gpu_hours_refused: figures.gpu_hours_refused * daily,
        }
    }

    /// Share of the work that was not done in time: requests over the objective, or samples that still wait at the end.
    pub fn missed(&self) -> f64 {
        self.requests_over_slo.unwrap_or(self.unserved)
    }
}

/// Each point with the seconds that it stands for.
fn lasting(points: &[Point], length: f64) -> impl Iterator<Item = (&Point, f64)> {
    let ends = points.iter().skip(1).map(|point| point.at).chain([length]);
    points.iter().zip(ends).map(|(point, end)| (point, end - point.at))
}

fn arrived(points: &[Point], length: f64) -> f64 {
    lasting(points, length).map(|(point, seconds)| point.load * seconds).sum()
}

fn unserved(done: f64, arrived: f64) -> f64 {
    if arrived > 0.0 { ((arrived - done) / arrived).clamp(0.0, 1.0) } else { 0.0 }
}

/// Replicas × hours beyond those that help, and beyond those that the manifest wants anyway.
fn in_vain(points: &[Point], length: f64, min: u32, useful: &[(f64, u32)]) -> f64 {
    let helping = |at: f64| {
        let now = useful.iter().rev().find(|(from, _)| *from <= at).or(useful.first());
        now.map_or(f64::INFINITY, |(_, count)| f64::from((*count).max(min)))
    };
    let beyond = |(point, seconds): (&Point, f64)| (point.asked - helping(point.at)).max(0.0) * seconds / 3600.0;
    lasting(points, length).map(beyond).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: f64, load: f64, asked: f64) -> Point {
        Point { at, load, asked, ..Point::default() }
    }

    #[test]
    fn what_is_held_beyond_what_helps_is_in_vain_until_the_cause_is_mended() {
        let points = [point(0.0, 0.0, 4.0), point(3600.0, 0.0, 10.0), point(7200.0, 0.0, 10.0)];

        // Two help, four are wanted anyway: six for an hour. Then all help.
        assert!((in_vain(&points, 10_800.0, 4, &[(0.0, 2), (7200.0, 16)]) - 6.0).abs() < 1e-9);
        assert!(in_vain(&points, 10_800.0, 4, &[(0.0, 16)]).abs() < 1e-9);
    }

    #[test]
    fn what_arrived_and_was_not_finished_is_unserved() {
        let points = [point(0.0, 10.0, 1.0), point(100.0, 30.0, 1.0)];

        // 10 × 100 and 30 × 50.
        assert!((unserved(2_000.0, arrived(&points, 150.0)) - 0.2).abs() < 1e-12);
        assert!(unserved(2_501.0, arrived(&points, 150.0)).abs() < 1e-12);
    }
}
