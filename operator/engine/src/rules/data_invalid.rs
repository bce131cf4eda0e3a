//! The evidence can't carry a verdict. Unknown is never starved and never busy.

use super::{Rule, RuleName, Says};
use crate::evidence::{Evidence, GpuEvidence};
use crate::opinion::Gap;

/// Too little, unattributed or self-contradicting evidence.
pub struct DataInvalid;

impl Rule for DataInvalid {
    fn name(&self) -> RuleName {
        RuleName::DataInvalid
    }

    fn judge(&self, seen: &Evidence) -> Says {
        gap(seen).map_or(Says::NotMine, Says::Invalid)
    }
}

fn gap(seen: &Evidence) -> Option<Gap> {
    if seen.expected_gpus == 0 {
        return Some(Gap::NoWarmReplica);
    }
    let known = count(seen.gpus.iter().filter(|gpu| gpu.activity().is_some()).count());
    if f64::from(known) < seen.gate.thresholds.coverage * f64::from(seen.expected_gpus) {
        return Some(Gap::GpusUnseen { seen: known, expected: seen.expected_gpus });
    }
    // Half of the window: a burst is judged before a whole window has passed, but not on its first moments.
    let needed = seen.gate.window / 2;
    if seen.covered < needed {
        return Some(Gap::TooShort { covered: seen.covered, needed });
    }
    let contradicting = count(seen.gpus.iter().filter(|gpu| contradicts(gpu)).count());
    (contradicting > 0).then_some(Gap::Contradiction { gpus: contradicting })
}

/// Always running kernels that use nothing: the profiling counters are broken (seen after XID 31), or the job hangs.
/// Either way the numbers do not tell whether GPUs wait for data.
fn contradicts(gpu: &GpuEvidence) -> bool {
    let profiled = [gpu.engine, gpu.tensor, gpu.dram];
    gpu.util.is_some_and(|util| util.at_least(0.9))
        && profiled.iter().any(Option::is_some)
        && profiled.iter().flatten().all(|value| value.below(1e-9))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
