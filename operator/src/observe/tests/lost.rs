//! What is made of answers that are not there: public cases of other autoscalers, by their references.

use super::*;
use crate::signals::client::Row;
use std::collections::BTreeMap;
use wellfed_engine::memory::{Adoption, Memory};
use wellfed_engine::reading::{ReadFailure, Reading};
use wellfed_engine::{decide, remember};

const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

fn prometheus(query: &str) -> Value {
    json!({ "prometheus": { "query": query } })
}

/// A workload `chat` of this namespace and uid, with one signal of ten a replica.
fn chat(namespace: &str, uid: &str, generation: i64, source: &Value) -> Value {
    let target = json!({ "type": "AverageValue", "averageValue": "10" });
    json!({
        "apiVersion": "wellfed.dev/v1alpha1", "kind": "GpuWorkload",
        "metadata": { "name": "chat", "namespace": namespace, "uid": uid, "generation": generation },
        "spec": {
            "mode": "Auto", "maxReplicas": 40,
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "chat" },
            "signals": [{ "name": "load", "source": source, "target": target }],
        },
    })
}

/// One look at `objects`, whose Deployments ask for `replicas` and have no pods.
fn seen(objects: &[Value], replicas: u32, answers: &Answers, recall: &mut Recall) -> Observed {
    let mut catalog = Catalog::default();
    for object in objects {
        let key = (object["metadata"]["namespace"].as_str().unwrap().into(), "Deployment".into(), "chat".into());
        catalog.targets.insert(key, Target { replicas, gpus: 1, container: "main".into(), ..Target::default() });
    }
    let named = json!({ "prometheus": [{ "name": "default", "url": "http://localhost:9090" }] });
    let config = serde_json::from_value(named).unwrap();
    let look = Lookout {
        workloads: objects.iter().map(|one| Arc::new(serde_json::from_value(one.clone()).unwrap())).collect(),
        catalog: &catalog,
        answers,
        opinions: &Opinions::new(),
        settings: &Settings { config, evidence_interval: SignedDuration::from_mins(1) },
        stale_after: SignedDuration::from_secs(60),
        now: NOW,
    };
    let observed = observe(&look, recall);
    assert_eq!(observed.world.workloads.len(), objects.len(), "each can be decided");
    observed
}

/// The next read of each of `asks`: this value, or why there is none.
fn answer(answers: &mut Answers, asks: &Asks, says: impl Fn(&Ask) -> Result<Vec<f64>, ReadFailure>) {
    for ask in asks {
        let row = |value| Row { labels: BTreeMap::new(), value, at: NOW };
        let rows = says(ask).map(|values| values.into_iter().map(row).collect());
        let latest = rows.map_or_else(Latest::failed, |rows| Latest::answered(ask, rows, None, NOW));
        let before = answers.get(ask).map(Arc::as_ref);
        let latest = Arc::new(latest.after(before));
        answers.insert(ask.clone(), latest);
    }
}

fn failures(observed: &Observed) -> Vec<u32> {
    observed.world.workloads.iter().map(|workload| workload.signals[0].failures).collect()
}

/// M9 (keda #5009, #7239, #7411): at zero replicas a question that fails is a loss, so that the fallback may wake it; one
/// that finds no server is not, since there is none to be found.
#[test]
fn a_failed_question_counts_as_lost_without_any_pod() {
    let after_four = |says: Result<Vec<f64>, ReadFailure>| {
        let (mut recall, mut answers) = (Recall::default(), Answers::new());
        let asleep = [chat("demo", "u", 1, &json!({ "vllm": {} }))];
        let mut observed = seen(&asleep, 0, &answers, &mut recall);
        for _ in 0..4 {
            answer(&mut answers, &observed.asks, |_| says.clone());
            observed = seen(&asleep, 0, &answers, &mut recall);
        }
        failures(&observed)
    };

    assert_eq!(after_four(Err(ReadFailure::Unreachable)), [4]);
    assert_eq!(after_four(Ok(Vec::new())), [0]);
}

/// M11 (keda #6762): what was asked a moment ago has no answer yet, and that is neither zero nor a failure.
#[test]
fn a_question_that_was_just_changed_is_not_an_empty_queue() {
    let (mut recall, mut answers) = (Recall::default(), Answers::new());
    recall.remember("u", Memory { adoption: Adoption::Done, ..Memory::default() });
    let old = [chat("demo", "u", 1, &prometheus("sum(depth)"))];
    let asks = seen(&old, 20, &answers, &mut recall).asks;
    answer(&mut answers, &asks, |_| Ok(vec![200.0]));
    let numbers = |observed: &Observed| {
        let decision = decide(&observed.world).remove(0).unwrap();
        (decision.wanted.0, decision.number.0)
    };
    let before = seen(&old, 20, &answers, &mut recall);
    assert_eq!(numbers(&before), (20, 20));

    let changed = seen(&[chat("demo", "u", 2, &prometheus("max(depth)"))], 20, &answers, &mut recall);

    assert_ne!(changed.asks, asks);
    let signal = &changed.world.workloads[0].signals[0];
    assert_eq!(signal.value, SignalValue::External(Reading::Failed(ReadFailure::NotYet)));
    assert_eq!((numbers(&changed), failures(&changed)), ((20, 20), vec![0]));
}

/// F5 (aibrix #436): what is remembered belongs to one object, and not to a name.
#[test]
fn aibrix_436_two_workloads_with_one_signal_name_share_no_failures_and_no_memory() {
    let (mut recall, mut answers) = (Recall::default(), Answers::new());
    let of = |namespace, uid| chat(namespace, uid, 1, &prometheus("sum(depth)"));
    let both = [of("demo", "u1"), of("web", "u2")];
    let mut observed = seen(&both, 4, &answers, &mut recall);
    for _ in 0..3 {
        answer(&mut answers, &observed.asks, |ask| {
            if ask.query.contains("demo") { Err(ReadFailure::Timeout) } else { Ok(vec![90.0]) }
        });
        observed = seen(&both, 4, &answers, &mut recall);
    }
    for decided in decide(&observed.world) {
        let decision = decided.unwrap();
        let behavior = &observed.world.workloads[0].policy.behavior;
        recall.remember(&decision.id.uid.clone(), remember(&decision, false, behavior, NOW));
    }

    assert_eq!(failures(&observed), [3, 0]);
    let memories: Vec<_> =
        seen(&both, 4, &answers, &mut recall).world.workloads.into_iter().map(|one| one.memory).collect();
    assert_ne!(memories[0], memories[1]);
    assert_eq!(memories.iter().map(|one| one.demand_above_since.is_some()).collect::<Vec<_>>(), [false, true]);

    let again = seen(&[of("demo", "u3"), of("web", "u2")], 4, &answers, &mut recall);
    assert_eq!(failures(&again), [1, 0], "the third failure in a row is the first that it sees");
    let memory = &again.world.workloads[0].memory;
    assert_eq!((memory.adoption, &memory.desires), (Memory::default().adoption, &Memory::default().desires));
}
