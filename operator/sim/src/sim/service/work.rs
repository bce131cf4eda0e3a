//! Stretches of GPU work, charged as time passes.

use crate::sim::usage::Usage;
use std::collections::VecDeque;

/// SMs at work, tensor cycles in use and bytes a second of GPU memory while requests are computed.
const COMPUTE: (f64, f64, f64) = (0.70, 0.25, 1.0e12);
/// The same for what any batch costs, however small: weights are read and little is computed.
const FIXED: (f64, f64, f64) = (0.22, 0.03, 1.2e12);
/// The FP32 pipe's cycles in use while requests are computed.
const FP32: f64 = 0.12;

/// One after the other, as one GPU does them.
#[derive(Debug, Default)]
pub(super) struct Work(VecDeque<Stretch>);

#[derive(Debug)]
struct Stretch {
    begin: f64,
    end: f64,
    /// Share that is spent on requests and not on what any batch costs.
    dense: f64,
}

impl Work {
    /// Adds a stretch after all others; a share `dense` of it is spent on requests.
    pub(super) fn add(&mut self, begin: f64, end: f64, dense: f64) {
        self.0.push_back(Stretch { begin, end, dense });
    }

    /// What the work up to `until` takes of the GPU that was not charged yet.
    pub(super) fn charge(&mut self, until: f64) -> Usage {
        let mut used = Usage::default();
        while let Some(stretch) = self.0.front_mut().filter(|stretch| stretch.begin < until) {
            used += stretch.over(stretch.end.min(until) - stretch.begin);
            if stretch.end > until {
                stretch.begin = until;
                break;
            }
            self.0.pop_front();
        }
        used
    }
}

impl Stretch {
    fn over(&self, seconds: f64) -> Usage {
        worked(seconds, self.dense)
    }
}

/// What `seconds` of work take of a GPU, of which a share `dense` is spent on requests.
pub(crate) fn worked(seconds: f64, dense: f64) -> Usage {
    let (dense, fixed) = (seconds * dense, seconds * (1.0 - dense));
    Usage {
        gpu_busy: seconds,
        sm_active: dense * COMPUTE.0 + fixed * FIXED.0,
        tensor_active: dense * COMPUTE.1 + fixed * FIXED.1,
        fp32_active: dense * FP32,
        dram_bytes: dense * COMPUTE.2 + fixed * FIXED.2,
        ..Usage::default()
    }
}
