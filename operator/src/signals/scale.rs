//! `spec.replicas` of the workload itself: users and other autoscalers set it through `/scale`.

use super::{Ask, Seen, SignalSource};
use wellfed_engine::reading::Reading;
use wellfed_engine::world::SignalValue;

/// Needs no Prometheus.
pub struct ScaleSignal;

impl SignalSource for ScaleSignal {
    fn ask(&self) -> Option<&Ask> {
        None
    }

    fn read(&self, seen: &Seen<'_>) -> SignalValue {
        SignalValue::External(Reading::Known { value: f64::from(seen.replicas), at: seen.now })
    }
}
