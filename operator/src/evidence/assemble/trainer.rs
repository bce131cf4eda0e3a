//! What a pod's trainer says.

use super::Samples;
use crate::evidence::bounds::DIVERGED;
use crate::evidence::history::History;
use crate::evidence::metric::Metric;
use crate::evidence::numbering::Id;
use wellfed_engine::evidence::{TrainerEvidence, Trend};

impl History {
    /// What the trainer in this pod said.
    pub(super) fn trainer(&self, pod: Option<Id>, samples: &mut Samples<'_>) -> TrainerEvidence {
        let data_wait_seconds = samples.mean(Metric::DataWaitSeconds);
        TrainerEvidence {
            step_seconds: samples.mean(Metric::StepSeconds),
            data_wait_seconds,
            data_wait_lost: data_wait_seconds.is_none() && self.ever_said(pod, Metric::DataWaitSeconds),
            throughput: samples.mean(Metric::Throughput),
            loss: trend(samples, Metric::Loss),
            quality: trend(samples, Metric::Quality),
        }
    }
}

/// How a number moved. None where a sample of either end is missing: one that is gone must not make a plateau.
fn trend(samples: &Samples<'_>, metric: Metric) -> Option<Trend> {
    let at = |row: &Option<super::Row<'_>>| row.as_ref()?.get(metric.column());
    if at(samples.rows.last()?)?.to_bits() == DIVERGED.to_bits() {
        return Some(Trend::Diverged);
    }
    let third = samples.expected.div_ceil(3);
    // Looks that were never taken leave no place, so the ends can't be told then.
    if samples.rows.len() < samples.expected || samples.rows.len() < 2 * third {
        return None;
    }
    let mean = |rows: &[Option<super::Row<'_>>]| {
        let sum = rows.iter().map(at).sum::<Option<f64>>()?;
        Some(sum / rows.len() as f64).filter(|mean| mean.is_finite())
    };
    let (first, last) = (mean(&samples.rows[..third])?, mean(&samples.rows[samples.rows.len() - third..])?);
    Some(Trend::Moved { first, last })
}
