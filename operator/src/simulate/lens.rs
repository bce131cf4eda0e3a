//! What stands between exporters and the gate's lane, for who wants to see what broken telemetry does.

use super::sampler::SampledPod;
use crate::evidence::Slice;
use std::fmt;
use std::sync::Arc;

type Through = dyn Fn(Slice, &[SampledPod]) -> Option<Slice> + Send + Sync;

/// Makes of each look what the lane gets; of none nothing is changed.
#[derive(Clone, Default)]
pub struct Lens(Option<Arc<Through>>);

impl Lens {
    /// One that makes this of each look at these pods; none is a look that failed.
    pub fn of(through: impl Fn(Slice, &[SampledPod]) -> Option<Slice> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(through)))
    }

    /// What the lane gets of `slice`.
    pub(super) fn through(&self, slice: Slice, pods: &[SampledPod]) -> Option<Slice> {
        match &self.0 {
            Some(through) => through(slice, pods),
            None => Some(slice),
        }
    }
}

impl fmt::Debug for Lens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Lens(..)" } else { "Lens" })
    }
}
