//! The control plane itself, before anything is tested on it.

use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, ResourceExt};
use wellfed_tests::binaries::Binaries;
use wellfed_tests::fixture::{GpuDeployment, GpuNodes, condition};
use wellfed_tests::{Fixture, Part, Plane, until};

const SECONDS: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_gpu_deployment_becomes_ready_on_fake_nodes_by_the_real_scheduler() -> Result<()> {
    let fixture = Fixture::new(&Plane::attach()?, "ready").await?;
    let nodes = fixture.add_nodes(&GpuNodes::new(2).gpus(4)).await?;

    fixture.deploy(&GpuDeployment::new("chat").replicas(2).gpus(4)).await?;
    let pods = fixture.until_ready("chat", 2, 60 * SECONDS).await?;

    let mut used: Vec<_> = pods.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect();
    let mut offered = nodes;
    used.sort();
    offered.sort();
    assert_eq!(used, offered, "two pods of four GPUs fill both nodes of four GPUs");
    Ok(())
}

#[tokio::test]
async fn a_pod_that_asks_for_more_gpus_than_a_node_has_stays_pending_and_is_told_why() -> Result<()> {
    let fixture = Fixture::new(&Plane::attach()?, "pending").await?;
    fixture.add_nodes(&GpuNodes::new(2).gpus(4)).await?;

    fixture.deploy(&GpuDeployment::new("huge").gpus(5)).await?;
    let why = until("the scheduler's verdict", 60 * SECONDS, async || {
        let pods = fixture.pods("huge").await?;
        let verdict = pods.first().and_then(|pod| condition(pod, "PodScheduled"));
        let (status, message) = verdict.ok_or_else(|| anyhow::anyhow!("{} pods, no verdict", pods.len()))?;
        ensure!(status == "False", "PodScheduled is {status}");
        Ok(message.to_owned())
    })
    .await?;

    assert!(why.contains("2 Insufficient nvidia.com/gpu"), "{why}");
    Ok(())
}

#[tokio::test]
async fn a_pod_lives_by_the_times_that_its_annotations_script() -> Result<()> {
    let fixture = Fixture::new(&Plane::attach()?, "script").await?;
    fixture.add_nodes(&GpuNodes::new(1)).await?;
    let slow = GpuDeployment::new("slow")
        .annotation("world.wellfed.dev/ready-after", "4s")
        .annotation("world.wellfed.dev/drain-for", "4s");

    fixture.deploy(&slow).await?;
    let pods = fixture.until_ready("slow", 1, 60 * SECONDS).await?;
    let loaded = seconds_from_scheduled_to_ready(&pods[0]);
    fixture.scale("slow", 0).await?;
    let scaled = std::time::Instant::now();
    until("the pod gone", 60 * SECONDS, async || {
        let left = fixture.pods("slow").await?.len();
        ensure!(left == 0, "{left} left");
        Ok(())
    })
    .await?;

    assert!((3..=20).contains(&loaded), "loaded for {loaded} s");
    assert!(scaled.elapsed() > 3 * SECONDS, "drained for {:?}", scaled.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_job_completes_when_its_annotation_says_so() -> Result<()> {
    let fixture = Fixture::new(&Plane::attach()?, "job").await?;
    fixture.add_nodes(&GpuNodes::new(1)).await?;
    let manifest = JOB.replace("OWNER", &fixture.namespace);
    let kubectl = fixture.plane.kubectl()?;

    kubectl.run_with_input(&["apply", "-n", &fixture.namespace, "-f", "-"], &manifest).await?;
    let args = ["wait", "-n", &fixture.namespace, "--for=condition=Complete", "job/train", "--timeout=60s"];
    let said = kubectl.run(&args).await?;

    assert_eq!(said, "job.batch/train condition met\n");
    Ok(())
}

#[tokio::test]
async fn the_audit_log_names_the_user_of_a_write_and_the_number_asked_for() -> Result<()> {
    let fixture = Fixture::new(&Plane::attach()?, "audit").await?;
    fixture.deploy(&GpuDeployment::new("chat").replicas(0)).await?;

    fixture.scale("chat", 3).await?;

    let scaled = fixture.audit()?.by_user("admin").writes().on("deployments", "scale");
    assert_eq!(scaled.summary(), format!("patch deployments/scale {}/chat 200", fixture.namespace));
    assert_eq!(scaled.events()[0].request_object["spec"]["replicas"], 3);
    Ok(())
}

#[tokio::test]
async fn a_service_accounts_kubeconfig_may_do_what_rbac_allows_and_no_more() -> Result<()> {
    let fixture = Fixture::new(&Plane::attach()?, "rbac").await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(fixture.client(), &fixture.namespace);
    let metadata = ObjectMeta { name: Some("reader".to_owned()), ..ObjectMeta::default() };
    accounts.create(&PostParams::default(), &ServiceAccount { metadata, ..ServiceAccount::default() }).await?;
    let kubeconfig = fixture.plane.state.join(format!("{}.kubeconfig", fixture.namespace));
    fixture.plane.token_kubeconfig(&fixture.namespace, "reader", &kubeconfig).await?;
    let as_reader = fixture.plane.kubectl()?.with_kubeconfig(&kubeconfig);

    let who = as_reader.run(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]).await?;
    let refused = as_reader.run(&["get", "pods"]).await.unwrap_err().to_string();

    let user = format!("system:serviceaccount:{}:reader", fixture.namespace);
    assert_eq!(who, user);
    assert!(refused.contains(&format!("User \"{user}\" cannot list resource \"pods\"")), "{refused}");
    assert_eq!(fixture.audit()?.by_user(&user).on("pods", "").events()[0].response_status.code, 403);
    Ok(())
}

#[tokio::test]
async fn helm_talks_to_the_plane() -> Result<()> {
    let plane = Plane::attach()?;

    let releases = plane.helm()?.run(&["list", "--all-namespaces", "--output", "json", "--filter", "no-such"]).await?;

    assert_eq!(releases.trim(), "[]");
    Ok(())
}

#[tokio::test]
async fn every_part_can_be_killed_and_started_again() -> Result<()> {
    let plane = Plane::start_private().await?;
    let fixture = Fixture::new(&plane, "killed").await?;
    fixture.add_nodes(&GpuNodes::new(1)).await?;
    fixture.deploy(&GpuDeployment::new("chat").replicas(1)).await?;
    fixture.until_ready("chat", 1, 60 * SECONDS).await?;

    for part in Part::ALL {
        let before = plane.processes()[&part].clone();
        plane.kill(part)?;
        assert!(!before.alive(), "{part:?} is gone once kill returns");
        plane.start(part).await?;
    }

    fixture.scale("chat", 2).await?;
    fixture.until_ready("chat", 2, 60 * SECONDS).await?;
    Ok(())
}

#[tokio::test]
async fn an_api_server_that_is_stopped_comes_back_on_its_port_with_its_data() -> Result<()> {
    let plane = Plane::start_private().await?;
    let fixture = Fixture::new(&plane, "stopped").await?;
    fixture.deploy(&GpuDeployment::new("chat").replicas(0)).await?;

    plane.stop(Part::ApiServer).await?;
    let refused = fixture.replicas("chat").await;
    plane.start(Part::ApiServer).await?;

    assert!(refused.is_err(), "nobody answers while it is stopped: {refused:?}");
    assert_eq!(fixture.replicas("chat").await?, 0);
    assert_eq!(plane.stop(Part::Kwok).await.map_err(|error| error.to_string()), Ok(()));
    let twice = plane.stop(Part::Kwok).await.unwrap_err().to_string();
    assert_eq!(twice, "kwok is not running; start it first.");
    Ok(())
}

#[tokio::test]
async fn a_node_whose_kubelet_falls_silent_is_not_ready_within_half_a_minute_and_comes_back() -> Result<()> {
    let plane = Plane::start_private().await?;
    let fixture = Fixture::new(&plane, "silent").await?;
    let name = fixture.add_nodes(&GpuNodes::new(1)).await?.remove(0);
    let nodes: Api<Node> = Api::all(fixture.client());
    let until_ready_is = async |wanted: &str| {
        until(&format!("Ready={wanted}"), 45 * SECONDS, async || {
            let node = nodes.get(&name).await?;
            let seen = ready(&node).unwrap_or_default();
            ensure!(seen == wanted, "{} has Ready={seen}", node.name_any());
            Ok(seen)
        })
        .await
    };

    plane.kill(Part::Kwok)?;
    let silent = until_ready_is("Unknown").await?;
    plane.start(Part::Kwok).await?;
    let back = until_ready_is("True").await?;

    assert_eq!((silent.as_str(), back.as_str()), ("Unknown", "True"));
    Ok(())
}

#[tokio::test]
async fn a_missing_program_is_named_with_the_folder_and_the_fix() {
    let failed = Plane::start(Binaries::in_folder("/nowhere")).await.unwrap_err().to_string();

    assert_eq!(
        failed,
        "no program \"etcd\" in /nowhere. Put it there, or unset WELLFED_BINARIES and WELLFED_BINARIES_RESOLVED to have \
         it built (tests/controlplane/provision)."
    );
}

#[tokio::test]
async fn a_part_that_dies_at_its_start_shows_the_end_of_its_log() -> Result<()> {
    let folder = tempfile()?;
    for part in Part::ALL {
        std::os::unix::fs::symlink("/bin/false", folder.join(part.program()))?;
    }

    let failed = Plane::start(Binaries::in_folder(&folder)).await.unwrap_err().to_string();
    std::fs::remove_dir_all(folder)?;

    assert!(failed.starts_with("etcd ended at its start (exit status: 1). The end of its log, "), "{failed}");
    Ok(())
}

fn tempfile() -> Result<std::path::PathBuf> {
    let folder = wellfed_tests::state::root()?.join(format!("false-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn ready(node: &Node) -> Option<String> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == "Ready").map(|condition| condition.status.clone())
}

fn seconds_from_scheduled_to_ready(pod: &k8s_openapi::api::core::v1::Pod) -> i64 {
    let at = |kind: &str| {
        let conditions = pod.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|condition| condition.type_ == kind)?.last_transition_time.as_ref().map(|time| time.0)
    };
    match (at("PodScheduled"), at("Ready")) {
        (Some(scheduled), Some(ready)) => ready.duration_since(scheduled).as_secs(),
        _ => -1,
    }
}

const JOB: &str = r"
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    metadata:
      annotations: {world.wellfed.dev/complete-after: 2s}
    spec:
      restartPolicy: Never
      nodeSelector: {test.wellfed.dev/owner: OWNER}
      tolerations: [{key: test.wellfed.dev/owner, value: OWNER, effect: NoSchedule}]
      containers:
      - {name: main, image: fake, resources: {limits: {nvidia.com/gpu: 8}}}
";
