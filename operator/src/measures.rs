//! What a workload's own signals say of its work, besides asking for replicas.

use crate::intent::Measure;
use crate::observe::Lookout;
use crate::resolve::Resolved;
use crate::signals::Seen;
use std::sync::Arc;
use wellfed_engine::policy::{Policy, Target};
use wellfed_engine::units::WorkloadId;
use wellfed_engine::world::{Measures, SignalState, SignalValue};

/// The latest believed value of each; of two signals with one role the first counts.
pub fn measures(id: &WorkloadId, resolved: &Resolved, signals: &[SignalState], look: &Lookout<'_>) -> Measures {
    let mut measures = Measures { latency: latency(&resolved.policy, signals), ..Measures::default() };
    for (what, source) in resolved.measures.iter().rev() {
        let value = source.read(&Seen {
            latest: source.ask().and_then(|ask| look.answers.get(ask)).map(Arc::as_ref),
            namespace: &id.namespace,
            pods: &[],
            replicas: resolved.replicas,
            now: look.now,
            stale_after: look.stale_after,
        });
        let measured = match what {
            Measure::Throughput => &mut measures.throughput,
            Measure::Progress => &mut measures.progress,
            Measure::Quality => &mut measures.quality,
        };
        *measured = believed(&value);
    }
    measures
}

fn latency(policy: &Policy, signals: &[SignalState]) -> Option<f64> {
    let latencies = policy.signals.iter().zip(signals).filter(|(signal, _)| matches!(signal.target, Target::Slo(_)));
    latencies.map(|(_, state)| believed(&state.value)).next()?
}

fn believed(value: &SignalValue) -> Option<f64> {
    match value {
        SignalValue::External(reading) => reading.believed().ok(),
        SignalValue::Pods(_) | SignalValue::PodsUnread(_) => None,
    }
}
