//! What would have helped: the same seed with one replica more, and with the cause mended. Only the models are asked.

use crate::case::{Case, Group, Work};
use crate::play::{Moment, Onlooker, Outcome, Variant, play};
use anyhow::Result;

/// Adding helped when throughput or waiting improved by this share.
const HELPED: f64 = 0.10;
/// Two runs that differ by less brought the same.
const SAME: f64 = 0.02;
/// Fewer requests or samples a second are none.
const NOTHING: f64 = 1e-6;
/// What autoscalers leave alone: demand this little above its target.
const TOLERANCE: f64 = 0.10;

/// What a veto would have been in one scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    /// Since when demand exceeded its target and the cause was there, seconds; none where demand never did, so that the
    /// gate is never asked.
    pub asked: Option<f64>,
    /// One replica more improved throughput or waiting by at least 10 %.
    pub helped: bool,
    /// Mending the cause without adding brought at least as much as adding.
    pub free: bool,
    /// As it is.
    pub as_is: Outcome,
    /// With one replica more.
    pub one_more: Outcome,
    /// With the cause mended; the same as `as_is` where there is none.
    pub mended: Outcome,
}

impl Label {
    /// Whether a veto that names the cause is right: adding did not help, or the same gain was free.
    pub fn veto_is_right(&self, group: Group) -> bool {
        group.cause().is_some() && self.asked.is_some() && (!self.helped || self.free)
    }

    /// Whether a veto is right by the first half of the definition alone.
    pub fn veto_is_strictly_right(&self, group: Group) -> bool {
        group.cause().is_some() && self.asked.is_some() && !self.helped
    }
}

/// The demand of `case` at one moment, in units of what its replicas should bear.
fn demand(case: &Case, moment: &Moment) -> f64 {
    let all = match case.draft.work {
        Work::Inference => moment.waiting + moment.running,
        Work::Training => moment.waiting,
    };
    all / (case.draft.target * f64::from(case.draft.replicas))
}

/// Whether demand exceeds its target by more than an autoscaler tolerates, or the objective is missed where there is one.
pub fn exceeds(case: &Case, moment: &Moment) -> bool {
    match case.draft.slo {
        Some(slo) => moment.took.is_some_and(|took| took > slo.seconds),
        None => demand(case, moment) > 1.0 + TOLERANCE,
    }
}

/// The label of `case`; `onlooker` sees the run as it is.
pub fn label(case: &Case, onlooker: &mut impl Onlooker) -> Result<Label> {
    let moments = play(case, Variant::AsIs, onlooker)?;
    let asked = moments.iter().find(|moment| exceeds(case, moment)).map(|moment| moment.second);
    let asked = asked.map(|asked| asked.max(case.draft.cause_from));
    let outcome = |moments: &[Moment]| Outcome::since(case, asked.unwrap_or(0.0), moments);
    let as_is = outcome(&moments);
    let one_more = outcome(&play(case, Variant::OneMore, &mut ())?);
    let mended = if case.draft.mend.is_empty() { as_is } else { outcome(&play(case, Variant::Mended, &mut ())?) };
    Ok(Label {
        asked,
        helped: improves(&as_is, &one_more),
        free: group_free(case.group, &one_more, &mended),
        as_is,
        one_more,
        mended,
    })
}

/// Where nothing comes out nothing waits less, however fast it is worked through.
fn improves(before: &Outcome, after: &Outcome) -> bool {
    if after.throughput < NOTHING {
        return false;
    }
    after.throughput > before.throughput.max(1e-9) * (1.0 + HELPED) || after.waiting <= before.waiting * (1.0 - HELPED)
}

fn group_free(group: Group, added: &Outcome, mended: &Outcome) -> bool {
    group.cause().is_some()
        && mended.throughput >= added.throughput * (1.0 - SAME)
        && mended.waiting <= added.waiting * (1.0 + SAME)
}
