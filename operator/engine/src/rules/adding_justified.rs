//! Nothing speaks against more GPUs, and those that are there have been busy for long.

use super::{Rule, RuleName, Says, saturated};
use crate::evidence::Evidence;
use crate::opinion::Weight;

/// GPUs at work over a whole window, at the end of which demand exceeds its target and is no more than a tenth lower than
/// at its beginning: a backlog that goes away by itself pays for nothing. Shown, so that the money has its reason; it decides nothing, since
/// growth passes without it too.
pub struct AddingJustified;

impl Rule for AddingJustified {
    fn name(&self) -> RuleName {
        RuleName::AddingJustified
    }

    fn cause(&self) -> &'static str {
        "GPUs are busy with real work for long, and demand stays above its target"
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if seen.covers_a_window() && seen.backlog_lasts && seen.most_gpus(|gpu| saturated::at_work(gpu, seen)) {
            Says::Unopposed(Weight::Either, saturated::measured(seen))
        } else {
            Says::NotMine
        }
    }
}
