//! What to do about findings, as far as it depends on the cluster's names and prices: ready commands, GPUs and money freed.

use crate::catalog::Catalog;
use crate::observe::{Ready, Subject, SubjectState};
use crate::resolve::offers;
use wellfed_crds::{CommandStatus, FindingStatus, GpuWorkloadStatus};
use wellfed_engine::commands::{self, commands};
use wellfed_engine::decide::Decided;
use wellfed_engine::decision::Decision;
use wellfed_engine::opinion::Quantity;
use wellfed_engine::savings::{Costed, Seen, savings};
use wellfed_engine::units::Replicas;

/// The finding that replicas were added for nothing.
const INEFFECTIVE: &str = "ScaleOutIneffective";

/// Adds commands and savings to the findings of a decided workload.
pub fn advise(status: &mut GpuWorkloadStatus, subject: &Subject, decided: Option<&Decided>, catalog: &Catalog) {
    let (SubjectState::Resolved(ready), Some(Ok(decision))) = (&subject.state, decided) else { return };
    if status.findings.is_empty() {
        return;
    }
    let place = place(ready, decision);
    let replicas: Vec<_> = decision.pools.iter().map(|pool| pool.from).collect();
    let wanted = status.wanted_replicas.and_then(|wanted| u32::try_from(wanted).ok());
    let costed = Costed {
        policy: &ready.resolved.policy,
        replicas: &replicas,
        wanted: wanted.map_or(decision.wanted, Replicas),
        offers: &offers(&decision.id.namespace, catalog),
    };
    // What is resolved needs no look, and its numbers are those of before.
    for finding in status.findings.iter_mut().filter(|finding| finding.state != "Resolved") {
        let commands = place.iter().flat_map(|place| commands(&finding.rule, place));
        finding.commands = commands.map(|one| CommandStatus { shows: one.shows, run: one.run }).collect();
        let seen = Seen {
            activity: measured(finding, Quantity::GpuActivity),
            peak: measured(finding, Quantity::MemoryPeak),
            demand: decision.memory.gate.demand_of(&finding.rule),
            from: decision.memory.gate.ceiling.filter(|_| finding.rule == INEFFECTIVE).map(|ceiling| ceiling.gain.from),
        };
        finding.savings = savings(&finding.rule, seen, &costed).map(|saved| saved.sentence());
    }
}

/// The pod that has been Ready for longest: the same as long as it is.
fn place(ready: &Ready, decision: &Decision) -> Option<commands::Subject> {
    let pod = ready.ready_pods.iter().min_by_key(|pod| (pod.ready_since, &pod.name))?;
    Some(commands::Subject {
        namespace: decision.id.namespace.clone(),
        pod: pod.name.clone(),
        container: pod.container.clone(),
        class: ready.resolved.policy.class,
    })
}

/// As the finding shows it.
fn measured(finding: &FindingStatus, what: Quantity) -> Option<f64> {
    let name = format!("{what:?}");
    finding.measured.iter().find(|measured| measured.name == name)?.value.parse().ok()
}
