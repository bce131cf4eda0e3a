//! What is measured of a model's memory is kept as long as its pods are made from the same template.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use wellfed_engine::span::Span;
use wellfed_engine::testing::{Scenario, WorkloadBuilder, trainer, world};

const NAME: &str = "llm";

/// Busy, and with this much of its memory in use at the peak.
fn full(template: &str, peak: f64) -> WorkloadBuilder {
    let exact = |value| Some(Span::exact(value));
    let busy = trainer(NAME).running(4).wanting(8).template(template).busy();
    busy.seen(|gpu, _| (gpu.memory, gpu.memory_peak) = (exact(0.3), exact(peak)))
}

fn peak(scenario: &Scenario) -> Option<f64> {
    scenario.find(NAME).unwrap().memory.gate.peak
}

#[test]
fn the_largest_peak_counts_until_the_pod_template_changes() {
    let first = world().workload(full("one", 0.5)).after(1).remembered(false);
    assert_eq!(peak(&first), Some(0.5));

    let higher = first.becomes(full("one", 0.9)).after(1).remembered(false);
    let lower = higher.becomes(full("one", 0.4)).after(1).remembered(false);
    assert_eq!(peak(&lower), Some(0.9), "it was seen to take that much");

    let changed = lower.becomes(full("two", 0.4)).remembered(false);
    assert_eq!(peak(&changed), None);
    assert_eq!(peak(&changed.after(1).remembered(false)), Some(0.4));
}
