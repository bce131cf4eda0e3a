//! What is known of a pod's GPUs.

use super::{Samples, busier};
use crate::evidence::boards::Board;
use crate::evidence::history::{History, Look};
use crate::evidence::metric::{Metric, Subject};
use crate::evidence::numbering::Id;
use crate::evidence::watched::WatchedPod;
use wellfed_engine::evidence::{Evidence, GpuEvidence};
use wellfed_engine::span::Span;

/// What an exporter reads with one call: where it is stuck, all of it stands still.
const ACTIVITY: [Metric; 5] = [Metric::Util, Metric::Engine, Metric::Sm, Metric::Dram, Metric::Tensor];
/// Both ways of a link.
const NVLINK: [Metric; 2] = [Metric::NvlinkRx, Metric::NvlinkTx];
const PCIE: [Metric; 2] = [Metric::PcieRx, Metric::PcieTx];
/// Samples of a number that stands still before it is called frozen.
const FROZEN_FROM: usize = 3;
/// Samples at the end that stand still, power too, before the whole exporter is called stuck.
const STUCK_FROM: usize = 5;
/// A GPU whose power moves by this share of it does not do the same all the time.
const POWER_MOVES: f64 = 0.05;
/// No standard deviation of numbers between 0 and 1 is larger.
const LARGEST_SWING: f64 = 0.5;

impl History {
    /// The GPUs that the pod had in any of the looks, in the order of their names. Its model's weights take `weights`
    /// gigabytes of each.
    pub(super) fn add_gpus<'a>(
        &'a self,
        evidence: &mut Evidence,
        pod: Option<(Id, &WatchedPod)>,
        looks: &[&'a Look],
        weights: Option<f64>,
        samples: &mut Samples<'a>,
    ) {
        let Some((pod, watched)) = pod else { return };
        let mut boards: Vec<Id> = looks.iter().flat_map(|look| look.boards_of(pod)).copied().collect();
        boards.sort_unstable_by_key(|board| self.boards.name(*board));
        boards.dedup();
        for board in boards {
            samples.turn(looks, Subject::Gpu, Some(pod), Some(board));
            let shared = watched.shared || self.is_shared(board, pod, watched.ready_since);
            let weights = weights.zip(self.gigabytes(board)).map(|(weights, all)| weights / all);
            evidence.gpus.push(GpuEvidence { shared, weights, ..self.gpu(board, samples) });
        }
    }

    fn gpu(&self, board: Id, samples: &mut Samples<'_>) -> GpuEvidence {
        let whole = !self.boards.name(board).contains('/');
        let product = self.product(board).filter(|_| whole);
        let power = self.power(board, samples).filter(|_| whole);
        let mut link = |peak: Option<f64>, ways: [Metric; 2]| {
            of_peak(busier(samples.mean(ways[0]), samples.mean(ways[1]))?, peak?)
        };
        let nvlink = link(product.and_then(|product| product.nvlink), NVLINK);
        let pcie = link(product.and_then(|product| product.pcie), PCIE);
        // Without a peak there was never a share of it to lose.
        let lost = |share: Option<Span>, peak: Option<f64>, ways: [Metric; 2]| {
            share.is_none() && peak.is_some() && ways.into_iter().any(|way| self.ever(board, way))
        };
        let measured = GpuEvidence {
            // Of a MIG instance these are the whole board's, which others use too.
            power,
            power_lost: whole && power.is_none() && self.knew_power(board),
            nvlink,
            nvlink_lost: lost(nvlink, product.and_then(|product| product.nvlink), NVLINK),
            pcie,
            pcie_lost: lost(pcie, product.and_then(|product| product.pcie), PCIE),
            pcie_rx: samples.mean(Metric::PcieRx),
            memory: samples.mean(Metric::Memory),
            memory_peak: samples.peak(Metric::MemoryPeak),
            memory_swing: memory_swing(samples),
            clock: samples.mean(Metric::Clock),
            product: self.model(board),
            generation: self.product(board).and_then(Board::generation),
            clocks_held: samples.mean(Metric::ClocksHeld),
            clock_events: samples.mean(Metric::ClockEvents),
            lanes: samples.mean(Metric::PcieLanes),
            lanes_most: samples.each(Metric::PcieLanesMost).reduce(f64::max),
            lanes_most_lost: self.has_lost(board, Metric::PcieLanesMost, samples),
            xid: xid(samples),
            ..GpuEvidence::default()
        };
        let activity = if self.ever(board, Metric::Power) && is_frozen(samples) {
            GpuEvidence::default()
        } else {
            activity(samples)
        };
        let lost = |field: Option<Span>, metric| field.is_none() && self.ever(board, metric);
        let seen = GpuEvidence {
            util: activity.util,
            engine: activity.engine,
            engine_lost: lost(activity.engine, Metric::Engine),
            sm: activity.sm,
            sm_lost: lost(activity.sm, Metric::Sm),
            dram: activity.dram,
            dram_lost: lost(activity.dram, Metric::Dram),
            tensor: activity.tensor,
            tensor_lost: lost(activity.tensor, Metric::Tensor),
            fp32: activity.fp32,
            swing: activity.swing,
            ..measured
        };
        if whole { seen } else { without_the_boards(&seen) }
    }

    /// Of a whole board of a known product.
    fn gigabytes(&self, board: Id) -> Option<f64> {
        let whole = !self.boards.name(board).contains('/');
        self.product(board).filter(|_| whole).and_then(Board::gigabytes)
    }

    fn ever(&self, board: Id, metric: Metric) -> bool {
        self.looks.back().is_some_and(|last| self.measured_gpu(board, metric, last.at))
    }

    fn has_lost(&self, board: Id, metric: Metric, samples: &Samples<'_>) -> bool {
        samples.each(metric).next().is_none() && self.ever(board, metric)
    }

    /// Whether its power over a limit was known lately.
    fn knew_power(&self, board: Id) -> bool {
        self.ever(board, Metric::Power) && (self.ever(board, Metric::PowerLimit) || self.product(board).is_some())
    }

    /// Over the limit in force; over the product's own only where the one in force was never seen, since it may be lower.
    fn power(&self, board: Id, samples: &mut Samples<'_>) -> Option<Span> {
        let power = samples.mean(Metric::Power)?;
        let set = samples.mean(Metric::PowerLimit);
        let by_product = || self.product(board).map(|product| Span::exact(product.watts));
        let limit = if self.ever(board, Metric::PowerLimit) { set } else { by_product() };
        power.share_of(limit?)
    }
}

fn activity(samples: &mut Samples<'_>) -> GpuEvidence {
    GpuEvidence {
        util: samples.mean(Metric::Util),
        engine: samples.mean(Metric::Engine),
        sm: samples.mean(Metric::Sm),
        dram: samples.mean(Metric::Dram),
        tensor: samples.mean(Metric::Tensor),
        fp32: samples.mean(Metric::Fp32),
        swing: swing(samples),
        ..GpuEvidence::default()
    }
}

/// Of a MIG instance the exporter sends these of the board, which others use too, and a utilisation that reads zero.
fn without_the_boards(instance: &GpuEvidence) -> GpuEvidence {
    GpuEvidence { util: None, pcie_rx: None, clock: None, clocks_held: None, clock_events: None, ..*instance }
}

/// An error that appeared within the window: the number that the exporter shows never clears, so only a change tells, and
/// the same error twice does not show.
fn xid(samples: &Samples<'_>) -> Option<u16> {
    let mut known = samples.each(Metric::Xid);
    let mut last = known.next()?;
    let appeared = known.filter(|value| std::mem::replace(&mut last, *value).to_bits() != value.to_bits());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // believed up to four digits
    appeared.filter(|value| *value >= 1.0).last().map(|value| value as u16)
}

/// A link's traffic over its peak. More than the peak is a counter that counts something else.
fn of_peak(traffic: Span, peak: f64) -> Option<Span> {
    let share = traffic.scaled(1.0 / peak);
    (share.mean <= 1.05).then_some(Span { high: share.high.min(1.0).max(share.mean), ..share })
}

/// The standard deviation over the whole window: within the looks and between them. With the missing samples at the mean
/// of the others it is smallest.
fn swing(samples: &Samples<'_>) -> Option<Span> {
    let pairs = || {
        let both = |row: &Option<super::Row<'_>>| {
            let row = row.as_ref()?;
            Some((row.get(Metric::Engine.column())?, row.get(Metric::Swing.column())?))
        };
        samples.rows.iter().filter_map(both)
    };
    let count = pairs().count();
    if count == 0 {
        return None;
    }
    let mean = pairs().map(|(engine, _)| engine).sum::<f64>() / count as f64;
    let squares: f64 = pairs().map(|(engine, swing)| swing.mul_add(swing, (engine - mean).powi(2))).sum();
    Some(deviation(squares, count, samples.expected))
}

/// The same of the memory in use, between the looks alone.
fn memory_swing(samples: &Samples<'_>) -> Option<Span> {
    let used = || samples.each(Metric::Memory);
    let count = used().count();
    if count == 0 {
        return None;
    }
    let mean = used().sum::<f64>() / count as f64;
    Some(deviation(used().map(|used| (used - mean).powi(2)).sum(), count, samples.expected))
}

/// From the sum of the squares of `count` distances from the mean, of `expected` that there should be.
fn deviation(squares: f64, count: usize, expected: usize) -> Span {
    let deviation = |of: usize| (squares / of as f64).sqrt().min(LARGEST_SWING);
    let high = if expected > count { LARGEST_SWING } else { deviation(count) };
    Span { mean: deviation(count), low: deviation(expected.max(count)), high }
}

/// Every activity stands still to the last digit while the power moves, or the power stands still with it: the exporter
/// sends what it read long ago. Of a GPU whose power was never seen there is nothing to hold it against.
fn is_frozen(samples: &Samples<'_>) -> bool {
    // A board's power is never the same for minutes, not even at rest.
    let stuck = |metric: &Metric| stands_for(samples, *metric) >= STUCK_FROM;
    (stuck(&Metric::Power) && ACTIVITY.iter().all(stuck)) || (power_may_move(samples) && stands_at_work(samples))
}

/// Places at the end that are the same to the last digit; one that is missing may have been.
fn stands_for(samples: &Samples<'_>, metric: Metric) -> usize {
    let mut last = None;
    let alike = |row: &&Option<super::Row<'_>>| {
        let value = row.as_ref().and_then(|row| row.get(metric.column())).map(f64::to_bits);
        value.is_none_or(|value| *last.get_or_insert(value) == value)
    };
    samples.rows.iter().rev().take_while(alike).count()
}

/// Whether the power moved, or samples of it are missing that may have.
fn power_may_move(samples: &Samples<'_>) -> bool {
    let watts = || samples.each(Metric::Power);
    let (least, most) = watts().fold((f64::MAX, 0.0_f64), |(least, most), watts| (least.min(watts), most.max(watts)));
    watts().count() < samples.rows.len() || most - least >= POWER_MOVES * most
}

/// Whether all that there is of every activity is one number, and not all of these numbers are nothing or everything.
fn stands_at_work(samples: &Samples<'_>) -> bool {
    let mut works = false;
    let stands = |metric: &Metric| {
        let mut values = samples.each(*metric);
        let Some(first) = values.next() else { return true };
        works |= first > 0.0 && first < 1.0;
        values.all(|value| value.to_bits() == first.to_bits())
    };
    samples.rows.len() >= FROZEN_FROM && ACTIVITY.iter().all(stands) && works
}
