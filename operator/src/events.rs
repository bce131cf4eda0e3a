//! One event a transition, with the text of that transition.

use crate::apply::{DEADLINE, MANAGER};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use wellfed_engine::units::WorkloadId;

/// Something that happened to a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// Whether a person should look.
    pub warning: bool,
    /// In one word.
    pub reason: String,
    /// What was done.
    pub action: &'static str,
    /// In words.
    pub note: String,
}

/// A happening that the API server was not told yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untold {
    /// When it happened; no two of a workload at the same time, so that each has a name of its own.
    pub at: Timestamp,
    /// What.
    pub happening: Happening,
}

/// The most that the API server takes.
const LONGEST_NOTE: usize = 1024;

/// Tells the API server. False where it may be told again: an event that arrived although its answer was lost is not written
/// twice, since it has the same name.
pub async fn tell(client: &Client, id: &WorkloadId, identity: &str, untold: &Untold) -> bool {
    let api: Api<Event> = Api::namespaced(client.clone(), &id.namespace);
    let event = event(id, identity, &untold.happening, untold.at);
    let sent = tokio::time::timeout(DEADLINE, api.create(&PostParams::default(), &event)).await;
    match sent {
        Ok(Ok(_)) => true,
        Ok(Err(kube::Error::Api(status))) if status.code == 409 => true,
        Ok(Err(kube::Error::Api(status))) if (400..500).contains(&status.code) && status.code != 429 => {
            tracing::warn!(workload = %id, error = %status.message, "an event was refused");
            true
        }
        Ok(Err(error)) => {
            tracing::warn!(workload = %id, %error, "an event could not be written and is tried again");
            false
        }
        Err(_) => {
            tracing::warn!(workload = %id, "an event could not be written in time and is tried again");
            false
        }
    }
}

fn event(id: &WorkloadId, identity: &str, happening: &Happening, at: Timestamp) -> Event {
    Event {
        metadata: ObjectMeta {
            // As client-go names them: unique, and sorted by time.
            name: Some(format!("{}.{:x}", id.name, at.as_nanosecond())),
            namespace: Some(id.namespace.clone()),
            ..ObjectMeta::default()
        },
        action: Some(happening.action.to_owned()),
        reason: Some(happening.reason.clone()),
        note: Some(shortened(&happening.note)),
        type_: Some(if happening.warning { "Warning" } else { "Normal" }.to_owned()),
        event_time: Some(MicroTime(at)),
        reporting_controller: Some("wellfed.dev/operator".to_owned()),
        reporting_instance: Some(if identity.is_empty() { MANAGER.to_owned() } else { identity.to_owned() }),
        regarding: Some(ObjectReference {
            api_version: Some("wellfed.dev/v1alpha1".to_owned()),
            kind: Some("GpuWorkload".to_owned()),
            namespace: Some(id.namespace.clone()),
            name: Some(id.name.clone()),
            uid: Some(id.uid.clone()),
            ..ObjectReference::default()
        }),
        ..Event::default()
    }
}

fn shortened(note: &str) -> String {
    if note.len() <= LONGEST_NOTE {
        return note.to_owned();
    }
    let end = (0..=LONGEST_NOTE - 4).rev().find(|end| note.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &note[..end])
}
