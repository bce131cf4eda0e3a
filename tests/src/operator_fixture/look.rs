//! What a test sees of the operator's work: the objects, the audit log, the operator's own counters.

use super::{OperatorFixture, SOON};
use crate::audit::Audit;
use crate::until::until;
use anyhow::{Context, ensure};
use kube::Api;
use wellfed_crds::{Condition, ConditionStatus, GpuWorkload, GpuWorkloadStatus};

impl OperatorFixture {
    /// The workload as it is.
    pub async fn workload(&self, name: &str) -> anyhow::Result<GpuWorkload> {
        Ok(Api::namespaced(self.client(), &self.namespace).get(name).await?)
    }

    /// Its status; empty before the operator has seen it.
    pub async fn status(&self, name: &str) -> anyhow::Result<GpuWorkloadStatus> {
        Ok(self.workload(name).await?.status.unwrap_or_default())
    }

    /// Waits until the condition `kind` stands as `status` and speaks of the present generation; returns it.
    pub async fn until_condition(&self, name: &str, kind: &str, status: ConditionStatus) -> anyhow::Result<Condition> {
        self.until_seen(name, kind, &format!("{status:?}"), |condition| condition.status == status).await
    }

    /// Waits until the condition `kind` gives `reason` and speaks of the present generation; returns it.
    pub async fn until_reason(&self, name: &str, kind: &str, reason: &str) -> anyhow::Result<Condition> {
        self.until_seen(name, kind, reason, |condition| condition.reason == reason).await
    }

    async fn until_seen(
        &self,
        name: &str,
        kind: &str,
        wanted: &str,
        fits: impl Fn(&Condition) -> bool,
    ) -> anyhow::Result<Condition> {
        let what = format!("{kind} of {name} to be {wanted}");
        let found = until(&what, SOON, async || {
            let workload = self.workload(name).await?;
            let conditions = workload.status.unwrap_or_default().conditions;
            let condition = conditions.into_iter().find(|one| one.kind == kind).context("no such condition")?;
            let current = condition.observed_generation == workload.metadata.generation;
            ensure!(current && fits(&condition), "{condition:?} at generation {:?}", workload.metadata.generation);
            Ok(condition)
        });
        Ok(found.await?)
    }

    /// Waits until the Deployment `name` asks for `replicas`.
    pub async fn until_replicas(&self, name: &str, replicas: i32) -> anyhow::Result<()> {
        let what = format!("{name} to ask for {replicas} replicas");
        let found = until(&what, SOON, async || {
            let now = self.replicas(name).await?;
            let status = self.status(name).await.unwrap_or_default();
            let why = status.decision.map(|decision| decision.summary).unwrap_or_default();
            ensure!(now == replicas, "{now}; {why}; {:?}", status.conditions);
            Ok(())
        });
        Ok(found.await?)
    }

    /// Waits until the operator has ended `count` more cycles: long enough to see that something does not happen.
    pub async fn after_cycles(&self, count: u64) -> anyhow::Result<()> {
        let before = self.cycles().await?;
        // The one that is under way may have looked earlier.
        let wanted = before + count + 1;
        let what = format!("{count} cycles");
        let found = until(&what, SOON, async || {
            let now = self.cycles().await?;
            ensure!(now >= wanted, "{now} of {wanted}");
            Ok(())
        });
        Ok(found.await?)
    }

    /// How many cycles the operator has ended since it started.
    pub async fn cycles(&self) -> anyhow::Result<u64> {
        let page = self.operator.metrics().await?;
        let count = page.lines().find_map(|line| line.strip_prefix("wellfed_cycle_duration_seconds_count "));
        Ok(count.context("no count of cycles in /metrics")?.parse()?)
    }

    /// What this operator wrote since the test began, Leases left out.
    pub fn writes(&self) -> anyhow::Result<Audit> {
        let user = self.operator.user();
        let audit = self.plane.audit()?.since(self.since).writes();
        Ok(audit.filter(|event| event.user.username == user && event.object_ref.resource != "leases"))
    }

    /// What this operator wrote to `/scale` of the Deployment `name` since the test began.
    pub fn scalings(&self, name: &str) -> anyhow::Result<Audit> {
        Ok(self.writes()?.on("deployments", "scale").filter(|event| event.object_ref.name == name))
    }
}
