//! Workloads whose demand exceeds what they have, each measured in its own way.

use crate::exposition::{Labels, Replica};
use crate::shown::Shown;
use anyhow::{Context, ensure};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wellfed_crds::FindingStatus;
use wellfed_tests::fixture::{GpuNodes, OWNER};
use wellfed_tests::operator_fixture::{SOON, Wish};
use wellfed_tests::{OperatorFixture, Plane, until};

/// The GPUs that every fixture has.
const GPUS: usize = 16;
/// For what takes a roll-out or a whole window, and a while to be seen.
pub const LATER: Duration = Duration::from_secs(75);

/// A workload, its class and its replicas.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Its class.
    pub class: &'static str,
    /// What is measured of each of its first replicas; its demand asks for twice as many.
    pub replicas: &'static [Replica],
    /// How the exporter's series are labelled.
    pub labels: Labels,
}

/// An operator that looks at evidence every three seconds, and the workloads.
pub struct Stage {
    fixture: OperatorFixture,
    shown: Mutex<Shown>,
}

impl Deref for Stage {
    type Target = OperatorFixture;

    fn deref(&self) -> &OperatorFixture {
        &self.fixture
    }
}

impl Stage {
    /// With all `cases`, measured and in need of more; nobody scales them yet.
    pub async fn set(name: &str, cases: &[Case]) -> anyhow::Result<Self> {
        let quick = ["timing.evidenceInterval=3s"];
        let fixture = OperatorFixture::start_with(&Plane::attach()?, name, &quick).await?;
        let stage = Self { fixture, shown: Mutex::new(Shown::of(cases)) };
        let gpus: usize = cases.iter().map(|case| 2 * case.replicas.len()).sum();
        if gpus > GPUS {
            stage.add_nodes(&GpuNodes::new((gpus - GPUS).div_ceil(8))).await?;
        }
        for case in cases {
            stage.create(&deployment(case, &stage.namespace)).await?;
            stage.demands(case.name, 2 * case.replicas.len());
        }
        for case in cases {
            stage.until_ready(case.name, case.replicas.len(), SOON).await?;
        }
        stage.send().await?;
        Ok(stage)
    }

    /// From now on its queue asks for this many replicas.
    pub fn demands(&self, name: &str, replicas: usize) {
        self.source.set(&format!(r#"queue_depth{{queue="{name}"}} {}"#, 10 * replicas));
    }

    /// From now on it is measured like this.
    pub fn becomes(&self, name: &str, replicas: &'static [Replica]) {
        self.shown().becomes(name, replicas);
    }

    /// Runs `test` while counters count.
    pub async fn during(&self, test: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
        tokio::select! {
            done = test => done,
            broken = self.count() => broken,
        }
    }

    /// For ever, unless the pods can't be listed.
    async fn count(&self) -> anyhow::Result<()> {
        let mut due = tokio::time::interval(Duration::from_millis(250));
        loop {
            due.tick().await;
            self.send().await?;
        }
    }

    async fn send(&self) -> anyhow::Result<()> {
        let pods = self.all_pods().list(&ListParams::default()).await?.items;
        self.shown().send(&self.source, &self.namespace, &pods);
        Ok(())
    }

    /// The container of each of its replicas has just ended with these last words, and was started again.
    pub async fn ends(&self, name: &str, words: &str) -> anyhow::Result<()> {
        let now = format!("{:.0}", Timestamp::now());
        let end = json!({"exitCode": 1, "reason": "Error", "message": words, "startedAt": now, "finishedAt": now});
        for pod in self.pods(name).await? {
            let container = json!({"name": "main", "image": "fake", "imageID": "", "ready": true, "started": true,
                "restartCount": 1, "state": {"running": {"startedAt": now}}, "lastState": {"terminated": end}});
            let status = Patch::Merge(json!({"status": {"containerStatuses": [container]}}));
            self.all_pods().patch_status(&pod.name_any(), &PatchParams::default(), &status).await?;
        }
        Ok(())
    }

    /// The finding `rule` of the workload `name`.
    pub async fn finding(&self, name: &str, rule: &str) -> anyhow::Result<FindingStatus> {
        let findings = self.status(name).await?.findings;
        let rules: Vec<_> = findings.iter().map(|finding| finding.rule.clone()).collect();
        findings.into_iter().find(|one| one.rule == rule).with_context(|| format!("{name}: {rule} is not in {rules:?}"))
    }

    /// Waits until the finding `rule` of the workload `name` is in `state`; returns it.
    pub async fn until_finding(&self, name: &str, rule: &str, state: &str) -> anyhow::Result<FindingStatus> {
        let what = format!("{rule} of {name} to be {state}");
        let found = until(&what, LATER, async || {
            let finding = self.finding(name, rule).await?;
            ensure!(finding.state == state, "{finding:?}; {:?}", self.status(name).await?.decision);
            Ok(finding)
        });
        Ok(found.await?)
    }

    /// Waits for an event `reason` about the workload `name` that says `words`; its whole note.
    pub async fn until_told(&self, name: &str, reason: &str, words: &str) -> anyhow::Result<String> {
        let what = format!("an event {reason} about {name} with {words:?}");
        let found = until(&what, SOON, async || {
            let events = self.events(name).await?;
            let told: Vec<_> = events.into_iter().map(|one| (one.reason, one.note.unwrap_or_default())).collect();
            let wanted = told.iter().find(|(is, note)| is.as_deref() == Some(reason) && note.contains(words));
            wanted.map(|(_, note)| note.clone()).with_context(|| format!("{told:?}"))
        });
        Ok(found.await?)
    }

    /// Waits until the gate's step of the decision on the workload `name` says `words`.
    pub async fn until_said(&self, name: &str, words: &str) -> anyhow::Result<()> {
        let what = format!("the gate to say {words:?} of {name}");
        let said = until(&what, SOON, async || {
            let steps = self.status(name).await?.decision.context("no decision")?.steps;
            let gate = steps.iter().find(|step| step.step == "gate").context("no such step")?;
            ensure!(gate.message.contains(words), "{}", gate.message);
            Ok(())
        });
        Ok(said.await?)
    }

    /// Whether `/metrics` shows the finding `rule` of the workload `name` in `state`.
    pub async fn shows_metric(&self, name: &str, rule: &str, state: &str) -> anyhow::Result<()> {
        let labels = format!(r#"namespace="{}",workload="{name}",rule="{rule}",state="{state}""#, self.namespace);
        let line = format!("wellfed_findings{{{labels}}} 1");
        let page = self.operator.metrics().await?;
        ensure!(page.lines().any(|one| one == line), "{line} is not in\n{page}");
        Ok(())
    }

    fn all_pods(&self) -> Api<Pod> {
        Api::namespaced(self.client(), &self.namespace)
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One GPU and eight cores a replica, on the test's nodes.
fn deployment(case: &Case, owner: &str) -> String {
    let labels = json!({"app": case.name});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": case.name},
        "spec": {
            "replicas": case.replicas.len(),
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {OWNER: owner},
                    "tolerations": [{"key": OWNER, "value": owner, "effect": "NoSchedule"}],
                    "containers": [{
                        "name": "main",
                        "image": "fake",
                        "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "8"}},
                    }],
                },
            },
        },
    })
    .to_string()
}

/// Ten in the queue for each replica are as they should be. No evidence holds, so what grows was allowed to.
pub fn wish(case: &Case) -> Wish {
    let query = format!(r#"sum(queue_depth{{queue="{}"}})"#, case.name);
    Wish::of(case.name)
        .signal("queue", &query, "10")
        .with("spec.class", case.class)
        .with("spec.gate", json!({"mode": "Enforce", "onUnknown": "Hold", "window": "15s", "warmUp": "0s"}))
}
