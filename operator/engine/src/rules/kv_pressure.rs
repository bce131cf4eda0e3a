//! The KV cache is full: a true limit, which more GPUs lift, and so may a smaller cache entry.

use super::{Rule, RuleName, Says, at_least, measure};
use crate::evidence::{Evidence, ServerEvidence};
use crate::opinion::{Measure, Quantity, Weight};

/// Requests wait while the KV cache is full, or requests are thrown out of it.
pub struct KvPressure;

impl Rule for KvPressure {
    fn name(&self) -> RuleName {
        RuleName::KvPressure
    }

    fn cause(&self) -> &'static str {
        "the KV cache is full"
    }

    fn infers(&self) -> bool {
        false
    }

    fn judge(&self, seen: &Evidence) -> Says {
        if seen.most_servers(|server| full(server, seen)) {
            Says::Found(Weight::Either, measured(seen))
        } else {
            Says::NotMine
        }
    }
}

/// Prefix caching keeps usage high without harm, so a full cache alone says nothing while none waits.
fn full(server: &ServerEvidence, seen: &Evidence) -> bool {
    let limits = &seen.gate.thresholds;
    let waiting = at_least(server.waiting, limits.waiting_from);
    let used = at_least(server.kv, limits.kv_full_from);
    let thrown_out = at_least(server.preemptions, limits.preemptions_from);
    thrown_out || (used && waiting)
}

fn measured(seen: &Evidence) -> Vec<Measure> {
    let limits = &seen.gate.thresholds;
    [
        measure(Quantity::KvUsage, seen.server_mean(|server| server.kv), limits.kv_full_from),
        measure(Quantity::Preemptions, seen.server_mean(|server| server.preemptions), limits.preemptions_from),
        measure(Quantity::RequestsWaiting, seen.server_mean(|server| server.waiting), limits.waiting_from),
    ]
    .into_iter()
    .flatten()
    .collect()
}
