//! GPUs that several pods share, as their node says: what is found there is told, and growth passes.

use crate::exposition::Labels;
use crate::meters::FETCHING;
use crate::stage::{Case, Stage, wish};
use anyhow::ensure;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use wellfed_crds::ConditionStatus::{False, True};
use wellfed_tests::fixture::OWNER;

/// The exporter shows each GPU with one pod only, as it does with a sliced one.
const CASE: Case = Case { name: "reader", class: "Training", replicas: &[FETCHING; 2], labels: Labels::Honoured };

#[tokio::test(flavor = "multi_thread")]
async fn dcgm_exporter_151_201_144_307_a_node_that_slices_its_gpus_turns_a_refusal_into_advice() -> anyhow::Result<()> {
    let stage = Stage::set("sharing", &[CASE]).await?;
    let told = async {
        label(&stage, &json!("1"), &json!("none")).await?;
        // Held back by hand, so that it is looked at more than once.
        stage.apply(&wish(&CASE).with("spec.mode", "Recommend")).await?;
        stage.until_condition("reader", "Starved", True).await?;
        ensure!(
            stage.finding("reader", "StorageStall").await?.weight == "Veto",
            "the control: nobody shares these GPUs"
        );

        label(&stage, &json!("4"), &json!("time-slicing")).await?;
        stage.until_condition("reader", "Starved", False).await?;
        let told = stage.until_finding("reader", "StorageStall", "Open").await?;
        ensure!(told.weight == "Advice", "{told:?}");

        // What discovers GPUs is restarted, and its labels are away.
        label(&stage, &Value::Null, &Value::Null).await?;
        stage.after_cycles(5).await?;
        stage.apply(&wish(&CASE)).await?;
        stage.until_replicas("reader", 4).await
    };
    stage.during(told).await
}

/// As GPU feature discovery labels every node of the stage; null takes a label away.
async fn label(stage: &Stage, replicas: &Value, strategy: &Value) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(stage.client());
    let labels = json!({"nvidia.com/gpu.replicas": replicas, "nvidia.com/gpu.sharing-strategy": strategy});
    let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
    let own = ListParams::default().labels(&format!("{OWNER}={}", stage.namespace));
    for node in nodes.list(&own).await?.items {
        nodes.patch(&node.name_any(), &PatchParams::default(), &patch).await?;
    }
    Ok(())
}
