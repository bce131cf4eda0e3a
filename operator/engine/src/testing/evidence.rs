//! Evidence for the judge.

use super::{NOW, policy::gate};
use crate::evidence::{ContainerEvidence, Demand, Evidence, GpuEvidence, OwnEvidence};
use crate::policy::Class;
use crate::span::Span;
use jiff::SignedDuration;

/// A whole window of these GPUs, all of them seen, and of these containers.
pub fn evidence(class: Class, gpus: &[GpuEvidence], containers: &[ContainerEvidence]) -> Evidence {
    let gate = gate(class);
    Evidence {
        class,
        at: NOW,
        unanswered: SignedDuration::ZERO,
        covered: gate.window,
        gate,
        demand: Demand::Above,
        expected_gpus: u32::try_from(gpus.len()).unwrap_or(u32::MAX),
        gpus: gpus.to_vec(),
        containers: containers.to_vec(),
        ended: Vec::new(),
        servers: Vec::new(),
        trainers: Vec::new(),
        backlog_lasts: true,
        own: OwnEvidence::default(),
        slo_breached: false,
        sharded: false,
    }
}

/// Active 22 % of the time, and hardly any work.
pub fn starved_gpu() -> GpuEvidence {
    let exact = |value| Some(Span::exact(value));
    GpuEvidence {
        util: exact(0.22),
        engine: exact(0.22),
        sm: exact(0.12),
        tensor: exact(0.04),
        dram: exact(0.05),
        ..GpuEvidence::default()
    }
}

/// Active 95 % of the time, and at work.
pub fn busy_gpu() -> GpuEvidence {
    let exact = |value| Some(Span::exact(value));
    GpuEvidence {
        util: exact(0.97),
        engine: exact(0.95),
        sm: exact(0.72),
        tensor: exact(0.45),
        dram: exact(0.40),
        ..GpuEvidence::default()
    }
}
