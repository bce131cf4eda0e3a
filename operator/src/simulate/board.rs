//! What the signals of one workload say: read at their own cadence, through whatever the scenario lets be seen.

use super::plant::{Look, Plant};
use super::scenario::{Measured, Reader, Subject};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use wellfed_crds::ServerMetric;
use wellfed_engine::reading::Reading;
use wellfed_engine::units::PodName;
use wellfed_engine::world::{Pod, PoolState, SignalState, SignalValue};
use wellfed_sim::scenario::Metrics;

/// Time between reads, seconds.
pub const READ_EVERY: f64 = 15.0;
/// A sample older than this is shown, and not used.
const STALE_AFTER: SignedDuration = SignedDuration::from_mins(2);

/// One raw number and when it was measured.
type Sample = (f64, Timestamp);

/// What one signal showed last.
#[derive(Clone, Debug)]
enum Shown {
    Whole(Option<Sample>),
    Pods(BTreeMap<PodName, Sample>),
}

/// What the signals of one workload say.
#[derive(Clone, Debug, Default)]
pub struct Board {
    shown: Vec<Option<Shown>>,
    failures: Vec<u32>,
}

impl Board {
    /// Reads every signal `now`; `state` is the workload's pools.
    pub fn read(
        &mut self,
        subject: &Subject,
        (plant, at): (&Plant, usize),
        (look, rate): (&Look, f64),
        pools: &[PoolState],
        now: Timestamp,
    ) -> Vec<SignalState> {
        self.shown.resize(subject.readers.len(), None);
        self.failures.resize(subject.readers.len(), 0);
        let metrics = plant.telemetry(at).metrics;
        let mut states = Vec::with_capacity(subject.readers.len());
        for (number, reader) in subject.readers.iter().enumerate() {
            let fresh = show(*reader, (plant, at), (look, rate), pools, now);
            let scrape = if matches!(reader, Reader::Scale(_)) { Metrics::Normal } else { metrics };
            let shown = seen(scrape, fresh, self.shown[number].as_ref(), now);
            let value = judged(&shown, pools, now);
            self.shown[number] = Some(shown);
            let failures = &mut self.failures[number];
            *failures = if usable(&value, pools) { 0 } else { *failures + 1 };
            states.push(SignalState { value, failures: *failures });
        }
        states
    }
}

/// What `reader` would show if nothing stood in between.
fn show(
    reader: Reader,
    (plant, at): (&Plant, usize),
    (look, rate): (&Look, f64),
    pools: &[PoolState],
    now: Timestamp,
) -> Shown {
    match reader {
        Reader::Scale(replicas) => Shown::Whole(Some((f64::from(replicas), now))),
        Reader::Whole(measured) => Shown::Whole(value(measured, look, rate).map(|value| (value, now))),
        Reader::PerPod(measured) => {
            let share = value(measured, look, rate).map(|value| per_pod(measured, value, pools));
            let ready = live(pools).filter(|pod| pod.is_ready());
            Shown::Pods(ready.filter_map(|pod| Some((pod.name.clone(), (share?, now)))).collect())
        }
        Reader::Server(metric) => {
            let of = |pod: &Pod| {
                let served = plant.served(at, &pod.name.0)?;
                let requests = match metric {
                    ServerMetric::RunningPlusWaiting => served.running + served.waiting,
                    ServerMetric::Waiting => served.waiting,
                    ServerMetric::Running => served.running,
                };
                Some((pod.name.clone(), (requests, now)))
            };
            Shown::Pods(live(pools).filter_map(of).collect())
        }
    }
}

fn value(measured: Measured, look: &Look, rate: f64) -> Option<f64> {
    match measured {
        Measured::Queue => Some(look.queue),
        Measured::InSystem => Some(look.in_system),
        Measured::ArrivalRate => Some(rate),
        Measured::Latency => look.latency,
        Measured::GpuUtilisation => look.utilisation,
    }
}

/// What one Ready pod shows of it.
fn per_pod(measured: Measured, value: f64, pools: &[PoolState]) -> f64 {
    match measured {
        Measured::Queue | Measured::InSystem | Measured::ArrivalRate => {
            value / live(pools).filter(|pod| pod.is_ready()).count().max(1) as f64
        }
        Measured::Latency | Measured::GpuUtilisation => value,
    }
}

/// What scrapers get to see of it, by the state of the telemetry.
fn seen(metrics: Metrics, fresh: Shown, before: Option<&Shown>, now: Timestamp) -> Shown {
    let again = |dated: fn(Sample, Timestamp) -> Sample| match before {
        None => nothing(&fresh),
        Some(Shown::Whole(sample)) => Shown::Whole(sample.map(|sample| dated(sample, now))),
        Some(Shown::Pods(rows)) => {
            Shown::Pods(rows.iter().map(|(pod, sample)| (pod.clone(), dated(*sample, now))).collect())
        }
    };
    match metrics {
        Metrics::Normal => fresh,
        Metrics::Off => nothing(&fresh),
        Metrics::Frozen => again(|(value, _), now| (value, now)),
        Metrics::Old => again(|sample, _| sample),
        Metrics::NaN => match fresh {
            Shown::Whole(sample) => Shown::Whole(sample.map(|(_, at)| (f64::NAN, at))),
            Shown::Pods(rows) => Shown::Pods(rows.into_iter().map(|(pod, (_, at))| (pod, (f64::NAN, at))).collect()),
        },
    }
}

fn nothing(like: &Shown) -> Shown {
    match like {
        Shown::Whole(_) => Shown::Whole(None),
        Shown::Pods(_) => Shown::Pods(BTreeMap::new()),
    }
}

fn judged(shown: &Shown, pools: &[PoolState], now: Timestamp) -> SignalValue {
    let read = |(value, at): Sample| Reading::of(value, at, now, STALE_AFTER);
    match shown {
        Shown::Whole(sample) => SignalValue::External(sample.map_or(Reading::Missing, read)),
        Shown::Pods(rows) => {
            let of = |pod: &Pod| (pod.name.clone(), rows.get(&pod.name).map_or(Reading::Missing, |one| read(*one)));
            SignalValue::Pods(live(pools).map(of).collect())
        }
    }
}

/// Whether a read gave anything to go by; pods that are not Ready are not asked.
fn usable(value: &SignalValue, pools: &[PoolState]) -> bool {
    match value {
        SignalValue::External(reading) | SignalValue::PodsUnread(reading) => reading.believed().is_ok(),
        SignalValue::Pods(rows) => {
            let mut ready = live(pools).filter(|pod| pod.is_ready()).peekable();
            let known = |pod: &Pod| rows.get(&pod.name).is_some_and(|reading| reading.believed().is_ok());
            ready.peek().is_none() || ready.any(known)
        }
    }
}

fn live(pools: &[PoolState]) -> impl Iterator<Item = &Pod> {
    pools.iter().flat_map(|pool| &pool.pods).filter(|pod| pod.is_live())
}
