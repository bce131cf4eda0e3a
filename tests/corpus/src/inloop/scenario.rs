//! A scenario of the corpus as `wellfed simulate` reads it: with a manifest, pools, and what its signals measure.

use crate::case::{Case, Draft, Exporter, Fault, Objective, WORKLOAD, Work};
use crate::garble::{garbled, uncounted};
use crate::models::span;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use wellfed::evidence::Slice;
use wellfed::simulate::sampler::SampledPod;
use wellfed::simulate::{Lens, Scenario};

/// Minutes longer than with fixed replicas: what grew must be there for a while too.
const LONGER: u32 = 24;
/// Replicas that it may have, of those that it starts with.
pub const MOST: u32 = 2;

/// `case` for the loop; none where the harness has no room for it: pods that load or go at set times, that share GPUs, that
/// ended beside others, and objectives of whole answers, which it does not measure.
pub fn scenario(case: &Case) -> Result<Option<Scenario>> {
    let draft = &case.draft;
    let shared = matches!(draft.fault, Some(Fault::Shared | Fault::OneNamed));
    if shared || !draft.phases.is_empty() || !draft.ended.is_empty() || answers_late(draft) {
        return Ok(None);
    }
    let text = file(draft).to_string();
    let parsed = Scenario::parse(&text, &case.name, Path::new(".")).with_context(|| case.name.clone())?;
    Ok(Some(Scenario { lens: lens(draft), ..parsed }))
}

fn answers_late(draft: &Draft) -> bool {
    let tokens = |name: &str| draft.arrivals["rate"][name].as_u64().unwrap_or(0);
    draft.slo.is_some_and(|slo| slo.of == Objective::Whole)
        && draft.model["llm"].is_object()
        && tokens("outputTokens") > tokens("promptTokens")
}

/// What breaks telemetry on its way, and a trainer that counts nothing itself.
fn lens(draft: &Draft) -> Lens {
    let (fault, counted, looks) = (draft.fault, draft.own_metrics, AtomicU32::new(0));
    Lens::of(move |slice: Slice, pods: &[SampledPod]| {
        let look = f64::from(looks.fetch_add(1, Ordering::Relaxed));
        let fails =
            matches!(fault, Some(Fault::Gaps(share)) if (share * (look + 1.0)).floor() > (share * look).floor());
        let slice = if counted { slice } else { uncounted(&slice, pods) };
        (!fails).then(|| garbled(fault, slice, pods))
    })
}

fn file(draft: &Draft) -> Value {
    let minutes = f64::from(draft.minutes + LONGER);
    let changes = draft.changes.iter();
    let changes = changes.map(|(at, path, value)| json!({"at": span(*at), "workload": WORKLOAD, "set": {path: value}}));
    let (signal, measured) = signal(draft);
    json!({
        "for": span(60.0 * minutes), "seed": draft.seed, "resolution": "Requests", "tick": "250ms",
        "exporter": {
            "smActive": draft.exporter != Exporter::Default,
            "furtherCounters": draft.exporter == Exporter::Everything,
        },
        "pools": [{"name": "all", "product": draft.product, "nodes": MOST * draft.replicas, "pricePerGpuHour": 1.0}],
        "workloads": [{
            "manifest": manifest(draft, &signal), "pods": {"gpus": draft.gpus, "cpuLimit": draft.cpu_limit},
            "replicas": draft.replicas, "signals": measured, "model": draft.model, "arrivals": draft.arrivals,
        }],
        "changes": changes.collect::<Vec<_>>(),
    })
}

fn manifest(draft: &Draft, signal: &Value) -> Value {
    let class = match draft.work {
        Work::Inference => "Inference",
        Work::Training => "Training",
    };
    let mut spec = json!({
        "class": class, "mode": "Auto", "minReplicas": draft.replicas, "maxReplicas": MOST * draft.replicas,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": WORKLOAD}, "signals": [signal],
    });
    if draft.sharded {
        spec["model"] = json!({"params": "7B", "dtype": "BF16", "sharded": true});
    }
    let metadata = json!({"name": WORKLOAD, "namespace": WORKLOAD});
    json!({"apiVersion": "wellfed.dev/v1alpha1", "kind": "GpuWorkload", "metadata": metadata, "spec": spec})
}

/// What asks for replicas, and what it measures.
fn signal(draft: &Draft) -> (Value, Value) {
    let thousandths = |value: f64| format!("{:.0}m", (value * 1000.0).max(1.0));
    let target = json!({"type": "AverageValue", "averageValue": thousandths(draft.target)});
    let query = |query: &str| json!({"prometheus": {"query": query}});
    if let Some(slo) = draft.slo {
        let signal = json!({"name": "late", "role": "Latency", "source": query("late"), "slo": {"value": thousandths(slo.seconds)}});
        return (signal, json!({"late": "Latency"}));
    }
    // All that is inside, as with fixed replicas: a model server's own count begins behind its tokeniser.
    let measured = if draft.work == Work::Training { "Queue" } else { "InSystem" };
    (json!({"name": "load", "source": query("load"), "target": target}), json!({"load": measured}))
}
