//! The pools of a spec, each with its target.

use super::{MINUTE, Reader, WEEK, replicas};
use crate::refusal::RefusalReason;
use jiff::SignedDuration;
use wellfed_crds::{GpuWorkloadSpec, IntOrPercent, ScaleTargetRef, WorkloadPool};
use wellfed_engine::policy::{PoolMax, PoolPolicy};
use wellfed_engine::units::{PoolName, Replicas};

impl Reader<'_> {
    pub(super) fn pools(&mut self, spec: &GpuWorkloadSpec) -> (Vec<PoolPolicy>, Vec<ScaleTargetRef>) {
        let mut pools = Vec::new();
        let mut targets: Vec<ScaleTargetRef> = Vec::new();
        for (at, pool) in spec.pools.iter().enumerate() {
            let Some(target) = pool.scale_target_ref.as_ref().or(spec.scale_target_ref.as_ref()) else { continue };
            self.distinct(at, target, &targets);
            pools.push(self.pool(&format!("spec.pools[{at}]"), pool));
            targets.push(target.clone());
        }
        if let (true, Some(target)) = (spec.pools.is_empty(), &spec.scale_target_ref) {
            pools.push(PoolPolicy { pool: None, base: None, max: None, spill_after: None, return_after: MINUTE * 15 });
            targets.push(target.clone());
        }
        (pools, targets)
    }

    fn distinct(&mut self, at: usize, target: &ScaleTargetRef, earlier: &[ScaleTargetRef]) {
        if earlier.contains(target) {
            let message =
                format!("{} {} is the target of another pool too: give each pool its own", target.kind, target.name);
            self.refuse(format!("spec.pools[{at}].scaleTargetRef"), RefusalReason::DuplicateTarget, message);
        }
    }

    fn pool(&mut self, path: &str, pool: &WorkloadPool) -> PoolPolicy {
        let max = match &pool.max {
            None => None,
            Some(IntOrPercent::Int(count)) => Some(PoolMax::Count(Replicas(*count))),
            Some(share @ IntOrPercent::Percent(text)) => {
                let percent = share.percent();
                if percent.is_none() {
                    let message =
                        format!("{text:?} is no share; write a count such as 4, or a percentage such as \"80%\"");
                    self.refuse(format!("{path}.max"), RefusalReason::BadValue, message);
                }
                percent.map(PoolMax::Percent)
            }
        };
        let spill_after = pool.spill_after.as_ref();
        let spill = self.duration(&format!("{path}.spillAfter"), spill_after, SignedDuration::ZERO, WEEK);
        PoolPolicy {
            pool: Some(PoolName::from(pool.name.as_str())),
            base: pool.base.map(replicas),
            max,
            spill_after: spill_after.map(|_| spill),
            return_after: self.duration(&format!("{path}.returnAfter"), pool.return_after.as_ref(), MINUTE * 15, WEEK),
        }
    }
}
