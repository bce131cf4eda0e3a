//! What the signals of one workload say: read at their own cadence, through whatever the scenario lets be seen.

use super::plant::{Look, Plant};
use super::scenario::{Measured, Reader, Subject};
use crate::signals::Requests;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use wellfed_engine::reading::Reading;
use wellfed_engine::units::PodName;
use wellfed_engine::world::{Pod, PoolState, SignalState, SignalValue};
use wellfed_sim::scenario::{GpuRows, Metrics, Telemetry};

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
        let telemetry = plant.telemetry(at);
        let mut states = Vec::with_capacity(subject.readers.len());
        for (number, reader) in subject.readers.iter().enumerate() {
            let fresh = show(*reader, (plant, at), (look, rate), pools, now);
            let shown = seen(scrape(*reader, telemetry), fresh, self.shown[number].as_ref(), now);
            let value = judged(&shown, pools, now);
            self.shown[number] = Some(shown);
            let failures = &mut self.failures[number];
            *failures = if usable(&value, pools) { 0 } else { *failures + 1 };
            states.push(SignalState { value, failures: *failures });
        }
        states
    }
}

/// One number of a workload, seen as wellfed sees its signals.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Option<Shown>);

impl Gauge {
    /// Reads it `now`, when it is `fresh`; none if there is nothing to go by.
    pub fn read(&mut self, metrics: Metrics, fresh: Option<f64>, now: Timestamp) -> Option<f64> {
        let shown = seen(metrics, Shown::Whole(fresh.map(|value| (value, now))), self.0.as_ref(), now);
        let value = judged(&shown, &[], now);
        self.0 = Some(shown);
        match value {
            SignalValue::External(reading) => reading.believed().ok(),
            SignalValue::PodsUnread(_) | SignalValue::Pods(_) => None,
        }
    }
}

/// The state of what `reader` is scraped from.
fn scrape(reader: Reader, telemetry: Telemetry) -> Metrics {
    match reader {
        Reader::Scale(_) => Metrics::Normal,
        Reader::Whole(Measured::GpuUtilisation) | Reader::PerPod(Measured::GpuUtilisation) => gpu(telemetry.gpu),
        Reader::Whole(_) | Reader::PerPod(_) | Reader::Server(_) => telemetry.metrics,
    }
}

/// What a query over the GPUs of a workload's pods gets to see.
pub fn gpu(rows: GpuRows) -> Metrics {
    match rows {
        GpuRows::Normal => Metrics::Normal,
        GpuRows::Frozen => Metrics::Frozen,
        GpuRows::NaN => Metrics::NaN,
        // Without their pod's name rows belong to nobody.
        GpuRows::Off | GpuRows::Unattributed => Metrics::Off,
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
                    Requests::RunningPlusWaiting => served.running + served.waiting,
                    Requests::Waiting => served.waiting,
                    Requests::Running => served.running,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_seen_as_the_telemetry_lets_it_be_seen() {
        let at = |seconds: i64| Timestamp::from_second(seconds).unwrap();
        let mut gauge = Gauge::default();

        // The truth grows from read to read.
        let seen = [
            (Metrics::Frozen, 0),
            (Metrics::Normal, 15),
            (Metrics::Frozen, 300),
            (Metrics::Normal, 315),
            (Metrics::Old, 330),
            (Metrics::Old, 435),
            (Metrics::Old, 450),
            (Metrics::NaN, 465),
            (Metrics::Off, 480),
            (Metrics::Frozen, 495),
        ]
        .map(|(metrics, now)| gauge.read(metrics, Some(now as f64), at(now)));

        let (normal, old) = ([Some(15.0), Some(15.0)], [Some(315.0), Some(315.0), Some(315.0)]);
        assert_eq!(seen[..1], [None], "there was nothing yet that could stand still");
        assert_eq!(seen[1..3], normal, "frozen looks new for ever");
        assert_eq!(seen[3..6], old, "an old sample is good for two minutes");
        assert_eq!(seen[6..], [None; 4]);
    }

    #[test]
    fn a_query_over_the_gpus_is_broken_by_their_exporter_and_by_nothing_else() {
        let telemetry = Telemetry { metrics: Metrics::NaN, gpu: GpuRows::Unattributed, ..Telemetry::default() };

        let states = [
            Reader::Whole(Measured::GpuUtilisation),
            Reader::PerPod(Measured::GpuUtilisation),
            Reader::Whole(Measured::Queue),
            Reader::Server(Requests::Waiting),
            Reader::Scale(3),
        ]
        .map(|reader| scrape(reader, telemetry));

        assert_eq!(states, [Metrics::Off, Metrics::Off, Metrics::NaN, Metrics::NaN, Metrics::Normal]);
    }
}
