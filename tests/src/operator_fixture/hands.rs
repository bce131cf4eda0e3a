//! What a test does to its namespace as a person would, and the events that a person would read.

use super::{OperatorFixture, RELEASE, SOON};
use crate::operator::Operator;
use crate::until::until;
use anyhow::{Context, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use wellfed_crds::GpuWorkloadStatus;

impl OperatorFixture {
    /// `kubectl ARGS` in the test's namespace.
    pub async fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        let args = [&["-n", self.namespace.as_str()], args].concat();
        Ok(self.plane.kubectl()?.run(&args).await?.trim().to_owned())
    }

    /// `kubectl apply` of any object, in the test's namespace.
    pub async fn create(&self, manifest: &str) -> anyhow::Result<()> {
        self.plane.kubectl()?.run_with_input(&["-n", &self.namespace, "apply", "-f", "-"], manifest).await?;
        Ok(())
    }

    /// `kubectl scale gpuw NAME --replicas`.
    pub async fn ask(&self, name: &str, replicas: i32) -> anyhow::Result<()> {
        self.kubectl(&["scale", "gpuw", name, &format!("--replicas={replicas}")]).await?;
        Ok(())
    }

    /// The operator's events about the workload `name`, oldest first.
    pub async fn events(&self, name: &str) -> anyhow::Result<Vec<Event>> {
        let events: Api<Event> = Api::namespaced(self.client(), &self.namespace);
        let about = |event: &Event| {
            event
                .regarding
                .as_ref()
                .is_some_and(|it| it.kind.as_deref() == Some("GpuWorkload") && it.name.as_deref() == Some(name))
        };
        let mut found: Vec<_> = events.list(&ListParams::default()).await?.items.into_iter().filter(about).collect();
        found.sort_by_key(|event| event.event_time.as_ref().map(|at| at.0));
        Ok(found)
    }

    /// One more release of the chart beside the first, not started yet: another account with the same rights, which waits
    /// for the same Lease. Its name must hold the chart's.
    pub async fn standby(&self, release: &str) -> anyhow::Result<Operator> {
        let same = [format!("lease.name={RELEASE}"), format!("killSwitch.configMap={RELEASE}-stop")];
        let values = [self.values.as_slice(), same.as_slice()].concat();
        Operator::install(&self.plane, self.operator.namespace(), release, &values).await
    }

    /// Waits for an event of this reason about the workload `name`; the note of the first.
    pub async fn until_event(&self, name: &str, reason: &str) -> anyhow::Result<String> {
        let what = format!("an event {reason} about {name}");
        let found = until(&what, SOON, async || {
            let events = self.events(name).await?;
            let reasons: Vec<_> = events.iter().filter_map(|event| event.reason.clone()).collect();
            let event = events.into_iter().find(|event| event.reason.as_deref() == Some(reason));
            event.and_then(|event| event.note).with_context(|| format!("{reasons:?}"))
        });
        Ok(found.await?)
    }

    /// Waits until the workload's status is as `fits` wants it; returns it.
    pub async fn until_status(
        &self,
        name: &str,
        fits: impl Fn(&GpuWorkloadStatus) -> bool,
    ) -> anyhow::Result<GpuWorkloadStatus> {
        let what = format!("another status of {name}");
        let found = until(&what, SOON, async || {
            let status = self.status(name).await?;
            ensure!(fits(&status), "{status:?}");
            Ok(status)
        });
        Ok(found.await?)
    }

    /// Waits until the workload `name` says that it should have `replicas`.
    pub async fn until_desired(&self, name: &str, replicas: i32) -> anyhow::Result<()> {
        self.until_status(name, |status| status.desired_replicas == Some(replicas)).await.map(drop)
    }
}
