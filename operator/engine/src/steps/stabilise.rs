//! How fast the number may move: HPA's behaviour block, and no shrinking before a new workload is known.

use crate::changes;
use crate::decision::{Direction, Reason, StepResult};
use crate::memory::{Adoption, Memory};
use crate::policy::{Amount, Behavior, Pace, Select};
use crate::units::Replicas;
use jiff::Timestamp;

/// `want` as far as the windows, the rate policies and the adoption let it move from `current`.
pub fn stabilise(
    want: Replicas,
    current: Replicas,
    behavior: &Behavior,
    memory: &Memory,
    now: Timestamp,
) -> StepResult {
    let windowed = within_windows(want, current, behavior, memory, now);
    match adopting(memory, behavior, now) {
        Some(reason) if windowed.after < current => return StepResult { after: current, reason },
        _ => {}
    }
    rate_limited(windowed, current, behavior, memory, now)
}

fn within_windows(
    want: Replicas,
    current: Replicas,
    behavior: &Behavior,
    memory: &Memory,
    now: Timestamp,
) -> StepResult {
    let lowest = memory.desires.lowest(now, behavior.up.window).unwrap_or(want).min(want);
    let highest = memory.desires.highest(now, behavior.down.window).unwrap_or(want).max(want);
    // Never further up than the lowest recent desire, never further down than the highest.
    let lowest = if behavior.up.window.is_zero() { want } else { lowest };
    let highest = if behavior.down.window.is_zero() { want } else { highest };
    let after = current.max(lowest).min(highest);
    let held = |direction, window| StepResult { after, reason: Reason::Window { direction, window } };
    match after.cmp(&want) {
        std::cmp::Ordering::Equal => StepResult { after, reason: Reason::Unchanged },
        std::cmp::Ordering::Less => held(Direction::Up, behavior.up.window),
        std::cmp::Ordering::Greater => held(Direction::Down, behavior.down.window),
    }
}

/// That the adoption has not ended; none when it has.
fn adopting(memory: &Memory, behavior: &Behavior, now: Timestamp) -> Option<Reason> {
    match memory.adoption {
        Adoption::Done => None,
        Adoption::Watching { known_since: None } => Some(Reason::Adopting { until: None }),
        Adoption::Watching { known_since: Some(since) } => {
            let until = since.plus(behavior.down.window);
            (now < until).then_some(Reason::Adopting { until: Some(until) })
        }
    }
}

fn rate_limited(
    want: StepResult,
    current: Replicas,
    behavior: &Behavior,
    memory: &Memory,
    now: Timestamp,
) -> StepResult {
    let (direction, pace) = match want.after.cmp(&current) {
        std::cmp::Ordering::Equal => return want,
        std::cmp::Ordering::Greater => (Direction::Up, &behavior.up),
        std::cmp::Ordering::Less => (Direction::Down, &behavior.down),
    };
    if pace.select == Select::Disabled {
        return StepResult { after: current, reason: Reason::DirectionDisabled { direction } };
    }
    let limit = limit(direction, pace, current, memory, now);
    let after = match direction {
        Direction::Up => want.after.min(limit.max(current)),
        Direction::Down => want.after.max(limit.min(current)),
    };
    if after == want.after { want } else { StepResult { after, reason: Reason::RateLimited { direction } } }
}

/// How far the policies let it go.
fn limit(direction: Direction, pace: &Pace, current: Replicas, memory: &Memory, now: Timestamp) -> Replicas {
    let limits = pace.policies.iter().map(|policy| {
        let added = changes::within(&memory.ups, now, policy.period);
        let removed = changes::within(&memory.downs, now, policy.period);
        let start = current.plus(removed).minus(added);
        match (direction, policy.amount) {
            (Direction::Up, Amount::Pods(pods)) => start.plus(Replicas(pods)),
            (Direction::Down, Amount::Pods(pods)) => start.minus(Replicas(pods)),
            (Direction::Up, Amount::Percent(percent)) => percent_up(start, percent),
            (Direction::Down, Amount::Percent(percent)) => percent_down(start, percent),
        }
    });
    let (most, least) = (limits.clone().max(), limits.min());
    let unlimited = match direction {
        Direction::Up => Replicas(u32::MAX),
        Direction::Down => Replicas::ZERO,
    };
    match (direction, pace.select) {
        (Direction::Up, Select::Max) | (Direction::Down, Select::Min) => most.unwrap_or(unlimited),
        (Direction::Up, Select::Min) | (Direction::Down, Select::Max) => least.unwrap_or(unlimited),
        (_, Select::Disabled) => current,
    }
}

fn percent_up(start: Replicas, percent: u32) -> Replicas {
    let grown = (u128::from(start.0) * (100 + u128::from(percent))).div_ceil(100);
    Replicas(u32::try_from(grown).unwrap_or(u32::MAX))
}

fn percent_down(start: Replicas, percent: u32) -> Replicas {
    let left = u64::from(start.0) * u64::from(100_u32.saturating_sub(percent)) / 100;
    Replicas(u32::try_from(left).unwrap_or(u32::MAX))
}
