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
        let place = match what {
            Measure::Throughput => &mut measures.throughput,
            Measure::Quality => &mut measures.quality,
        };
        *place = believed(&value);
    }
    measures
}

/// The latest believed value of the first latency signal.
pub fn latency(policy: &Policy, signals: &[SignalState]) -> Option<f64> {
    let latencies = policy.signals.iter().zip(signals).filter(|(signal, _)| matches!(signal.target, Target::Slo(_)));
    latencies.map(|(_, state)| believed(&state.value)).next()?
}

fn believed(value: &SignalValue) -> Option<f64> {
    match value {
        SignalValue::External(reading) => reading.believed().ok(),
        SignalValue::Pods(_) | SignalValue::PodsUnread(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::config::Config;
    use crate::intent::Settings;
    use crate::observe::Answers;
    use crate::signals::{Ask, SignalSource};
    use jiff::{SignedDuration, Timestamp};
    use wellfed_engine::opinion::Opinions;
    use wellfed_engine::reading::Reading;
    use wellfed_engine::testing::{latency, trainer};

    /// A source that always says this.
    struct Says(f64);

    impl SignalSource for Says {
        fn ask(&self) -> Option<&Ask> {
            None
        }

        fn read(&self, seen: &Seen<'_>) -> SignalValue {
            SignalValue::External(Reading::of(self.0, seen.now, seen.now, seen.stale_after))
        }
    }

    fn measured(sources: Vec<(Measure, f64)>) -> Measures {
        let (workload, _) = trainer("llm").signal(latency("p95", 0.3, 0.2)).running(1).build();
        let source = |(what, says): (Measure, f64)| (what, Arc::new(Says(says)) as Arc<dyn SignalSource>);
        let resolved = Resolved {
            policy: workload.policy,
            sources: Vec::new(),
            measures: sources.into_iter().map(source).collect(),
            targets: Vec::new(),
            replicas: 1,
            thresholds: [].into(),
            driven: None,
            sizing: None,
        };
        let look = Lookout {
            workloads: Vec::new(),
            catalog: &Catalog::default(),
            answers: &Answers::new(),
            opinions: &Opinions::new(),
            settings: &Settings { config: Config::default(), spacing: SignedDuration::from_secs(30) },
            stale_after: SignedDuration::from_mins(2),
            now: Timestamp::UNIX_EPOCH,
        };
        measures(&workload.id, &resolved, &workload.signals, &look)
    }

    #[test]
    fn each_role_gives_its_latest_value_and_what_nobody_measures_is_unknown() {
        let measures = measured(vec![(Measure::Throughput, 1200.0), (Measure::Quality, 0.81)]);

        let wanted = Measures { throughput: Some(1200.0), latency: Some(0.3), quality: Some(0.81) };
        assert_eq!(measures, wanted);
    }

    #[test]
    fn a_value_that_cannot_be_believed_is_unknown_and_no_other_signal_stands_in() {
        let measures = measured(vec![(Measure::Throughput, f64::NAN), (Measure::Throughput, 5.0)]);

        assert_eq!(measures.throughput, None);
    }
}
