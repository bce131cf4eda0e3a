//! Many equal workloads, each with one replica, a signal of its own that never stands still, and a GPU whose activity moves
//! about a threshold.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use wellfed_crds::GpuWorkload;
use wellfed_tests::fixture::{GpuDeployment, GpuNodes};
use wellfed_tests::operator_fixture::Wish;
use wellfed_tests::{OperatorFixture, Plane, until};

/// A memory is written at most once a minute without a reason, so that after the last event it takes that long.
const SETTLED_WITHIN: Duration = Duration::from_mins(4);

/// The workloads `w-000`, `w-001`, … of one operator.
pub struct Crowd {
    pub stage: Arc<OperatorFixture>,
    awake: Arc<Mutex<BTreeSet<String>>>,
    pulse: JoinHandle<()>,
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.pulse.abort();
    }
}

impl Crowd {
    /// Nobody yet, and signals for all.
    pub async fn gather(name: &str) -> anyhow::Result<Self> {
        let quick = ["timing.evidenceInterval=3s"];
        let stage = Arc::new(OperatorFixture::start_with(&Plane::attach()?, name, &quick).await?);
        let awake = Arc::<Mutex<BTreeSet<String>>>::default();
        let (source, up) = (Arc::clone(&stage), Arc::clone(&awake));
        let pulse = tokio::spawn(async move {
            for beat in 0.. {
                let awake = up.lock().unwrap_or_else(PoisonError::into_inner).clone();
                (0..200).for_each(|number| source.source.set(&depth(number, beat, &awake)));
                let pods: Api<Pod> = Api::namespaced(source.client(), &source.namespace);
                let pods = pods.list_metadata(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
                for pod in pods {
                    for line in hardly_used(&source.namespace, &pod.name_any(), beat) {
                        source.source.set(&line);
                    }
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        Ok(Self { stage, awake, pulse })
    }

    /// From now on the signal of `name` asks for three replicas.
    pub fn wake(&self, name: &str) {
        self.awake.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    /// Adds workloads until there are `count`, and waits until nothing about them is new any more.
    pub async fn grow_to(&self, count: usize) -> anyhow::Result<()> {
        let workloads: Api<GpuWorkload> = Api::namespaced(self.stage.client(), &self.stage.namespace);
        let have = workloads.list_metadata(&ListParams::default()).await?.items.len();
        self.stage.add_nodes(&GpuNodes::new((count - have).div_ceil(8))).await?;
        let add = async |number: usize| {
            let name = name(number);
            self.stage.deploy(&GpuDeployment::new(&name)).await?;
            let workload: GpuWorkload = serde_json::from_str(&wish(&name).manifest())?;
            workloads.create(&PostParams::default(), &workload).await?;
            anyhow::Ok(())
        };
        stream::iter(have..count).map(add).buffer_unordered(8).try_collect::<Vec<()>>().await?;
        until(&format!("{count} workloads at rest"), SETTLED_WITHIN, async || {
            let all = workloads.list(&ListParams::default()).await?.items;
            let at_rest = all.iter().filter(|workload| is_at_rest(workload)).count();
            ensure!(at_rest == count, "{at_rest} of {}: {:?}", all.len(), all.iter().find(|one| !is_at_rest(one)));
            Ok(())
        })
        .await?;
        Ok(())
    }

    /// How often Prometheus was asked.
    pub async fn queries(&self) -> anyhow::Result<f64> {
        let of_queries = [("handler", "/api/v1/query")];
        Ok(self.stage.prometheus.counter("prometheus_http_requests_total", &of_queries).await?)
    }
}

fn name(number: usize) -> String {
    format!("w-{number:03}")
}

/// One query for all of them; each takes its own row. The gate looks at them all.
fn wish(name: &str) -> Wish {
    let gate = json!({"mode": "Enforce", "window": "15s", "warmUp": "0s"});
    Wish::of(name).with("spec.gate", gate).any_signal(json!({
        "name": "queue",
        "source": {"prometheus": {"query": "sum by (queue) (queue_depth)", "match": {"queue": name}}},
        "target": {"type": "AverageValue", "averageValue": "10"},
    }))
}

/// 9.6 to 10.4, where a replica should bear 10 and the tolerance is a tenth.
fn depth(number: usize, beat: usize, awake: &BTreeSet<String>) -> String {
    let name = name(number);
    let tenths = 96 + (number + beat) % 9 + if awake.contains(&name) { 180 } else { 0 };
    format!("queue_depth{{queue=\"{name}\"}} {}.{}", tenths / 10, tenths % 10)
}

/// As its exporter shows the GPU of a pod: for some beats a little above the share below which it is hardly used, for some
/// below it.
fn hardly_used(namespace: &str, pod: &str, beat: usize) -> [String; 5] {
    let (more, watts) = ((beat / 20).is_multiple_of(2), 120 + beat % 7);
    let share = |low: f64, high: f64| if more { high } else { low };
    [
        ("DCGM_FI_DEV_GPU_UTIL", share(29.0, 31.0)),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", share(0.29, 0.31)),
        ("DCGM_FI_PROF_SM_ACTIVE", 0.2),
        ("DCGM_FI_PROF_DRAM_ACTIVE", 0.1),
        ("DCGM_FI_DEV_POWER_USAGE", watts as f64),
    ]
    .map(|(name, value)| format!(r#"{name}{{UUID="GPU-{pod}",namespace="{namespace}",pod="{pod}"}} {value}"#))
}

/// Ready, and with a memory that only an event can change: its adoption has ended, and its windows hold one number.
fn is_at_rest(workload: &GpuWorkload) -> bool {
    let Some(status) = &workload.status else { return false };
    let memory: Value = status.memory.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let windows_hold_one = memory["desires"].as_array().is_some_and(|slots| slots.len() == 1);
    let ready = status.conditions.iter().any(|one| one.kind == "Ready" && one.reason == "Decided");
    ready && memory["adoption"] == "Done" && memory["ups"].is_null() && windows_hold_one && memory["short"].is_null()
}
