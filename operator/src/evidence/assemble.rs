//! Looks → one workload's evidence: only its live, Ready, warm pods; while demand exceeds its target only since it does.

mod exits;
mod gpu;
mod node;
mod server;
mod trainer;

use super::bounds::OF_NOTHING;
use super::history::{History, Look};
use super::metric::{Metric, Subject};
use super::numbering::Id;
use super::table::Row;
use super::watched::{Watched, WatchedPod};
use jiff::{SignedDuration, Timestamp};
pub(super) use trainer::trend_of;
use wellfed_engine::evidence::{ContainerEvidence, Ended, Evidence, OwnEvidence};
use wellfed_engine::span::Span;

/// The samples of one thing, one place for each look that there should be, and how many there should be.
pub(super) struct Samples<'a> {
    rows: Vec<Option<Row<'a>>>,
    expected: usize,
    interval: SignedDuration,
    values: Vec<f64>,
}

impl<'a> Samples<'a> {
    fn expecting(expected: usize, interval: SignedDuration) -> Self {
        Self { rows: Vec::new(), expected, interval, values: Vec::new() }
    }

    /// Turns to one thing of a pod. A look that was never taken leaves its place empty.
    fn turn(&mut self, looks: &[&'a Look], subject: Subject, pod: Option<Id>, thing: Option<Id>) {
        self.rows.clear();
        for look in looks {
            let place = looks_in(look.at.duration_since(looks[0].at), self.interval);
            self.rows.resize(self.rows.len().max(place), None);
            self.rows.push(pod.zip(thing).and_then(|(pod, thing)| look.row(subject, pod, thing)));
        }
        self.expected = self.expected.max(self.rows.len());
    }

    /// What there is of a metric, oldest first.
    fn each(&self, metric: Metric) -> impl Iterator<Item = f64> {
        self.rows.iter().filter_map(move |row| row.as_ref()?.get(metric.column()))
    }

    /// The mean of what there is, and what it could be with what is missing. A look in which no request came has no part in
    /// a mean over requests, and misses nothing.
    fn mean(&mut self, metric: Metric) -> Option<Span> {
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        values.extend(self.each(metric));
        let there = values.len();
        values.retain(|value| *value > OF_NOTHING);
        let expected = self.expected.saturating_sub(there - values.len());
        let span = Span::of(&values, expected, metric.largest());
        self.values = values;
        span
    }

    /// The largest of what there is; with what is missing it could be more.
    fn peak(&self, metric: Metric) -> Option<Span> {
        let most = self.each(metric).reduce(f64::max)?;
        let whole = self.each(metric).count() >= self.expected;
        Some(Span { mean: most, low: most, high: if whole { most } else { most.max(metric.largest()) } })
    }
}

impl History {
    /// The evidence on `workload`; none before the first look, and while demand exceeds its target before the first since.
    pub fn evidence(&self, workload: &Watched) -> Option<Evidence> {
        let now = self.now()?;
        let from = self.counts_from(workload, now);
        let usable: Vec<&Look> = self.looks.iter().filter(|look| self.begins_after(look, from)).collect();
        let mut evidence = Evidence {
            class: workload.class,
            gate: workload.gate,
            demand: workload.demand(),
            at: usable.last()?.at,
            unanswered: now.duration_since(usable.last()?.at),
            covered: covered(usable.len(), self.interval),
            expected_gpus: 0,
            gpus: Vec::new(),
            containers: Vec::new(),
            ended: Vec::new(),
            servers: Vec::new(),
            trainers: Vec::new(),
            own: self.own_of(workload, &usable),
            backlog_lasts: workload.backlog_lasts,
            slo_breached: workload.slo_breached,
            sharded: workload.sharded,
        };
        let mut counts = exits::within(workload, now);
        let mut judged = 0;
        for pod in &workload.pods {
            let Ok(warm) = pod.ready_since.checked_add(workload.gate.warm_up) else { continue };
            // Looks are in order of time: those that are warm are the last ones.
            let warm = usable.partition_point(|look| !self.begins_after(look, warm));
            if warm < usable.len() {
                judged = judged.max(usable.len() - warm);
                self.add(&mut evidence, workload, pod, &usable[warm..]);
                if let Some(container) = evidence.containers.last_mut() {
                    let (exits, shared) = counts.remove(pod.name.as_str()).unwrap_or_default();
                    container.exits = exits;
                    container.shared |= shared;
                }
            }
        }
        // Looks at replicas that were cold cover nothing.
        evidence.covered = covered(judged, self.interval);
        // A container that keeps ending is never warm, and its end is all that is known of it.
        evidence.ended = counts.into_values().map(|(exits, shared)| Ended { exits, shared }).collect();
        self.inherited.mark(&mut evidence, workload);
        Some(evidence)
    }

    fn own_of(&self, workload: &Watched, looks: &[&Look]) -> OwnEvidence {
        self.own_evidence(workload, looks, self.due(looks))
    }

    /// How many looks there should be from the first of these until now: one that was never taken, or had no answer, is a
    /// missing sample too.
    fn due(&self, looks: &[&Look]) -> usize {
        let first = looks.first().map(|first| first.at).zip(self.now());
        let span = first.map_or(SignedDuration::ZERO, |(first, now)| now.duration_since(first));
        looks.len().max(looks_in(span, self.interval) + 1)
    }

    /// Since when what looks show counts: since demand exceeded its target, and for one window, of whole looks. What looks
    /// show late makes no window shorter: all of them show it late.
    fn counts_from(&self, workload: &Watched, now: Timestamp) -> Timestamp {
        // A look that began in it is in it; a little early is not too early.
        let begun = self.interval - SignedDuration::from_millis(1) - early(self.interval);
        let window = covered(looks_in(workload.gate.window + begun, self.interval), self.interval);
        let window = now - window - self.lag - early(self.interval);
        workload.since.map_or(window, |since| since.max(window))
    }

    /// Whether everything in a look is newer than `from`.
    fn begins_after(&self, look: &Look, from: Timestamp) -> bool {
        self.is_all_after(look.at, from)
    }

    fn add(&self, evidence: &mut Evidence, workload: &Watched, pod: &WatchedPod, looks: &[&Look]) {
        let id = self.pod(&workload.namespace, &pod.name);
        let mut samples = Samples::expecting(self.due(looks), self.interval);
        evidence.expected_gpus = evidence.expected_gpus.saturating_add(pod.gpus);
        self.add_gpus(evidence, id.map(|id| (id, pod)), looks, workload.weights, &mut samples);
        let shared = pod.shared || id.is_some_and(|id| self.shares_a_gpu(id, pod.ready_since));
        samples.turn(looks, Subject::Container, id, self.container(&pod.container));
        let container = ContainerEvidence {
            cores: samples.mean(Metric::Cores),
            limit: pod.cpu_limit,
            at_hand: pod.cpu_at_hand,
            shared,
            throttled: samples.mean(Metric::Throttled),
            pressure: samples.mean(Metric::Pressure),
            io_pressure: samples.mean(Metric::IoPressure),
            ..ContainerEvidence::default()
        };
        samples.turn(looks, Subject::Server, id, Some(super::slice::WHOLE));
        let network = busier(samples.mean(Metric::NetworkRx), samples.mean(Metric::NetworkTx));
        let lost = |metric| network.is_none() && self.ever_said(id, metric);
        let network_lost = lost(Metric::NetworkRx) || lost(Metric::NetworkTx);
        let mut container = ContainerEvidence { network, network_lost, ..container };
        self.add_node(&mut container, (id, pod), looks, &mut samples);
        samples.turn(looks, Subject::Server, id, Some(super::slice::WHOLE));
        evidence.containers.push(container);
        evidence.servers.push(self.server(id, &mut samples));
        evidence.trainers.push(self.trainer(id, &mut samples));
    }
}

/// The busier of two directions; one that is not there could be anything.
fn busier(one: Option<Span>, other: Option<Span>) -> Option<Span> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some(Span { mean: one.mean.max(other.mean), low: one.low.max(other.low), high: one.high.max(other.high) })
        }
        (Some(only), None) | (None, Some(only)) => Some(Span { high: f64::INFINITY, ..only }),
        (None, None) => None,
    }
}

fn covered(looks: usize, interval: SignedDuration) -> SignedDuration {
    interval * i32::try_from(looks).unwrap_or(i32::MAX)
}

/// How much too early a look may be and still be the next one.
fn early(interval: SignedDuration) -> SignedDuration {
    interval / 10
}

fn looks_in(span: SignedDuration, interval: SignedDuration) -> usize {
    let span = span + early(interval);
    usize::try_from(span.as_millis() / interval.as_millis().max(1)).unwrap_or(0)
}
