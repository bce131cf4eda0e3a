//! What a workload's own signals say of its work, besides asking for replicas.

use crate::evidence::{DIVERGED, OwnSaid};
use crate::intent::Measure;
use crate::observe::Lookout;
use crate::resolve::Resolved;
use crate::signals::Seen;
use std::sync::Arc;
use wellfed_crds::Better;
use wellfed_engine::policy::{Policy, Target};
use wellfed_engine::reading::{Oddity, Reading};
use wellfed_engine::units::WorkloadId;
use wellfed_engine::world::{Measures, SignalState, SignalValue};

/// The latest believed value of each, for comparing before and after and for the gate's lane; of two signals with one role the
/// first counts.
pub fn measures(
    id: &WorkloadId,
    resolved: &Resolved,
    signals: &[SignalState],
    look: &Lookout<'_>,
) -> (Measures, OwnSaid) {
    let mut measures = Measures { latency: latency(&resolved.policy, signals), ..Measures::default() };
    let mut own = OwnSaid::default();
    for (what, source) in resolved.measures.iter().rev() {
        let value = source.read(&Seen {
            latest: source.ask().and_then(|ask| look.answers.get(ask)).map(Arc::as_ref),
            namespace: &id.namespace,
            pods: &[],
            ready: 0,
            replicas: resolved.replicas,
            now: look.now,
            stale_after: look.stale_after,
            signed: *what != Measure::Throughput,
        });
        match what {
            Measure::Throughput => measures.throughput = believed(&value),
            Measure::Progress => own.progress = level(&value),
            Measure::Quality(better) => {
                own.quality = level(&value).map(|value| more_is_better(*better, value));
                measures.quality = own.quality.filter(|value| value.is_finite());
            }
        }
    }
    (measures, OwnSaid { throughput: measures.throughput, ..own })
}

/// A number that may be below zero; that it is none is news.
const fn level(value: &SignalValue) -> Option<f64> {
    match value {
        SignalValue::External(Reading::Known { value, .. }) => Some(*value),
        SignalValue::External(Reading::Implausible(Oddity::NotANumber | Oddity::Infinite)) => Some(DIVERGED),
        SignalValue::External(_) | SignalValue::Pods(_) | SignalValue::PodsUnread(_) => None,
    }
}

/// So that more is better whatever the signal measures.
fn more_is_better(better: Better, value: f64) -> f64 {
    match better {
        Better::Lower if value.is_finite() => -value,
        Better::Higher | Better::Lower => value,
    }
}

/// The latest believed value of the first latency signal; none of no requests, which took no time.
pub fn latency(policy: &Policy, signals: &[SignalState]) -> Option<f64> {
    let latencies = policy.signals.iter().zip(signals).filter(|(signal, _)| matches!(signal.target, Target::Slo(_)));
    latencies.map(|(_, state)| believed(&state.value)).next()?.filter(|seconds| *seconds > 0.0)
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
    use wellfed_engine::testing::{latency, trainer};

    /// A source that always says this.
    struct Says(f64);

    impl SignalSource for Says {
        fn ask(&self) -> Option<&Ask> {
            None
        }

        fn read(&self, seen: &Seen<'_>) -> SignalValue {
            let of = if seen.signed { Reading::of_level } else { Reading::of };
            SignalValue::External(of(self.0, seen.now, seen.now, seen.stale_after))
        }
    }

    fn measured(sources: Vec<(Measure, f64)>) -> (Measures, OwnSaid) {
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
        let roles =
            vec![(Measure::Throughput, 1200.0), (Measure::Progress, 2.5), (Measure::Quality(Better::Higher), 0.81)];
        let (measures, own) = measured(roles);

        let wanted = Measures { throughput: Some(1200.0), latency: Some(0.3), quality: Some(0.81) };
        assert_eq!(measures, wanted);
        assert_eq!(own, OwnSaid { throughput: Some(1200.0), progress: Some(2.5), quality: Some(0.81) });
        assert_eq!(measured(Vec::new()).1, OwnSaid::default());
    }

    /// A model server that nobody asks anything keeps its objective, and a later answer is not slower than none.
    #[test]
    fn no_time_at_all_is_no_latency_to_compare_with() {
        let of = |seconds| {
            let (workload, _) = trainer("llm").signal(latency("p95", seconds, 0.2)).running(1).build();
            super::latency(&workload.policy, &workload.signals)
        };

        assert_eq!((of(0.3), of(0.0)), (Some(0.3), None));
    }

    #[test]
    fn a_value_that_cannot_be_believed_is_unknown_and_no_other_signal_stands_in() {
        let (measures, own) = measured(vec![(Measure::Throughput, f64::NAN), (Measure::Throughput, 5.0)]);

        assert_eq!((measures.throughput, own.throughput), (None, None));
    }

    #[test]
    fn a_loss_or_an_evaluation_that_is_no_number_is_news_for_the_gate_and_no_figure() {
        let (measures, own) =
            measured(vec![(Measure::Progress, f64::NAN), (Measure::Quality(Better::Lower), f64::NEG_INFINITY)]);

        assert_eq!((own.progress, own.quality), (Some(DIVERGED), Some(DIVERGED)));
        assert_eq!(measures.quality, None);
        let sentinel = measured(vec![(Measure::Progress, 9_223_372_036_854_775_807.0)]).1;
        assert_eq!(sentinel.progress, None, "a vendor's mark for nothing is no loss");
    }

    /// A word error rate of 8 %, and a reward of minus 20.
    #[test]
    fn of_quality_more_is_better_however_it_was_measured() {
        let quality = |better, value| measured(vec![(Measure::Quality(better), value)]).0.quality;

        assert_eq!(quality(Better::Lower, 0.08), Some(-0.08));
        assert_eq!(quality(Better::Higher, -20.0), Some(-20.0));
    }
}
