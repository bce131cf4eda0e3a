//! Requests queue at some replicas while others have nothing to do.

use super::{Certainty, Rule, RuleName, Says, below};
use crate::evidence::{Evidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// One replica's queue is several times as long as that of half of the replicas, and a share of them rests: nothing waits
/// there, and hardly anything runs beside what runs at the fullest.
pub struct Imbalance;

/// Requests that do not stick and keep no replica at work, at most: a few fill a small GPU, however many run on a large one
/// beside it.
const STRAY: f64 = 4.0;

/// Share of the replicas whose queue is so much shorter. Ours, as is the one above: where fewer are behind, requests may
/// just have come in a bad order.
const BEHIND: f64 = 0.5;

impl Rule for Imbalance {
    fn name(&self) -> RuleName {
        RuleName::Imbalance
    }

    fn cause(&self) -> &'static str {
        "requests queue at some replicas while others are idle"
    }

    fn consequence(&self) -> &'static str {
        "one more replica would be one more idle one"
    }

    fn certainty(&self) -> Certainty {
        Certainty::Uneven
    }

    fn infers(&self) -> bool {
        false
    }

    fn judge(&self, seen: &Evidence) -> Says {
        let limits = &seen.gate.thresholds;
        // Of all replicas: one that says nothing is neither idle nor behind.
        let all = seen.servers.len() as f64;
        let fullest = fullest(seen);
        let stray = (running_at_the_fullest(fullest, seen) / limits.imbalance_from).min(STRAY);
        let idle = count(seen, |server| rests(server, stray, seen));
        let behind = count(seen, |server| below(server.waiting, fullest / limits.imbalance_from));
        let some_idle = idle > 0.0 && idle >= limits.idle_replicas_from * all;
        if fullest >= limits.imbalance_from * limits.waiting_from && behind >= BEHIND * all && some_idle {
            Says::Found(Weight::Veto, measured(fullest, idle, seen))
        } else {
            Says::NotMine
        }
    }
}

fn rests(server: &ServerEvidence, stray: f64, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    below(server.waiting, limits.idle_below) && below(server.running, limits.idle_below.max(stray))
}

/// What surely runs where the longest queue is, whichever of the replicas has it.
fn running_at_the_fullest(fullest: f64, seen: &Evidence) -> f64 {
    let may_be_there = |server: &&ServerEvidence| server.waiting.is_none_or(|waiting| waiting.high >= fullest);
    let surely = |server: &ServerEvidence| server.running.map_or(0.0, |running| running.low);
    seen.servers.iter().filter(may_be_there).map(surely).reduce(f64::min).unwrap_or(0.0)
}

/// What surely waits at the fullest replica.
fn fullest(seen: &Evidence) -> f64 {
    seen.servers.iter().filter_map(|server| server.waiting).map(|waiting| waiting.low).fold(0.0, f64::max)
}

fn count(seen: &Evidence, test: impl Fn(&ServerEvidence) -> bool) -> f64 {
    seen.servers.iter().filter(|server| test(server)).count() as f64
}

fn measured(fullest: f64, idle: f64, seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    let replicas = seen.servers.len() as f64;
    vec![
        Measure::of(Quantity::RequestsWaitingMost, fullest, Some(limits.imbalance_from * limits.waiting_from)),
        Measure::of(Quantity::ServersIdle, idle, Some(limits.idle_replicas_from * replicas)),
    ]
}
