//! The evidence can't carry a verdict. Unknown is never starved and never busy.

use super::{Rule, RuleName, Says};
use crate::evidence::Evidence;
use crate::memory::Moment;
use crate::opinion::Gap;

/// Too little, unattributed or self-contradicting evidence.
pub struct DataInvalid;

impl Rule for DataInvalid {
    fn name(&self) -> RuleName {
        RuleName::DataInvalid
    }

    fn cause(&self) -> &'static str {
        "the evidence can't be trusted"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        gap(seen).map_or(Says::NotMine, Says::Invalid)
    }
}

fn gap(seen: &Evidence) -> Option<Gap> {
    if seen.expected_gpus == 0 {
        return Some(Gap::NoWarmReplica);
    }
    let coverage = seen.gate.thresholds.coverage;
    let known = count(seen.gpus.iter().filter(|gpu| gpu.is_known(coverage)).count());
    let contradicting = count(seen.gpus.iter().filter(|gpu| gpu.contradicts()).count());
    if f64::from(known) < coverage * f64::from(seen.expected_gpus) {
        return Some(match contradicting {
            0 if seen.unanswered.is_positive() => unanswered(seen),
            0 => Gap::GpusUnseen { seen: known, expected: seen.expected_gpus },
            gpus => Gap::Contradiction { gpus },
        });
    }
    // Half of the window: a burst is judged before a whole window has passed, but not on its first moments.
    let needed = seen.gate.window / 2;
    let too_short = || Gap::TooShort { covered: seen.covered, needed };
    let short = || if seen.unanswered.is_positive() { unanswered(seen) } else { too_short() };
    (seen.covered < needed).then(short)
}

fn unanswered(seen: &Evidence) -> Gap {
    Gap::Unanswered { since: Moment::of(seen.at) }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
