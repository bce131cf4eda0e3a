//! Plan → API calls: memory first, then the numbers; each with a deadline, each only while the Lease is held.

use crate::catalog::TargetKey;
use crate::lease::LeaseView;
use futures::{StreamExt, stream};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v1::Scale;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use std::time::Duration;
use wellfed_crds::GpuWorkload;
use wellfed_engine::plan::Action;

/// Calls to the API server at the same time.
pub const AT_ONCE: usize = 32;
/// The deadline of one call.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// Who writes.
pub const MANAGER: &str = "wellfed";

/// A patch that is ours, as managed fields show it.
pub fn as_wellfed() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// One workload's writes.
pub struct Job {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What to remember, written ahead of the numbers.
    pub memory: String,
    /// The numbers, each with its target.
    pub actions: Vec<(Action, TargetKey)>,
}

/// What became of one action.
#[derive(Debug)]
pub struct Outcome {
    /// Which.
    pub action: Action,
    /// Its target.
    pub target: TargetKey,
    /// The version of the target after the write, and when it was answered; or why it was not written.
    pub result: Result<(String, Timestamp), ApplyError>,
}

/// Why a number was not written.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Another instance may lead.
    #[error("the Lease was lost before the write")]
    NotLeader,
    /// No answer in time; the number may or may not have been written.
    #[error("the API server did not answer within {} s", DEADLINE.as_secs())]
    Timeout,
    /// The target was changed by somebody else since it was read: nothing was written.
    #[error("the target was changed by somebody else, so nothing was written; the next cycle looks again")]
    Conflict,
    /// Not allowed.
    #[error("the API server forbids it ({0}); the chart's `targets` and `watchNamespaces` grant it")]
    Forbidden(String),
    /// The target is gone.
    #[error("the target does not exist any more")]
    Gone,
    /// Anything else.
    #[error("the API server refused it: {0}")]
    Refused(String),
}

impl ApplyError {
    /// Whether the next cycle may try again; else only after a pause, since nothing will have changed.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::NotLeader | Self::Timeout | Self::Conflict => true,
            Self::Forbidden(_) | Self::Gone | Self::Refused(_) => false,
        }
    }

    /// In one word.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NotLeader => "NotLeader",
            Self::Timeout => "Timeout",
            Self::Conflict => "Conflict",
            Self::Forbidden(_) => "ScaleForbidden",
            Self::Gone => "TargetNotFound",
            Self::Refused(_) => "ScaleRefused",
        }
    }
}

/// Writes all jobs, 32 at once. Within a job the first failure ends it: later numbers may need the room of earlier ones.
pub async fn apply(jobs: Vec<Job>, client: &Client, lease: &LeaseView) -> Vec<Outcome> {
    let outcomes = stream::iter(jobs).map(|job| carry_out(job, client, lease)).buffer_unordered(AT_ONCE);
    outcomes.collect::<Vec<_>>().await.into_iter().flatten().collect()
}

async fn carry_out(job: Job, client: &Client, lease: &LeaseView) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(job.actions.len());
    let mut ahead = write_memory(&job, client, lease).await;
    for (action, target) in job.actions {
        let result = match ahead {
            Ok(()) => scale(&action, &target, client, lease).await,
            Err(error) => Err(error),
        };
        let failed = result.is_err();
        outcomes.push(Outcome { action, target, result });
        if failed {
            break;
        }
        ahead = Ok(());
    }
    outcomes
}

async fn write_memory(job: &Job, client: &Client, lease: &LeaseView) -> Result<(), ApplyError> {
    let api: Api<GpuWorkload> = Api::namespaced(client.clone(), &job.namespace);
    let patch = json!({ "status": { "memory": job.memory } });
    within(lease, api.patch_status(&job.name, &as_wellfed(), &Patch::Merge(patch))).await.map(|_| ())
}

async fn scale(
    action: &Action,
    target: &TargetKey,
    client: &Client,
    lease: &LeaseView,
) -> Result<(String, Timestamp), ApplyError> {
    let (namespace, kind, name) = target;
    let patch = scale_patch(action.from.0, action.to.0).map_err(|error| ApplyError::Refused(error.to_string()))?;
    let scaled: Scale = if kind == "StatefulSet" {
        let api: Api<StatefulSet> = Api::namespaced(client.clone(), namespace);
        within(lease, api.patch_scale(name, &as_wellfed(), &patch)).await?
    } else {
        let api: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        within(lease, api.patch_scale(name, &as_wellfed(), &patch)).await?
    };
    Ok((scaled.metadata.resource_version.unwrap_or_default(), Timestamp::now()))
}

/// Tests the old value, so that a change by anybody else in between makes it fail instead of being overwritten. A scale of
/// zero has no `replicas` at all on the wire, so there an empty spec is tested.
fn scale_patch(from: u32, to: u32) -> Result<Patch<()>, serde_json::Error> {
    let test = match from {
        0 => json!({ "op": "test", "path": "/spec", "value": {} }),
        from => json!({ "op": "test", "path": "/spec/replicas", "value": from }),
    };
    let patch = json!([test, { "op": "add", "path": "/spec/replicas", "value": to }]);
    Ok(Patch::Json(serde_json::from_value(patch)?))
}

async fn within<T>(lease: &LeaseView, call: impl Future<Output = kube::Result<T>>) -> Result<T, ApplyError> {
    if !lease.may_write() {
        return Err(ApplyError::NotLeader);
    }
    match tokio::time::timeout(DEADLINE, call).await {
        Err(_) => Err(ApplyError::Timeout),
        Ok(answer) => answer.map_err(|error| classified(&error)),
    }
}

fn classified(error: &kube::Error) -> ApplyError {
    match error {
        kube::Error::Api(status) => match status.code {
            403 => ApplyError::Forbidden(status.message.clone()),
            404 => ApplyError::Gone,
            // A JSON Patch whose `test` does not hold is answered as invalid (422), without a word on why.
            409 | 422 => ApplyError::Conflict,
            _ => ApplyError::Refused(status.message.clone()),
        },
        other => ApplyError::Refused(other.to_string()),
    }
}
