//! What to do about findings, as far as it depends on the cluster's names and prices: ready commands, GPUs and money freed.

use crate::observe::{Ready, Subject, SubjectState};
use std::collections::BTreeMap;
use wellfed_crds::{CommandStatus, FindingStatus, GpuWorkloadStatus};
use wellfed_engine::commands::{self, commands};
use wellfed_engine::decide::Decided;
use wellfed_engine::decision::Decision;
use wellfed_engine::opinion::Quantity;
use wellfed_engine::savings::{Costed, savings};
use wellfed_engine::units::{PoolName, Replicas};
use wellfed_engine::world::Pool;

/// Adds commands and savings to the findings of a decided workload.
pub fn advise(
    status: &mut GpuWorkloadStatus,
    subject: &Subject,
    decided: Option<&Decided>,
    pools: &BTreeMap<PoolName, Pool>,
) {
    let (SubjectState::Resolved(ready), Some(Ok(decision))) = (&subject.state, decided) else { return };
    let place = place(ready, decision);
    let replicas: Vec<_> = decision.pools.iter().map(|pool| pool.from).collect();
    let wanted = status.wanted_replicas.and_then(|wanted| u32::try_from(wanted).ok());
    let costed = Costed {
        policy: &ready.resolved.policy,
        replicas: &replicas,
        wanted: wanted.map_or(decision.wanted, Replicas),
        pools,
    };
    for finding in &mut status.findings {
        let commands = place.iter().flat_map(|place| commands(&finding.rule, place));
        finding.commands = commands.map(|one| CommandStatus { shows: one.shows, run: one.run }).collect();
        let saved = activity(finding).and_then(|activity| savings(&finding.rule, activity, &costed));
        finding.savings = saved.map(|saved| saved.sentence());
    }
}

/// The first Ready pod by name: the same as long as it lives.
fn place(ready: &Ready, decision: &Decision) -> Option<commands::Subject> {
    let (pod, _) = ready.ready_pods.iter().min()?;
    let (_, target) = ready.resolved.targets.first()?;
    Some(commands::Subject {
        namespace: decision.id.namespace.clone(),
        pod: pod.clone(),
        container: target.container.clone(),
        class: ready.resolved.policy.class,
    })
}

/// As the finding shows it.
fn activity(finding: &FindingStatus) -> Option<f64> {
    let name = format!("{:?}", Quantity::GpuActivity);
    finding.measured.iter().find(|measured| measured.name == name)?.value.parse().ok()
}
