//! The life of a release on a real control plane of its own: installed, upgraded, removed, and what is left.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;
use wellfed_tests::fixture::{GpuNodes, OWNER};
use wellfed_tests::tools::Tool;
use wellfed_tests::{Fixture, Plane, until};

use crate::rendering::ROOT;

const READY_WITHIN: Duration = Duration::from_mins(2);

/// A namespace that takes restricted pods only, with two nodes, and the tools.
struct Stage {
    fixture: Fixture,
    helm: Tool,
    kubectl: Tool,
}

impl Stage {
    async fn set(plane: &Plane) -> anyhow::Result<Self> {
        let fixture = Fixture::new(plane, "chart").await?;
        fixture.add_nodes(&GpuNodes::new(2).gpus(0)).await?;
        let stage = Self { fixture, helm: plane.helm()?, kubectl: plane.kubectl()? };
        stage
            .kubectl(&["label", "namespace", stage.namespace(), "pod-security.kubernetes.io/enforce=restricted"])
            .await?;
        Ok(stage)
    }

    fn namespace(&self) -> &str {
        &self.fixture.namespace
    }

    /// `helm VERB RELEASE charts/CHART …` in the namespace.
    async fn deploy(&self, verb: &str, chart: &str, more: &[&str]) -> anyhow::Result<()> {
        let folder = Path::new(ROOT).join("charts").join(chart).display().to_string();
        self.helm.run(&[&[verb, chart, &folder, "-n", self.namespace()], more].concat()).await?;
        Ok(())
    }

    async fn operator(&self, verb: &str, more: &[&str]) -> anyhow::Result<()> {
        let place = json!({OWNER: self.namespace()}).to_string();
        let (place, tolerations) = (format!("nodeSelector={place}"), r#"tolerations=[{"operator": "Exists"}]"#);
        let common = ["--set-json", &place, "--set-json", tolerations, "--wait", "--timeout", "2m"];
        self.deploy(verb, "wellfed", &[&common, more].concat()).await
    }

    async fn uninstall(&self, release: &str) -> anyhow::Result<()> {
        self.helm.run(&["uninstall", release, "-n", self.namespace(), "--wait"]).await?;
        Ok(())
    }

    async fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        Ok(self.kubectl.run(args).await?.trim().to_owned())
    }

    /// Names of the nodes that the operator's pods are on, once there are two ready ones and no others.
    async fn nodes_of_pods(&self) -> anyhow::Result<BTreeSet<String>> {
        let pods: Api<Pod> = Api::namespaced(self.fixture.client(), self.namespace());
        let found = until("two ready pods of the operator", READY_WITHIN, async || {
            let pods = pods.list(&ListParams::default().labels("app.kubernetes.io/name=wellfed")).await?.items;
            let ready = pods.iter().filter(|pod| wellfed_tests::fixture::is_ready(pod)).count();
            ensure!(ready == 2 && pods.len() == 2, "{ready} ready of {}", pods.len());
            Ok(pods)
        });
        Ok(found.await?.into_iter().filter_map(|pod| pod.spec?.node_name).collect())
    }

    /// The workload of NOTES.txt, as a user would paste it.
    async fn apply_the_example_of_the_notes(&self) -> anyhow::Result<()> {
        let notes = self.helm.run(&["get", "notes", "wellfed", "-n", self.namespace()]).await?;
        let (_, example) = notes.split_once("<<'END'\n").context("no example in NOTES.txt")?;
        let (example, _) = example.split_once("\nEND\n").context("the example has no end")?;
        self.kubectl.run_with_input(&["apply", "--validate=strict", "-f", "-"], example).await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_rolls_the_pods_and_an_uninstall_keeps_the_definitions_and_their_objects() -> anyhow::Result<()> {
    let plane = Plane::start_private().await?;
    let stage = Stage::set(&plane).await?;

    stage.deploy("install", "wellfed-crds", &[]).await?;
    stage.operator("install", &["--set-json", r#"watchNamespaces=["default"]"#]).await?;
    assert_eq!(stage.nodes_of_pods().await?.len(), 2, "the replicas share a node");
    stage.apply_the_example_of_the_notes().await?;

    let endpoint = r#"prometheus=[{"name": "default", "url": "http://elsewhere:9090"}]"#;
    stage.operator("upgrade", &["--set-json", r#"watchNamespaces=["default"]"#, "--set-json", endpoint]).await?;
    stage.nodes_of_pods().await?;
    let sets = stage.kubectl(&["get", "replicasets", "-n", stage.namespace(), "-o", "name"]).await?;
    assert_eq!(sets.lines().count(), 2, "a changed configuration makes a second ReplicaSet: {sets}");

    stage.uninstall("wellfed").await?;
    stage.uninstall("wellfed-crds").await?;
    let left = stage.kubectl(&["get", "gpuworkloads", "-n", "default", "-o", "name"]).await?;
    assert_eq!(left, "gpuworkload.wellfed.dev/my-model");
    let rights = stage
        .kubectl(&[
            "get",
            "clusterroles,roles,rolebindings,clusterrolebindings",
            "-A",
            "-o",
            "name",
            "-l",
            "app.kubernetes.io/part-of=wellfed",
        ])
        .await?;
    assert_eq!(rights, "");

    stage.deploy("install", "wellfed-crds", &[]).await
}
