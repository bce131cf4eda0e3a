mod lost;

use super::*;
use crate::catalog::Machine;
use crate::config::Config;
use crate::evidence::Whereabouts;
use crate::sharing::Sharing;
use serde_json::{Value, json};
use std::sync::LazyLock;
use wellfed_engine::memory::Memory;

fn target_key(name: &str) -> TargetKey {
    ("demo".into(), "Deployment".into(), name.into())
}

/// At ten past midnight, with nothing read and nothing judged.
fn lookout(catalog: &Catalog, workloads: Vec<Arc<DeserializeGuard<GpuWorkload>>>) -> Lookout<'_> {
    static NOTHING: LazyLock<(Answers, Opinions, Settings)> = LazyLock::new(|| {
        let settings = Settings { config: Config::default(), evidence_interval: SignedDuration::from_mins(1) };
        (Answers::new(), Opinions::new(), settings)
    });
    let (answers, opinions, settings) = &*NOTHING;
    let now = "2026-01-01T00:10:00Z".parse().unwrap();
    Lookout { workloads, catalog, answers, opinions, settings, stale_after: SignedDuration::from_secs(60), now }
}

/// Of a workload on `target`, whose one pod ended in these minutes; its memory is as the engine left it.
fn look(target: &str, minutes: [u32; 2], recall: &mut Recall) -> (Vec<Exit>, Workload) {
    let (ready, workload) = look_at((target, 0), minutes, recall, 10);
    (ready.exits, workload)
}

/// The same where the target has so many replicas, so many minutes past midnight.
fn look_at(
    (target, replicas): (&str, u32),
    minutes: [u32; 2],
    recall: &mut Recall,
    minute: i64,
) -> (Box<Ready>, Workload) {
    let object = json!({
        "apiVersion": "wellfed.dev/v1alpha1", "kind": "GpuWorkload",
        "metadata": { "name": "train", "namespace": "demo", "uid": "u", "generation": minutes[0] },
        "spec": {
            "maxReplicas": 4,
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": target },
            "signals": [{ "name": "replicas", "source": { "scale": {} } }],
        },
    });
    let end = |minute: u32| -> Value {
        json!({ "terminated": { "exitCode": 1, "finishedAt": format!("2026-01-01T00:{minute:02}:00Z") } })
    };
    let [last, now] = minutes.map(end);
    let pod = json!({ "metadata": { "name": "a", "uid": "p" }, "status": { "containerStatuses": [
        { "name": "main", "state": now, "lastState": last }] } });
    let mut catalog = Catalog::default();
    let one = Target { replicas, gpus: 1, container: "main".into(), template: 7, ..Target::default() };
    catalog.targets.insert(target_key(target), one);
    catalog.pods.insert(target_key(target), vec![Arc::new(serde_json::from_value(pod).unwrap())]);
    let look = lookout(&catalog, vec![Arc::new(serde_json::from_value(object).unwrap())]);
    let look = Lookout { now: look.now + SignedDuration::from_mins(minute - 10), ..look };
    let mut seen = observe(&look, recall);
    match seen.subjects.remove(0).state {
        SubjectState::Resolved(ready) => (ready, seen.world.workloads.remove(0)),
        SubjectState::Unresolved(why) => panic!("{why:?}"),
    }
}

#[test]
fn ends_of_containers_are_counted_over_looks() {
    let mut recall = Recall::default();
    look("train", [1, 2], &mut recall);

    assert_eq!(look("train", [2, 5], &mut recall).0.len(), 3);
}

/// An operator that starts, with what the last one left in the status.
fn restarted(workload: &Workload) -> Recall {
    let text = serde_json::to_string(&workload.memory).unwrap();
    let mut recall = Recall::default();
    recall.remember("u", Memory::parse(&text, |text| serde_json::from_str(text).ok()).unwrap());
    recall
}

#[test]
fn ends_that_the_pod_no_longer_shows_are_counted_over_a_restart() {
    let mut recall = Recall::default();
    look("train", [1, 2], &mut recall);
    let before = look("train", [2, 5], &mut recall).1;

    let (exits, after) = look("train", [5, 9], &mut restarted(&before));

    let minutes: Vec<_> = exits.iter().map(|exit| exit.at.as_second() / 60 % 60).collect();
    assert_eq!(minutes, [1, 2, 5, 9]);
    assert_eq!(look("train", [5, 9], &mut restarted(&after)).0, exits);
    let (none, later) = look_at(("train", 0), [5, 9], &mut restarted(&after), 130);
    assert_eq!((none.exits.len(), later.memory.restarts), (0, None), "two hours later nothing is left of it");
}

/// Kills: foreign changes that are counted in the process alone.
#[test]
fn a_restart_neither_forgets_a_foreign_change_nor_ends_a_contest_early() {
    let (mut recall, mut contested) = (Recall::default(), Vec::new());
    let looks = [(0, 4), (1, 9), (1, 9), (2, 4), (2, 4), (3, 9), (3, 9), (12, 9), (13, 9)];
    for (turn, (minute, replicas)) in looks.into_iter().enumerate() {
        let (ready, workload) = look_at(("train", replicas), [1, 2], &mut recall, minute);
        contested.push(ready.contested);
        recall.remember("u", workload.memory.clone());
        if turn % 2 == 1 {
            recall = restarted(&workload);
        }
    }

    assert_eq!(contested, [false, false, false, false, false, true, true, true, false]);
}

#[test]
fn another_target_is_remembered_before_the_engine_takes_it_for_a_new_template() {
    let mut recall = Recall::default();
    let digest = |workload: &Workload| workload.template.clone().unwrap().digest;
    let known = digest(&look("train", [1, 2], &mut recall).1);
    let mut memory = Memory::default();
    memory.gate.template = Some(known.clone());
    recall.remember("u", memory);

    let (_, moved) = look("train-2", [2, 5], &mut recall);

    assert_ne!(digest(&moved), known);
    assert_eq!(moved.memory.gate.template, Some(digest(&moved)));
}

/// The Ready pods of the target "train", whose node has 96 cores and these labels.
fn ready(container: &Value, status: &Value, labels: &Value) -> Vec<WatchedPod> {
    let condition = json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let pod = json!({
        "metadata": { "name": "train-1" }, "spec": { "nodeName": "n", "containers": [{ "name": "sidecar" }, container] },
        "status": { "phase": "Running", "conditions": [condition], "containerStatuses": [status] },
    });
    let node = json!({ "metadata": { "name": "n", "labels": labels },
        "status": { "allocatable": { "cpu": "96", "nvidia.com/gpu": "8" } } });
    let ended = json!({ "metadata": { "name": "train-2" }, "status": { "phase": "Failed" } });
    let catalog = Catalog {
        pods: [(target_key("train"), [pod, ended].map(|pod| Arc::new(serde_json::from_value(pod).unwrap())).into())]
            .into(),
        machines: [("n".to_owned(), Machine::of(&serde_json::from_value(node).unwrap()))].into(),
        ..Catalog::default()
    };
    let look = lookout(&catalog, Vec::new());
    let mut sharing = Sharing::default();
    sharing.see(&catalog, look.now);
    let template = Target { gpus: 1, container: "template".into(), ..Target::default() };
    ready::pods(&[(target_key("train"), template)], &look, &sharing)
}

fn asking(limits: &Value, requests: &Value) -> Value {
    json!({ "name": "main", "resources": { "limits": limits, "requests": requests } })
}

/// A `LimitRange` gives a limit that the template has not; resizing in place changes the one that it has, once it is granted.
#[test]
fn a_pod_is_judged_by_what_it_has_itself_and_not_by_its_template() {
    let cores = |container: &Value, status: &Value| {
        let pods = ready(container, status, &json!({}));
        pods.iter().map(|pod| (pod.container.clone(), pod.cpu_limit, pod.cpu_at_hand, pod.gpus)).collect::<Vec<_>>()
    };
    let main = |limit, at_hand, gpus| vec![("main".to_owned(), limit, at_hand, gpus)];
    let (one_gpu, none) = (json!({ "nvidia.com/gpu": "1" }), json!({ "name": "main" }));

    let defaulted = asking(&json!({ "nvidia.com/gpu": "2", "cpu": "7500m" }), &json!({ "cpu": "4" }));
    assert_eq!(cores(&defaulted, &none), main(Some(7.5), None, 2));
    let in_force = json!({ "name": "main", "resources": { "limits": { "nvidia.com/gpu": "2", "cpu": "4" } } });
    assert_eq!(cores(&defaulted, &in_force), main(Some(4.0), None, 2), "the larger limit is not granted yet");
    assert_eq!(cores(&asking(&one_gpu, &json!({ "cpu": "4" })), &none), main(None, Some(4.0), 1));
    assert_eq!(cores(&asking(&one_gpu, &json!({})), &none), main(None, Some(96.0), 1), "as much as its node has");
}

#[test]
fn a_pod_on_a_node_that_slices_its_gpus_is_not_alone_on_them() {
    let shared = |labels: &Value| {
        let pods = ready(&asking(&json!({ "nvidia.com/gpu": "1" }), &json!({})), &json!({ "name": "main" }), labels);
        pods.iter().map(|pod| pod.shared).collect::<Vec<_>>()
    };

    assert_eq!(
        shared(&json!({ "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing" })),
        [true]
    );
    assert_eq!(shared(&json!({ "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.sharing-strategy": "none" })), [false]);
}

#[test]
fn a_node_is_a_workloads_own_where_no_other_asks_for_a_gpu_or_a_part_of_one() {
    let own = |asked: u32| {
        let pod = json!({ "metadata": { "name": "train-1" }, "spec": { "nodeName": "n", "containers": [
            asking(&json!({ "nvidia.com/mig-1g.10gb": "2" }), &json!({}))] } });
        let catalog = Catalog {
            pods: [(target_key("train"), vec![Arc::new(serde_json::from_value(pod).unwrap())])].into(),
            gpus_asked: [("n".to_owned(), asked)].into(),
            ..Catalog::default()
        };
        let asked = asked_by(&[(target_key("train"), Target::default())], &catalog);
        ready::whereabouts(&catalog.pods[&target_key("train")][0], &catalog, &asked).unwrap()
    };

    assert_eq!(own(2), Whereabouts { name: "n".into(), own: true });
    assert!(!own(3).own);
    let alone = ready(&asking(&json!({ "nvidia.com/gpu": "1" }), &json!({})), &json!({ "name": "main" }), &json!({}));
    assert_eq!(alone[0].node, Some(Whereabouts { name: "n".into(), own: true }));
}

#[test]
fn a_node_is_a_workloads_own_while_no_other_pod_asks_for_a_gpu_there() {
    let pod = |name: &str, node: &str, gpus: u32, phase: &str| {
        let limits = json!({ "nvidia.com/gpu": gpus.to_string() });
        let container = json!({ "name": "main", "resources": { "limits": limits } });
        let pod = json!({ "metadata": { "name": name }, "status": { "phase": phase },
            "spec": { "nodeName": node, "containers": [container] } });
        Arc::new(serde_json::from_value::<SlimPod>(pod).unwrap())
    };
    let pods = vec![
        pod("alone", "n1", 4, "Running"),
        pod("beside", "n2", 4, "Running"),
        pod("after", "n3", 4, "Running"),
        pod("otherwise", "n4", 0, "Running"),
        pod("ended", "n2", 4, "Failed"),
    ];
    let mut catalog = Catalog { pods: HashMap::from([(target_key("train"), pods)]), ..Catalog::default() };
    // Of a pod that ended nothing is asked for any more.
    catalog.gpus_asked = [("n1", 4), ("n2", 8), ("n3", 4)].map(|(node, gpus)| (node.to_owned(), gpus)).into();

    let asked = asked_by(&[(target_key("train"), Target::default())], &catalog);
    let pods = &catalog.pods[&target_key("train")];

    let own = pods[..4].iter().map(|pod| ready::whereabouts(pod, &catalog, &asked).unwrap());
    let own: Vec<_> = own.map(|node| (node.name, node.own)).collect();
    assert_eq!(
        own,
        [("n1", true), ("n2", false), ("n3", true), ("n4", false)].map(|(node, own)| (node.to_owned(), own))
    );
}
