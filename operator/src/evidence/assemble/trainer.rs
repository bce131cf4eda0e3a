//! What a pod's trainer says.

use super::Samples;
use crate::evidence::bounds::DIVERGED;
use crate::evidence::history::History;
use crate::evidence::metric::Metric;
use crate::evidence::numbering::Id;
use wellfed_engine::evidence::{TrainerEvidence, Trend};
use wellfed_engine::span::Span;

impl History {
    /// What the trainer in this pod said.
    pub(super) fn trainer(&self, pod: Option<Id>, samples: &mut Samples<'_>) -> TrainerEvidence {
        let ever = |metric| self.ever_said(pod, metric);
        let step_seconds = samples.mean(Metric::StepSeconds);
        // A trainer that counts samples is never taken for one that counts tokens, not even while it says nothing.
        let tokens = ever(Metric::TrainedTokens) && !ever(Metric::Throughput);
        let work = if tokens { Metric::TrainedTokens } else { Metric::Throughput };
        let (data_wait_seconds, throughput) = (data_wait(samples, step_seconds), samples.mean(work));
        let steps = samples.mean(Metric::Steps);
        let (loss, quality) = (trend(samples, Metric::Loss), trend(samples, Metric::Quality));
        TrainerEvidence {
            step_seconds,
            data_wait_seconds,
            data_wait_lost: data_wait_seconds.is_none() && ever(Metric::DataWaitSeconds),
            throughput,
            throughput_lost: throughput.is_none() && ever(work),
            tokens,
            steps,
            steps_lost: steps.is_none() && ever(Metric::Steps),
            loss,
            quality,
            loss_lost: loss.is_none() && ever(Metric::Loss),
            quality_lost: quality.is_none() && ever(Metric::Quality),
        }
    }
}

/// The wait in a step of mean length whose share is the share of time that was waited: of looks, each counts as one. Of
/// the seconds themselves, a minute of steps five times as long would count five times.
fn data_wait(samples: &mut Samples<'_>, step: Option<Span>) -> Option<Span> {
    let share = |row: &Option<super::Row<'_>>| {
        let row = row.as_ref()?;
        let share = row.get(Metric::DataWaitSeconds.column())? / row.get(Metric::StepSeconds.column())?;
        share.is_finite().then_some(share.min(1.0))
    };
    let shares: Vec<f64> = samples.rows.iter().filter_map(share).collect();
    let waited = Span::of(&shares, samples.expected, 1.0).zip(step).map(|(share, step)| share.scaled(step.mean));
    waited.or_else(|| samples.mean(Metric::DataWaitSeconds))
}

/// How a number moved.
fn trend(samples: &Samples<'_>, metric: Metric) -> Option<Trend> {
    let at = |row: &Option<super::Row<'_>>| row.as_ref()?.get(metric.column());
    trend_of(&samples.rows.iter().map(at).collect::<Vec<_>>(), samples.expected)
}

/// How a number moved, by its value at each look, oldest first. None where a sample of either end is missing: one that is gone
/// must not make a plateau.
pub fn trend_of(looks: &[Option<f64>], expected: usize) -> Option<Trend> {
    if (*looks.last()?)?.to_bits() == DIVERGED.to_bits() {
        return Some(Trend::Diverged);
    }
    let third = expected.div_ceil(3);
    // Looks that were never taken leave no place, so the ends can't be told then.
    if looks.len() < expected || looks.len() < 2 * third {
        return None;
    }
    let mean = |looks: &[Option<f64>]| {
        let sum = looks.iter().copied().sum::<Option<f64>>()?;
        Some(sum / looks.len() as f64).filter(|mean| mean.is_finite())
    };
    let (first, last) = (mean(&looks[..third])?, mean(&looks[looks.len() - third..])?);
    Some(Trend::Moved { first, last })
}
