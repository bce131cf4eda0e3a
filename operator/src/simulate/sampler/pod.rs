//! What was scraped of one pod since the last slice.

use super::server::Said;
use crate::evidence::{Metric, PodKey, Slice};
use std::collections::BTreeMap;
use wellfed_sim::meter::Sample;
use wellfed_sim::sim::Usage;

/// What was scraped of one pod since the last slice.
#[derive(Debug)]
pub struct Pod {
    key: PodKey,
    container: String,
    /// As the driver names it.
    model: String,
    /// When it was last seen, seconds.
    pub seen: f64,
    gpus: BTreeMap<String, Means>,
    usage: Counted<Usage>,
    /// Whether its container has a CPU limit, and so periods.
    limited: bool,
    gauges: Means,
    said: Counted<Said>,
}

/// A sum and how many, by metric.
type Means = BTreeMap<Metric, (f64, u32)>;

/// A set of counters at the beginning of the slice and now, each with its time.
#[derive(Clone, Copy, Debug)]
struct Counted<T> {
    first: Option<(f64, T)>,
    last: Option<(f64, T)>,
}

impl<T: Copy> Counted<T> {
    const NONE: Self = Self { first: None, last: None };

    fn note(&mut self, at: f64, value: T) {
        self.first.get_or_insert((at, value));
        self.last = Some((at, value));
    }

    /// Both ends and the seconds between them; none without two samples.
    fn span(&self) -> Option<(T, T, f64)> {
        let ((from, first), (until, last)) = (self.first?, self.last?);
        (until > from).then_some((first, last, until - from))
    }
}

impl Pod {
    /// Nothing scraped yet.
    pub fn of(key: &PodKey, container: &str, product: &str) -> Self {
        Self {
            key: key.clone(),
            container: container.to_owned(),
            model: product.replace('-', " "),
            seen: f64::NEG_INFINITY,
            gpus: BTreeMap::new(),
            usage: Counted::NONE,
            limited: false,
            gauges: Means::new(),
            said: Counted::NONE,
        }
    }

    /// One collection of dcgm-exporter for the GPU `name`.
    pub fn gpu(&mut self, name: &str, sample: &Sample, sm_active: bool) {
        if !self.gpus.contains_key(name) {
            self.gpus.insert(name.to_owned(), Means::new());
        }
        let Some(means) = self.gpus.get_mut(name) else { return };
        // Utilisation is exported in whole percents.
        add(means, Metric::Util, (sample.busy * 100.0).round() / 100.0);
        add(means, Metric::Engine, sample.busy);
        add(means, Metric::Dram, sample.dram);
        add(means, Metric::Tensor, sample.tensor);
        add(means, Metric::PcieRx, sample.pcie_rx);
        add(means, Metric::Power, sample.power);
        if sm_active {
            add(means, Metric::Sm, sample.sm);
        }
    }

    /// The kubelet's counters of its container.
    pub fn container(&mut self, at: f64, used: Usage, limit: Option<f64>) {
        self.limited = limit.is_some();
        self.usage.note(at, used);
    }

    /// Its own metrics.
    pub fn server(&mut self, at: f64, said: Said) {
        add(&mut self.gauges, Metric::Running, said.running);
        add(&mut self.gauges, Metric::Waiting, said.waiting);
        add(&mut self.gauges, Metric::Kv, said.kv);
        self.said.note(at, said);
    }

    /// Its own metrics, which show what they showed before.
    pub fn server_again(&mut self, at: f64) {
        if let Some((_, said)) = self.said.last {
            self.server(at, said);
        }
    }

    /// Puts the means into `slice`, and begins anew; counters go on from where they are.
    pub fn note(&mut self, slice: &mut Slice) {
        for (gpu, means) in &mut self.gpus {
            if !means.is_empty() {
                slice.note_product(gpu, &self.model);
            }
            for (metric, mean) in drain(means) {
                slice.note_gpu(&self.key, gpu, metric, mean);
            }
        }
        if let Some((first, last, seconds)) = self.usage.span() {
            let cores = (last.cpu_seconds - first.cpu_seconds) / seconds;
            slice.note_container(&self.key, &self.container, Metric::Cores, cores);
            let periods = last.cfs_periods - first.cfs_periods;
            if self.limited && periods > 0.0 {
                let throttled = ((last.cfs_throttled - first.cfs_throttled) / periods).clamp(0.0, 1.0);
                slice.note_container(&self.key, &self.container, Metric::Throttled, throttled);
            }
        }
        for (metric, mean) in drain(&mut self.gauges) {
            slice.note_server(&self.key, metric, mean);
        }
        if let Some((first, last, seconds)) = self.said.span() {
            let counters = [
                (Metric::Preemptions, first.preemptions.zip(last.preemptions)),
                (Metric::Progress, first.progress.zip(last.progress)),
            ];
            for (metric, ends) in counters {
                let rate = ends.map(|(first, last)| ((last - first) / seconds).max(0.0));
                rate.into_iter().for_each(|rate| slice.note_server(&self.key, metric, rate));
            }
        }
        self.usage.first = self.usage.last;
        self.said.first = self.said.last;
    }
}

fn add(means: &mut Means, metric: Metric, value: f64) {
    let (sum, count) = means.entry(metric).or_default();
    *sum += value;
    *count += 1;
}

fn drain(means: &mut Means) -> impl Iterator<Item = (Metric, f64)> {
    std::mem::take(means).into_iter().map(|(metric, (sum, count))| (metric, sum / f64::from(count)))
}
