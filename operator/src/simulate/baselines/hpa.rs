//! The Horizontal Pod Autoscaler with its default behaviour, as its documentation and its controller's source say
//! (pkg/controller/podautoscaler; website, horizontal-pod-autoscale).

use super::{Rows, Seen};
use std::collections::VecDeque;

/// `--horizontal-pod-autoscaler-sync-period`, seconds.
const SYNC: f64 = 15.0;
/// `--horizontal-pod-autoscaler-tolerance`.
const TOLERANCE: f64 = 0.1;
/// `behavior.scaleDown.stabilizationWindowSeconds`; that of `scaleUp` is 0.
const DOWN_WINDOW: f64 = 300.0;
/// `behavior.scaleUp.policies`: the larger of 100 % and 4 pods every 15 s. Down it is 100 %, which limits nothing.
const UP_PERIOD: f64 = 15.0;
const UP_FACTOR: u32 = 2;
const UP_PODS: u32 = 4;
/// Times are sums of steps: two that should be equal may differ by less than this.
const ROUNDING: f64 = 1e-6;

/// What it scales on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// A Pods metric of the GPUs' activity with `averageValue`, 0–1.
    Utilisation(f64),
    /// An External metric of what waits, with `averageValue`.
    Queue(f64),
    /// An External metric of what waits and is being served, with `averageValue`.
    InSystem(f64),
    /// A Pods metric of any of these, with `averageValue`.
    EachPod(f64),
}

/// A Horizontal Pod Autoscaler with one metric.
#[derive(Clone, Debug)]
pub struct Hpa {
    metric: Metric,
    min: u32,
    max: u32,
    synced: Option<f64>,
    /// When, and the number before stabilisation and limits.
    recommendations: VecDeque<(f64, u32)>,
    /// When, and replicas added (above zero) or taken away.
    events: VecDeque<(f64, i64)>,
}

impl Hpa {
    /// One that has seen nothing; a `minReplicas` of 0 is taken for 1, as without `HPAScaleToZero`.
    pub fn new(metric: Metric, min: u32, max: u32) -> Self {
        let (recommendations, events) = (VecDeque::new(), VecDeque::new());
        Self { metric, min: min.max(1), max, synced: None, recommendations, events }
    }

    /// What it scales on.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// What it asks for; the current number between two syncs.
    pub fn desired(&mut self, seen: &Seen) -> u32 {
        if self.synced.is_some_and(|last| seen.now - last < SYNC - ROUNDING) {
            return seen.current;
        }
        self.synced = Some(seen.now);
        let desired = self.sync(seen);
        if desired != seen.current {
            self.events.push_back((seen.now, i64::from(desired) - i64::from(seen.current)));
        }
        desired
    }

    fn sync(&mut self, seen: &Seen) -> u32 {
        let current = seen.current;
        if current == 0 {
            // Scaled to zero by hand, or by KEDA: it stands aside.
            return 0;
        }
        if !(self.min..=self.max).contains(&current) {
            return current.clamp(self.min, self.max);
        }
        // A metric in error changes nothing, and is not remembered either.
        let Some(wanted) = self.metric.wanted(seen) else { return current };
        let stable = self.stabilised(wanted, seen);
        let most = self.most(seen).max(current);
        stable.min(most).clamp(self.min, self.max)
    }

    /// Growth at once; no less than any recommendation of the window.
    fn stabilised(&mut self, wanted: u32, seen: &Seen) -> u32 {
        if self.recommendations.is_empty() {
            self.recommendations.push_back((seen.now, seen.current));
        }
        self.recommendations.retain(|(at, _)| seen.now - at < DOWN_WINDOW - ROUNDING);
        let highest = self.recommendations.iter().map(|(_, number)| *number).fold(wanted, u32::max);
        self.recommendations.push_back((seen.now, wanted));
        if wanted > seen.current { wanted } else { highest.min(seen.current) }
    }

    /// The most that the policies let it grow to.
    fn most(&mut self, seen: &Seen) -> u32 {
        self.events.retain(|(at, _)| seen.now - at < UP_PERIOD - ROUNDING);
        let moved: i64 = self.events.iter().map(|(_, replicas)| replicas).sum();
        let start = u32::try_from(i64::from(seen.current) - moved).unwrap_or(0);
        (start * UP_FACTOR).max(start + UP_PODS)
    }
}

impl Metric {
    /// Its value, if known.
    pub fn value(self, seen: &Seen) -> Option<f64> {
        match self {
            Self::Utilisation(_) => seen.utilisation,
            Self::Queue(_) => seen.queue,
            Self::InSystem(_) => seen.in_system,
            Self::EachPod(_) => (seen.rows.known > 0).then_some(seen.rows.sum),
        }
    }

    /// The replicas that its value wants; `None` if it cannot be read.
    fn wanted(self, seen: &Seen) -> Option<u32> {
        let value = self.value(seen)?;
        match self {
            Self::Utilisation(target) => by_pods(value / target, seen),
            Self::EachPod(target) => Some(by_rows(target, &seen.rows, seen.current)),
            Self::Queue(target) | Self::InSystem(target) => {
                let needed = value / target;
                let fits = within(needed / f64::from(seen.current));
                Some(if fits { seen.current } else { replicas(needed) })
            }
        }
    }
}

/// `ratio` is the mean over Ready replicas against the target. Replicas that are not Ready count with nothing when it
/// asks for more, and not at all when it asks for less.
fn by_pods(ratio: f64, seen: &Seen) -> Option<u32> {
    if seen.ready == 0 {
        return None;
    }
    let (current, ready) = (seen.current, f64::from(seen.ready));
    let waiting = current.saturating_sub(seen.ready);
    if waiting == 0 || ratio <= 1.0 {
        return Some(if within(ratio) { current } else { replicas(ratio * ready) });
    }
    let diluted = ratio * ready / f64::from(seen.ready + waiting);
    let needed = replicas(diluted * f64::from(seen.ready + waiting));
    let unclear = within(diluted) || diluted < 1.0 || needed < current;
    Some(if unclear { current } else { needed })
}

/// A metric that is none of the kubelet's (`calcPlainMetricReplicas`): a pod that runs without a row is missing, whether
/// Ready or not. It counts with the target when the others ask for less, and with nothing when they ask for more; a pod
/// without a node does so only then.
fn by_rows(target: f64, rows: &Rows, current: u32) -> u32 {
    let known = f64::from(rows.known);
    let ratio = rows.sum / (target * known);
    let pending = if ratio > 1.0 { rows.pending } else { 0 };
    if rows.missing == 0 && pending == 0 {
        return if within(ratio) { current } else { replicas(rows.sum / target) };
    }
    let filled = if ratio < 1.0 { target * f64::from(rows.missing) } else { 0.0 };
    let needed = (rows.sum + filled) / target;
    let refilled = needed / (known + f64::from(rows.missing + pending));
    let turned = (ratio < 1.0 && refilled > 1.0) || (ratio > 1.0 && refilled < 1.0);
    let needed = replicas(needed);
    let reversed = (refilled < 1.0 && needed > current) || (refilled > 1.0 && needed < current);
    if within(refilled) || turned || reversed { current } else { needed }
}

fn within(ratio: f64) -> bool {
    (1.0 - TOLERANCE..=1.0 + TOLERANCE).contains(&ratio)
}

/// Rounded up; what rounding of sums adds to a whole number adds no replica.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and is never negative
fn replicas(needed: f64) -> u32 {
    (needed - ROUNDING).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(now: f64, current: u32, ready: u32, utilisation: f64) -> Seen {
        Seen { now, current, ready, utilisation: Some(utilisation), ..Seen::default() }
    }

    fn queued(now: f64, current: u32, queue: f64) -> Seen {
        Seen { now, current, ready: current, queue: Some(queue), ..Seen::default() }
    }

    /// current, Ready, utilisation → wanted; the target is 0.7.
    #[test]
    fn utilisation_asks_for_what_the_controller_s_tables_say() {
        for (current, ready, utilisation, wanted) in [
            (4, 4, 1.0, 6),   // 4.0 / 0.7 = 5.7
            (4, 4, 0.75, 4),  // within the tolerance
            (4, 4, 0.64, 4),  // within the tolerance
            (10, 10, 0.3, 5), // 3.0 / 0.7 = 4.3
            (4, 2, 1.0, 4),   // 2.0 over four is 0.5: the other side of the target
            (10, 8, 1.0, 12), // 8.0 / 0.7 = 11.4
            (4, 2, 0.3, 1),   // those that start do not count: 0.6 / 0.7
            (10, 9, 0.8, 10), // 7.2 over ten is 0.72
        ] {
            let got = Metric::Utilisation(0.7).wanted(&busy(0.0, current, ready, utilisation));
            assert_eq!(got, Some(wanted), "{ready} of {current} at {utilisation}");
        }
    }

    /// Ten are asked for: sum, with a row, without one, without a node → wanted; the target is 10.
    #[test]
    fn one_number_a_pod_asks_for_what_the_controller_s_tables_say() {
        for (sum, known, missing, pending, wanted) in [
            (140.0, 10, 0, 0, 14),
            (105.0, 10, 0, 0, 10), // within the tolerance
            (22.0, 10, 0, 0, 3),
            (140.0, 8, 2, 0, 14), // over ten it is 1.4
            (140.0, 8, 0, 2, 14),
            (28.0, 2, 8, 0, 10), // over ten it would shrink
            (28.0, 2, 0, 8, 10),
            (12.0, 2, 8, 0, 10), // those that load count with the target: 92 over ten is within the tolerance
            (12.0, 2, 0, 8, 2),  // and those without a node not at all
            (12.0, 6, 4, 0, 6),
        ] {
            let rows = Rows { sum, known, missing, pending };
            let seen = Seen { current: 10, ready: known, rows, ..Seen::default() };

            assert_eq!(Metric::EachPod(10.0).wanted(&seen), Some(wanted), "{rows:?}");
        }
        assert_eq!(Metric::EachPod(10.0).wanted(&Seen { current: 10, ..Seen::default() }), None);
    }

    #[test]
    fn without_a_value_it_holds() {
        let mut hpa = Hpa::new(Metric::Utilisation(0.7), 1, 20);

        assert_eq!(hpa.desired(&Seen { current: 7, ready: 7, queue: Some(900.0), ..Seen::default() }), 7);
        assert_eq!(hpa.desired(&busy(15.0, 7, 0, 1.0)), 7);
    }

    #[test]
    fn it_looks_every_fifteen_seconds() {
        let mut hpa = Hpa::new(Metric::Queue(10.0), 1, 100);

        let asked = [0.0, 5.0, 10.0, 15.0].map(|now| hpa.desired(&queued(now, 4, 1_000.0)));

        assert_eq!(asked, [8, 4, 4, 8]);
    }

    #[test]
    fn it_at_most_doubles_or_adds_four_every_fifteen_seconds() {
        let mut hpa = Hpa::new(Metric::Queue(10.0), 1, 50);
        let mut current = 1;
        let asked = [0.0, 15.0, 30.0, 45.0, 60.0].map(|now| {
            current = hpa.desired(&queued(now, current, 5_000.0));
            current
        });

        assert_eq!(asked, [5, 10, 20, 40, 50]);
    }

    #[test]
    fn it_shrinks_only_to_the_most_that_five_minutes_asked_for() {
        let mut hpa = Hpa::new(Metric::InSystem(10.0), 1, 50);
        let mut look = |now: f64, load: f64| {
            hpa.desired(&Seen { now, current: 8, ready: 8, in_system: Some(load), ..Seen::default() })
        };

        // The first recommendation is the current number.
        assert_eq!((look(0.0, 20.0), look(150.0, 60.0), look(285.0, 20.0)), (8, 8, 8));
        // Then 2 of 0 s and 6 of 150 s are left, then only 2.
        assert_eq!((look(300.0, 20.0), look(435.0, 20.0), look(450.0, 20.0)), (6, 6, 2));
    }

    #[test]
    fn the_bounds_hold_and_zero_is_left_alone() {
        let mut hpa = Hpa::new(Metric::Queue(10.0), 2, 6);

        assert_eq!(hpa.desired(&queued(0.0, 9, 0.0)), 6);
        assert_eq!(hpa.desired(&queued(15.0, 1, 0.0)), 2);
        assert_eq!(hpa.desired(&queued(30.0, 0, 900.0)), 0);
        assert_eq!(hpa.desired(&queued(45.0, 5, 900.0)), 6);
        assert_eq!(hpa.desired(&queued(900.0, 6, 0.0)), 2);
    }
}
