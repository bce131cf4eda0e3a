//! KEDA with its defaults: between zero and one by itself, above by the HPA that it makes
//! (pkg/scaling/executor; its documentation of `ScaledObject`).

use super::{Hpa, Metric, Seen};

/// `pollingInterval`, seconds.
const POLL: f64 = 30.0;
/// `cooldownPeriod`, seconds.
const COOLDOWN: f64 = 300.0;
/// Times are sums of steps: two that should be equal may differ by less than this.
const ROUNDING: f64 = 1e-6;

/// A `ScaledObject` with one trigger and `minReplicaCount: 0`.
#[derive(Clone, Debug)]
pub struct Keda {
    hpa: Hpa,
    activation: f64,
    polled: Option<f64>,
    active: Option<f64>,
}

impl Keda {
    /// One that has seen nothing; the trigger is active above `activation`.
    pub fn new(metric: Metric, activation: f64, max: u32) -> Self {
        Self { hpa: Hpa::new(metric, 1, max), activation, polled: None, active: None }
    }

    /// What it, or its HPA, asks for.
    pub fn desired(&mut self, seen: &Seen) -> u32 {
        if self.polled.is_none_or(|last| seen.now - last >= POLL - ROUNDING) {
            self.polled = Some(seen.now);
            let asked = self.poll(seen);
            if asked != seen.current {
                return asked;
            }
        }
        self.hpa.desired(seen)
    }

    /// A trigger in error changes nothing. One that never was active cools down at once.
    fn poll(&mut self, seen: &Seen) -> u32 {
        let Some(value) = self.hpa.metric().value(seen) else { return seen.current };
        if value > self.activation {
            self.active = Some(seen.now);
            return seen.current.max(1);
        }
        let cool = self.active.is_none_or(|last| seen.now - last > COOLDOWN + ROUNDING);
        if cool { 0 } else { seen.current }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(now: f64, current: u32, queue: f64) -> Seen {
        Seen { now, current, ready: current, queue: Some(queue), ..Seen::default() }
    }

    fn keda() -> Keda {
        Keda::new(Metric::Queue(10.0), 2.0, 40)
    }

    #[test]
    fn it_wakes_to_one_at_its_next_poll_and_the_hpa_goes_on_from_there() {
        let mut keda = keda();

        assert_eq!(keda.desired(&queued(0.0, 0, 0.0)), 0);
        assert_eq!(keda.desired(&queued(15.0, 0, 100.0)), 0);
        assert_eq!(keda.desired(&queued(30.0, 0, 100.0)), 1);
        assert_eq!(keda.desired(&queued(45.0, 1, 100.0)), 5);
        assert_eq!(keda.desired(&queued(60.0, 5, 100.0)), 10);
    }

    #[test]
    fn a_value_at_the_activation_threshold_wakes_nobody() {
        assert_eq!(keda().desired(&queued(0.0, 0, 2.0)), 0);
    }

    #[test]
    fn it_goes_to_zero_when_the_cooldown_is_over_whatever_the_number() {
        let mut keda = keda();
        keda.desired(&queued(0.0, 3, 30.0));

        assert_eq!(keda.desired(&queued(270.0, 3, 0.0)), 3);
        assert_eq!(keda.desired(&queued(330.0, 3, 0.0)), 0);
    }

    #[test]
    fn an_unknown_queue_is_not_an_empty_one() {
        let mut keda = keda();
        let unknown = |now: f64, current: u32| Seen { queue: None, ..queued(now, current, 0.0) };

        assert_eq!(keda.desired(&unknown(0.0, 3)), 3);
        assert_eq!(keda.desired(&unknown(3_000.0, 3)), 3);
        assert_eq!(keda.desired(&unknown(3_030.0, 0)), 0);
    }
}
