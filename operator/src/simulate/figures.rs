//! What a policy cost and what it gave, counted cycle by cycle.

use super::plant::Look;
use serde::{Deserialize, Serialize};

/// A turn within this of the last one is a reversal, seconds.
const SOON: f64 = 600.0;

/// What one policy cost one workload, and what it gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// GPUs held by its pods, times hours.
    pub gpu_hours: f64,
    /// Their price.
    pub cost: f64,
    /// Share of time in which a request took longer than the objective; none without one.
    pub time_over_slo: Option<f64>,
    /// Share of requests that arrived in that time; none without an objective.
    pub requests_over_slo: Option<f64>,
    /// Requests or samples finished.
    pub done: f64,
    /// Requests or samples that waited, mean over time.
    pub queue_mean: f64,
    /// The most that waited.
    pub queue_max: f64,
    /// Ready replicas, mean over time.
    pub replicas_mean: f64,
    /// The most replicas asked for.
    pub replicas_max: u32,
    /// Changes of the number asked for.
    pub scale_events: u32,
    /// Changes in the other direction within ten minutes.
    pub reversals: u32,
    /// Stretches of time in which the gate held growth.
    pub refusals: u32,
    /// GPUs that the gate did not let be asked for, times hours: at least, since the next step would have asked for more.
    pub gpu_hours_refused: f64,
}

/// One cycle of one workload, as it counts.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// When, seconds.
    pub now: f64,
    /// How long, seconds.
    pub seconds: f64,
    /// Where the work stands at its end.
    pub look: Look,
    /// Requests or samples that arrived in it.
    pub arrived: f64,
    /// Replicas asked for.
    pub asked: u32,
    /// Replicas Ready.
    pub ready: u32,
    /// Replicas that the gate held back.
    pub refused: u32,
    /// GPUs of a replica.
    pub gpus: u32,
}

/// Counts figures.
#[derive(Clone, Debug, Default)]
pub struct Count {
    slo: Option<f64>,
    figures: Figures,
    seconds: f64,
    over: f64,
    arrived: f64,
    arrived_over: f64,
    queue: f64,
    ready: f64,
    asked: Option<u32>,
    /// The last change: when, and whether it was up.
    turned: Option<(f64, bool)>,
    refusing: bool,
}

impl Count {
    /// Nothing counted yet; `slo` is the longest that a request should take.
    pub fn new(slo: Option<f64>) -> Self {
        Self { slo, ..Self::default() }
    }

    /// Counts one cycle.
    pub fn add(&mut self, one: &Counted) {
        self.seconds += one.seconds;
        self.queue += one.look.queue * one.seconds;
        self.ready += f64::from(one.ready) * one.seconds;
        self.arrived += one.arrived;
        if self.slo.zip(one.look.latency).is_some_and(|(slo, latency)| latency > slo) {
            self.over += one.seconds;
            self.arrived_over += one.arrived;
        }
        let figures = &mut self.figures;
        figures.done = one.look.done;
        figures.queue_max = figures.queue_max.max(one.look.queue);
        figures.replicas_max = figures.replicas_max.max(one.asked);
        figures.gpu_hours_refused += f64::from(one.refused * one.gpus) * one.seconds / 3600.0;
        figures.refusals += u32::from(one.refused > 0 && !self.refusing);
        self.refusing = one.refused > 0;
        if let Some(before) = self.asked.replace(one.asked).filter(|before| *before != one.asked) {
            self.turn(one.now, one.asked > before);
        }
    }

    fn turn(&mut self, now: f64, up: bool) {
        self.figures.scale_events += 1;
        let reversed = self.turned.is_some_and(|(at, before)| before != up && now - at <= SOON);
        self.figures.reversals += u32::from(reversed);
        self.turned = Some((now, up));
    }

    /// The figures so far, with what the cluster billed.
    pub fn finish(self, gpu_hours: f64, cost: f64) -> Figures {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Figures {
            gpu_hours,
            cost,
            time_over_slo: self.slo.map(|_| share(self.over, self.seconds)),
            requests_over_slo: self.slo.map(|_| share(self.arrived_over, self.arrived)),
            queue_mean: share(self.queue, self.seconds),
            replicas_mean: share(self.ready, self.seconds),
            ..self.figures
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(now: f64, asked: u32, latency: f64) -> Counted {
        let look = Look { queue: 2.0, latency: Some(latency), ..Look::default() };
        Counted { now, seconds: 15.0, look, arrived: latency * 10.0, asked, ready: asked, refused: 0, gpus: 1 }
    }

    #[test]
    fn time_and_requests_over_the_objective_are_shares_of_their_own() {
        let mut count = Count::new(Some(1.0));
        for (latency, at) in [0.5, 0.5, 0.5, 3.0].into_iter().zip(0..) {
            count.add(&cycle(f64::from(at), 1, latency));
        }

        let figures = count.finish(1.0, 2.0);

        assert_eq!((figures.time_over_slo, figures.requests_over_slo), (Some(0.25), Some(30.0 / 45.0)));
    }

    #[test]
    fn a_change_back_within_ten_minutes_is_a_reversal() {
        let mut count = Count::new(None);
        for (now, asked) in [(0.0, 1), (15.0, 3), (300.0, 2), (1_200.0, 4)] {
            count.add(&cycle(now, asked, 0.0));
        }

        let figures = count.finish(0.0, 0.0);

        assert_eq!((figures.scale_events, figures.reversals, figures.replicas_max), (3, 1, 4));
        assert_eq!(figures.time_over_slo, None);
    }

    #[test]
    fn a_refusal_is_a_stretch_of_time_and_what_it_held_back() {
        let mut count = Count::new(None);
        for (at, refused) in [2, 2, 0, 4].into_iter().enumerate() {
            count.add(&Counted { refused, ..cycle(at as f64 * 15.0, 1, 0.0) });
        }

        let figures = count.finish(0.0, 0.0);

        assert_eq!(figures.refusals, 2);
        assert!((figures.gpu_hours_refused - 8.0 * 15.0 / 3600.0).abs() < 1e-12);
    }
}
