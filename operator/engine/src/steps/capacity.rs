//! Whether there are GPUs: growth above the minimum stops where no pool has room.

use crate::decision::{Reason, StepResult};
use crate::ledger::Ledger;
use crate::units::Replicas;
use crate::world::Workload;

/// `want` as far as the pools have room beyond what is already asked for.
pub fn capacity(want: Replicas, workload: &Workload, ledger: &Ledger) -> StepResult {
    let current = workload.current();
    if want <= current {
        return StepResult { after: want, reason: Reason::Unchanged };
    }
    let Some(room) = room(want, workload, ledger) else {
        let named = workload.policy.pools.iter().any(|pool| pool.pool.is_some());
        let unknown = named && !workload.policy.whole_gpus;
        return StepResult { after: want, reason: if unknown { Reason::RoomUnknown } else { Reason::Unlimited } };
    };
    if current.plus(room) >= want {
        return StepResult { after: want, reason: Reason::Fits };
    }
    let floor = current.max(workload.policy.min).min(want);
    let after = current.plus(room).max(floor);
    StepResult { after, reason: Reason::NoCapacity { room } }
}

/// Room over all pools; none when a pool without a limit takes everything.
fn room(want: Replicas, workload: &Workload, ledger: &Ledger) -> Option<Replicas> {
    let each = workload.policy.each();
    let mut total = Replicas::ZERO;
    for (policy, state) in workload.policy.pools.iter().zip(&workload.pools) {
        let under_max = policy.max.map(|max| max.of(want).minus(state.asked));
        let room = match (ledger.room(policy.pool.as_ref(), each), under_max) {
            (None, None) => return None,
            (Some(room), None) | (None, Some(room)) => room,
            (Some(free), Some(allowed)) => free.min(allowed),
        };
        total = total.plus(room);
    }
    Some(total)
}
