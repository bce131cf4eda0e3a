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

/// The most that the API server takes.
const LONGEST_NOTE: usize = 1024;

/// Tells the API server; an event that is lost is only logged.
pub async fn tell(client: &Client, id: &WorkloadId, identity: &str, happening: &Happening) {
    let api: Api<Event> = Api::namespaced(client.clone(), &id.namespace);
    let event = event(id, identity, happening, Timestamp::now());
    let sent = tokio::time::timeout(DEADLINE, api.create(&PostParams::default(), &event)).await;
    match sent {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::warn!(workload = %id, %error, "an event could not be written"),
        Err(_) => tracing::warn!(workload = %id, "an event could not be written in time"),
    }
}

fn event(id: &WorkloadId, identity: &str, happening: &Happening, now: Timestamp) -> Event {
    Event {
        metadata: ObjectMeta {
            // As client-go names them: unique, and sorted by time.
            name: Some(format!("{}.{:x}", id.name, now.as_nanosecond())),
            namespace: Some(id.namespace.clone()),
            ..ObjectMeta::default()
        },
        action: Some(happening.action.to_owned()),
        reason: Some(happening.reason.clone()),
        note: Some(shortened(&happening.note)),
        type_: Some(if happening.warning { "Warning" } else { "Normal" }.to_owned()),
        event_time: Some(MicroTime(now)),
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
