//! Workloads whose demand exceeds what they have, each measured in its own way.

use crate::exposition::{Labels, Replica};
use anyhow::Context;
use kube::ResourceExt;
use serde_json::json;
use std::ops::Deref;
use std::time::{Duration, Instant};
use wellfed_tests::fixture::OWNER;
use wellfed_tests::operator_fixture::{SOON, Wish};
use wellfed_tests::{OperatorFixture, Plane};

/// Replicas of each at first; its demand asks for twice as many.
pub const REPLICAS: usize = 2;

/// A workload, its class and its replicas.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Its class.
    pub class: &'static str,
    /// What is measured of each replica.
    pub replicas: [Replica; REPLICAS],
    /// How the exporter's series are labelled.
    pub labels: Labels,
}

/// An operator that looks at evidence every three seconds, and the workloads.
pub struct Stage {
    fixture: OperatorFixture,
    began: Instant,
    shown: Vec<(String, Replica, Labels)>,
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
        let mut stage = Self { fixture, began: Instant::now(), shown: Vec::new() };
        for case in cases {
            stage.create(&deployment(case.name, &stage.namespace)).await?;
        }
        for case in cases {
            let pods = stage.until_ready(case.name, REPLICAS, SOON).await?;
            let shown = pods.iter().zip(case.replicas).map(|(pod, replica)| (pod.name_any(), replica, case.labels));
            stage.shown.extend(shown);
            stage.source.set(&format!(r#"queue_depth{{queue="{}"}} {}"#, case.name, 20 * REPLICAS));
        }
        stage.expose();
        Ok(stage)
    }

    /// Runs `test` while counters count.
    pub async fn during(&self, test: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
        let counting = async {
            let mut due = tokio::time::interval(Duration::from_millis(250));
            loop {
                due.tick().await;
                self.expose();
            }
        };
        tokio::select! {
            done = test => done,
            () = counting => unreachable!("counters count for ever"),
        }
    }

    fn expose(&self) {
        for (pod, replica, labels) in &self.shown {
            replica.expose(&self.source, &self.namespace, pod, *labels, self.began);
        }
    }

    /// The finding `rule` of the workload `name`.
    pub async fn finding(&self, name: &str, rule: &str) -> anyhow::Result<wellfed_crds::FindingStatus> {
        let findings = self.status(name).await?.findings;
        let rules: Vec<_> = findings.iter().map(|finding| finding.rule.clone()).collect();
        findings.into_iter().find(|one| one.rule == rule).with_context(|| format!("{name}: {rule} is not in {rules:?}"))
    }
}

/// One GPU and eight cores a replica, on the test's nodes.
fn deployment(name: &str, owner: &str) -> String {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": REPLICAS,
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
        .with("spec.gate", json!({"mode": "Enforce", "onUnknown": "Hold", "window": "12s", "warmUp": "0s"}))
}
