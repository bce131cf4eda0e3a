//! Each cause on one look at the evidence: when it is found, the traps in which it must not be, and which is named first.

#![allow(clippy::unnecessary_wraps, clippy::large_types_passed_by_value)] // helpers take and return what fields of evidence are

mod feed;
mod group;
mod hardware;
mod latency;
mod lost;
mod memory;
mod order;
mod reports;
mod roles;
mod run;
mod saturated;
mod serving;
mod shape;
mod sources;
mod storage;
mod traps;

use wellfed_engine::evidence::{ContainerEvidence, Evidence, GpuEvidence, ServerEvidence, Source};
use wellfed_engine::judge;
use wellfed_engine::opinion::{Gap, Lean, Measure, Opinion, Quantity, Weight};
use wellfed_engine::policy::Class;
use wellfed_engine::rules::RuleName;
use wellfed_engine::span::Span;
use wellfed_engine::testing::evidence;

/// What a GPU that is busy with real work shows, on top of which more may be said.
const SATURATED: (RuleName, Weight) = (RuleName::Saturated, Weight::Support);
const JUSTIFIED: (RuleName, Weight) = (RuleName::AddingJustified, Weight::Either);

fn exact(value: f64) -> Option<Span> {
    Some(Span::exact(value))
}

/// The same where every pod is on GPUs that others use too.
fn on_shared(seen: &Evidence) -> Evidence {
    let mut shared = seen.clone();
    for (gpu, container) in shared.gpus.iter_mut().zip(&mut shared.containers) {
        (gpu.shared, container.shared) = (true, true);
    }
    shared
}

/// Engine, SMs, memory bandwidth and tensor pipe.
fn gpu(engine: f64, sm: f64, dram: f64, tensor: f64) -> GpuEvidence {
    GpuEvidence {
        util: exact(engine),
        engine: exact(engine),
        sm: exact(sm),
        dram: exact(dram),
        tensor: exact(tensor),
        ..GpuEvidence::default()
    }
}

fn cpu(cores: f64) -> ContainerEvidence {
    ContainerEvidence {
        cores: exact(cores),
        limit: Some(8.0),
        throttled: exact(0.0),
        pressure: exact(0.0),
        io_pressure: exact(0.0),
        ..ContainerEvidence::default()
    }
}

fn server(running: f64, waiting: f64) -> ServerEvidence {
    ServerEvidence { running: exact(running), waiting: exact(waiting), ..ServerEvidence::default() }
}

fn serving(gpus: &[GpuEvidence], servers: &[ServerEvidence]) -> Evidence {
    let containers = vec![cpu(1.0); gpus.len()];
    Evidence { servers: servers.to_vec(), ..evidence(Class::Inference, gpus, &containers) }
}

fn lean(seen: &Evidence) -> Lean {
    judge(seen).lean
}

/// No verdict: `rule` would refuse, unless what was lost speaks against it.
fn lost_for(rule: RuleName, source: Source) -> Lean {
    Lean::Unknown(Gap::SourceLost { rule, source })
}

fn found(opinion: &Opinion) -> Vec<(RuleName, Weight)> {
    opinion.findings.iter().map(|finding| (finding.rule, finding.weight)).collect()
}

fn value(opinion: &Opinion, what: Quantity) -> Option<Measure> {
    opinion.findings.first()?.measured.iter().copied().find(|measure| measure.what == what)
}

/// The rules that speak against more GPUs.
fn vetoes(seen: &Evidence) -> Vec<RuleName> {
    let findings = judge(seen).findings;
    findings.iter().filter(|finding| finding.weight == Weight::Veto).map(|finding| finding.rule).collect()
}

/// What one rule says, if it applies.
fn weight(seen: &Evidence, rule: RuleName) -> Option<Weight> {
    judge(seen).findings.iter().find(|finding| finding.rule == rule).map(|finding| finding.weight)
}

/// One GPU a pod, each beside an eight-core CPU of which one is busy.
fn training(gpus: &[GpuEvidence]) -> Evidence {
    evidence(Class::Training, gpus, &vec![cpu(1.0); gpus.len()])
}
