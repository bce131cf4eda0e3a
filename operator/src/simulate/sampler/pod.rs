//! What was scraped of one pod since the last slice.

use super::means::{Counted, Means};
use super::server::Said;
use crate::evidence::{Metric, OF_NOTHING, PodKey, Slice};
use std::collections::BTreeMap;
use wellfed_sim::meter::Sample;
use wellfed_sim::product::Product;
use wellfed_sim::scenario::Exporter;
use wellfed_sim::sim::Usage;
use wellfed_sim::sim::histogram::Histogram;

/// What was scraped of one pod since the last slice.
#[derive(Debug)]
pub struct Pod {
    key: PodKey,
    container: String,
    /// As the driver names it.
    model: String,
    product: Product,
    /// When it was last seen, seconds.
    pub seen: f64,
    gpus: BTreeMap<String, Means>,
    usage: Counted<Usage>,
    /// Whether its container has a CPU limit, and so periods.
    limited: bool,
    gauges: Means,
    said: Counted<Said>,
}

impl Pod {
    /// Nothing scraped yet.
    pub fn of(key: &PodKey, container: &str, product: &str) -> Self {
        Self {
            key: key.clone(),
            container: container.to_owned(),
            // One that is given with spaces is given as the driver names it.
            model: if product.contains(' ') { product.to_owned() } else { product.replace('-', " ") },
            product: Product::named(product),
            seen: f64::NEG_INFINITY,
            gpus: BTreeMap::new(),
            usage: Counted::default(),
            limited: false,
            gauges: Means::default(),
            said: Counted::default(),
        }
    }

    /// One scrape of dcgm-exporter for the GPU `name`.
    pub fn gpu(&mut self, name: &str, sample: &Sample, exporter: &Exporter) {
        if !self.gpus.contains_key(name) {
            self.gpus.insert(name.to_owned(), Means::default());
        }
        let Some(means) = self.gpus.get_mut(name) else { return };
        let memory = f64::from(self.product.memory_mib);
        let standard = [
            // Utilisation is exported in whole percents.
            (Metric::Util, (sample.busy * 100.0).round() / 100.0),
            (Metric::Engine, sample.busy),
            (Metric::Dram, sample.dram),
            (Metric::Tensor, sample.tensor),
            (Metric::PcieRx, sample.pcie_rx),
            (Metric::PcieTx, sample.pcie_tx),
            (Metric::Memory, sample.memory_used / memory),
            (Metric::Clock, sample.sm_clock),
            (Metric::Power, sample.power),
        ];
        for (metric, value) in standard {
            means.add(metric, value);
        }
        if exporter.sm_active {
            means.add(Metric::Sm, sample.sm);
        }
        if exporter.further_counters {
            means.add(Metric::NvlinkRx, sample.nvlink_rx);
            means.add(Metric::NvlinkTx, sample.nvlink_tx);
            means.add(Metric::Fp32, sample.fp32);
            means.add(Metric::PowerLimit, self.product.power_limit);
            means.latest(Metric::ClocksHeld, f64::from(u8::from(sample.clocks_held > 0.0)));
        }
    }

    /// The kubelet's counters of its container.
    pub fn container(&mut self, at: f64, used: Usage, limit: Option<f64>) {
        self.limited = limit.is_some();
        self.usage.note(at, used);
    }

    /// Its own metrics.
    pub fn server(&mut self, at: f64, said: Said) {
        for (metric, value) in &said.gauges {
            // What can't be a measurement does not count, and a loss that is no number is one that diverged.
            metric.believed(*value).into_iter().for_each(|value| self.gauges.add(*metric, value));
        }
        self.said.note(at, said);
    }

    /// Its own metrics, which show what they showed before.
    pub fn server_again(&mut self, at: f64) {
        if let Some(said) = self.said.last().cloned() {
            self.server(at, said);
        }
    }

    /// Puts the means into `slice`, and begins anew; counters go on from where they are.
    pub fn note(&mut self, slice: &mut Slice, pressure: bool) {
        for (gpu, means) in &mut self.gpus {
            if means.is_empty() {
                continue;
            }
            slice.note_product(gpu, &self.model);
            if let Some(swing) = means.deviation(Metric::Engine) {
                slice.note_gpu(&self.key, gpu, Metric::Swing, swing);
            }
            if let Some(peak) = means.largest(Metric::Memory) {
                slice.note_gpu(&self.key, gpu, Metric::MemoryPeak, peak);
            }
            means.drain().for_each(|(metric, mean)| slice.note_gpu(&self.key, gpu, metric, mean));
        }
        self.note_container(slice, pressure);
        self.gauges.drain().for_each(|(metric, mean)| slice.note_server(&self.key, metric, mean));
        if let Some((first, last, seconds)) = self.said.span() {
            grown(first, last, seconds).for_each(|(metric, value)| slice.note_server(&self.key, metric, value));
        }
        self.usage.go_on();
        self.said.go_on();
    }

    fn note_container(&self, slice: &mut Slice, pressure: bool) {
        let Some((first, last, seconds)) = self.usage.span() else { return };
        let rate = |value: fn(&Usage) -> f64| (value(last) - value(first)) / seconds;
        let mut note = |metric, value| slice.note_container(&self.key, &self.container, metric, value);
        note(Metric::Cores, rate(|used| used.cpu_seconds));
        if pressure {
            note(Metric::Pressure, rate(|used| used.cpu_waiting).clamp(0.0, 1.0));
            note(Metric::IoPressure, rate(|used| used.io_waiting).clamp(0.0, 1.0));
        }
        let periods = last.cfs_periods - first.cfs_periods;
        if self.limited && periods > 0.0 {
            note(Metric::Throttled, ((last.cfs_throttled - first.cfs_throttled) / periods).clamp(0.0, 1.0));
        }
        slice.note_server(&self.key, Metric::NetworkRx, rate(|used| used.net_rx_bytes));
        slice.note_server(&self.key, Metric::NetworkTx, rate(|used| used.net_tx_bytes));
    }
}

/// What counters grew by in a second, and the means of what was counted, between two moments.
fn grown(first: &Said, last: &Said, seconds: f64) -> impl Iterator<Item = (Metric, f64)> {
    let pairs = first.counters.iter().zip(&last.counters);
    let counters = pairs.map(move |((metric, before), (_, now))| (*metric, ((now - before) / seconds).max(0.0)));
    let pairs = first.means.iter().zip(&last.means);
    let means = pairs.map(|((metric, before), (_, now))| {
        let count = now.1 - before.1;
        (*metric, if count > 0.0 { (now.0 - before.0) / count } else { OF_NOTHING })
    });
    counters.chain(means).chain(first.prompts.as_ref().zip(last.prompts.as_ref()).map(spread))
}

fn spread((first, last): (&Histogram, &Histogram)) -> (Metric, f64) {
    let of = |quantile| super::quantile::between(first, last, quantile);
    (Metric::PromptSpread, of(0.95).zip(of(0.5)).map_or(OF_NOTHING, |(long, median)| long / median))
}
