//! What stands where at one moment: the API server's numbers, and the queues by Prometheus.

use super::stage::{NAMESPACE, Stage, WORKLOADS};
use anyhow::Result;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::Value;
use std::collections::BTreeMap;
use wellfed_crds::{GpuWorkload, GpuWorkloadStatus};

/// One moment.
pub struct Look {
    /// Seconds since the traffic began; none before.
    pub seconds: Option<f64>,
    /// Each workload.
    pub workloads: BTreeMap<&'static str, Seen>,
}

/// One workload at one moment.
#[derive(Default)]
pub struct Seen {
    /// The operator's answer.
    pub status: GpuWorkloadStatus,
    /// Ready replicas of its Deployments.
    pub ready: i32,
    /// What waits, by its own metrics; none when they are gone.
    pub queue: Option<f64>,
    /// How active its GPUs truly are, 0–1.
    pub activity: f64,
}

/// The largest and the latest queue of each workload.
pub type Peaks = BTreeMap<&'static str, (f64, f64)>;

/// Looks again and again.
pub struct Looker<'a> {
    stage: &'a Stage,
    workloads: Api<GpuWorkload>,
    deployments: Api<Deployment>,
    peaks: Peaks,
}

/// What waits at each workload.
fn queue_of(workload: &str) -> String {
    match workload {
        "chat" => "sum(vllm:num_requests_running) + sum(vllm:num_requests_waiting)".to_owned(),
        "vision-train" => "sum(training_backlog_samples)".to_owned(),
        _ => format!("sum(queue_depth{{queue=\"{workload}\"}})"),
    }
}

impl<'a> Looker<'a> {
    /// On `stage`.
    pub async fn new(stage: &'a Stage) -> Result<Self> {
        let client = stage.plane.client().await?;
        let workloads = Api::namespaced(client.clone(), NAMESPACE);
        Ok(Self { stage, workloads, deployments: Api::namespaced(client, NAMESPACE), peaks: Peaks::new() })
    }

    /// One look.
    pub async fn look(&mut self) -> Result<Look> {
        let truth = self.stage.world.truth().await?;
        let seconds = truth["seconds"].as_f64();
        let deployments = self.deployments.list(&kube::api::ListParams::default()).await?.items;
        let mut workloads = BTreeMap::new();
        for name in WORKLOADS {
            let status = self.workloads.get(name).await?.status.unwrap_or_default();
            let queue = self.queue(name).await?;
            if let (Some(queue), Some(_)) = (queue, seconds) {
                let peak = self.peaks.entry(name).or_default();
                *peak = (peak.0.max(queue), queue);
            }
            let ready = deployments
                .iter()
                .filter(|one| belongs(one, name))
                .filter_map(|one| one.status.as_ref()?.ready_replicas);
            let seen = Seen { status, ready: ready.sum(), queue, activity: activity(&truth, name) };
            workloads.insert(name, seen);
        }
        Ok(Look { seconds, workloads })
    }

    async fn queue(&self, workload: &str) -> Result<Option<f64>> {
        let rows = self.stage.prometheus.query(&queue_of(workload)).await?;
        Ok(rows.first().map(|row| row.value))
    }

    /// The largest and the latest queues so far.
    pub fn peaks(self) -> Peaks {
        self.peaks
    }
}

fn belongs(deployment: &Deployment, workload: &str) -> bool {
    let spec = deployment.spec.as_ref();
    let labels = spec.and_then(|spec| spec.selector.match_labels.as_ref());
    labels.and_then(|labels| labels.get("app")).is_some_and(|app| app == workload)
}

fn activity(truth: &Value, workload: &str) -> f64 {
    let truth = &truth["workloads"][workload];
    truth["gpu_activity"].as_f64().or_else(|| truth["gpuActivity"].as_f64()).unwrap_or(0.0)
}
