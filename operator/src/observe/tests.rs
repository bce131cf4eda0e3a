use super::*;
use crate::config::Config;
use serde_json::{Value, json};
use wellfed_engine::memory::Memory;

fn target_key(name: &str) -> TargetKey {
    ("demo".into(), "Deployment".into(), name.into())
}

/// Of a workload on `target`, whose one pod ended in these minutes; its memory is as the engine left it.
fn look(target: &str, minutes: [u32; 2], recall: &mut Recall) -> (Vec<Exit>, Workload) {
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
    let one = Target { gpus: 1, container: "main".into(), template: 7, ..Target::default() };
    catalog.targets.insert(target_key(target), one);
    catalog.pods.insert(target_key(target), vec![Arc::new(serde_json::from_value(pod).unwrap())]);
    let look = Lookout {
        workloads: vec![Arc::new(serde_json::from_value(object).unwrap())],
        catalog: &catalog,
        answers: &Answers::new(),
        opinions: &Opinions::new(),
        settings: &Settings { config: Config::default(), spacing: SignedDuration::from_secs(30) },
        stale_after: SignedDuration::from_secs(60),
        now: "2026-01-01T00:10:00Z".parse().unwrap(),
    };
    let mut seen = observe(&look, recall);
    match seen.subjects.remove(0).state {
        SubjectState::Resolved(ready) => (ready.exits, seen.world.workloads.remove(0)),
        SubjectState::Unresolved(why) => panic!("{why:?}"),
    }
}

#[test]
fn ends_of_containers_are_counted_over_looks() {
    let mut recall = Recall::default();
    look("train", [1, 2], &mut recall);

    assert_eq!(look("train", [2, 5], &mut recall).0.len(), 3);
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

#[test]
fn a_pod_is_judged_by_the_container_of_its_own_target() {
    let target = |name: &str, container: &str, cores| {
        (target_key(name), Target { container: container.into(), cpu_limit: cores, gpus: 1, ..Target::default() })
    };
    let since = Timestamp::UNIX_EPOCH;
    let pod = |name: &str, state| Pod { name: PodName(name.into()), state, bound: true };
    let pool = |pods| PoolState { asked: Replicas(1), pods };
    let targets = [target("spot", "vllm", Some(8.0)), target("owned", "server", None)];
    let pools = [
        pool(vec![pod("spot-1", PodState::Ready { since }), pod("spot-2", PodState::Ended)]),
        pool(vec![pod("owned-1", PodState::Ready { since })]),
    ];

    let pods = ready_pods(&targets, &pools, &Catalog::default());

    let seen: Vec<_> =
        pods.iter().map(|pod| (pod.name.as_str(), pod.container.as_str(), pod.cpu_limit, pod.gpus)).collect();
    assert_eq!(seen, [("spot-1", "vllm", Some(8.0), 1), ("owned-1", "server", None, 1)]);
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

    let nodes = whereabouts(&[(target_key("train"), Target::default())], &catalog);

    let own = ["alone", "beside", "after", "otherwise"].map(|pod| (nodes[pod].name.as_str(), nodes[pod].own));
    assert_eq!(own, [("n1", true), ("n2", false), ("n3", true), ("n4", false)]);
}
