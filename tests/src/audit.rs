//! Who did what, from the API server's audit log: one event a request.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;

/// The audit log can't be read.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// No file, or no permission.
    #[error("audit log {}: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line that is not an event.
    #[error("audit log {}, line {line}: {source}", path.display())]
    NotAnEvent {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}

/// One request, as the audit log tells it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    stage: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// Who asked.
    pub user: EventUser,
    /// What for; none for paths such as /version.
    #[serde(default)]
    pub object_ref: ObjectRef,
    /// The path and query of the request.
    #[serde(rename = "requestURI")]
    pub request_uri: String,
    /// What the client calls itself.
    #[serde(default)]
    pub user_agent: String,
    /// How it ended.
    #[serde(default)]
    pub response_status: ResponseStatus,
    /// The body, for writes of a scale only.
    #[serde(default)]
    pub request_object: serde_json::Value,
    /// When the request came in.
    #[serde(rename = "requestReceivedTimestamp")]
    pub at: Timestamp,
}

/// The user of an [`Event`].
#[derive(Debug, Clone, Default, Deserialize)]
pub struct EventUser {
    /// Such as `system:serviceaccount:wellfed:wellfed`.
    #[serde(default)]
    pub username: String,
}

/// The object of an [`Event`]; fields are empty where they do not apply.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectRef {
    /// Empty for the core group.
    pub api_group: String,
    /// Plural, lower case.
    pub resource: String,
    /// Such as `scale` or `status`.
    pub subresource: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Empty for lists.
    pub name: String,
}

/// The answer to a request.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ResponseStatus {
    /// HTTP status.
    #[serde(default)]
    pub code: u16,
}

impl Event {
    /// Whether it could change something.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    /// `verb resource/subresource namespace/name code`, for messages.
    pub fn summary(&self) -> String {
        let it = &self.object_ref;
        let slash = if it.subresource.is_empty() { "" } else { "/" };
        format!(
            "{} {}{slash}{} {}/{} {}",
            self.verb, it.resource, it.subresource, it.namespace, it.name, self.response_status.code
        )
    }

    /// A watch is logged when it begins and when it ends, anything else once it is answered.
    fn counts(&self) -> bool {
        if self.verb == "watch" { self.stage == "ResponseStarted" } else { self.stage != "ResponseStarted" }
    }
}

/// Events that may be narrowed further: `plane.audit()?.by_user("system:serviceaccount:t-1:").writes()`.
#[derive(Debug, Clone, Default)]
pub struct Audit(Vec<Event>);

impl Audit {
    /// All events of the log at `path`, oldest first. A line that is still being written is left out.
    pub fn read(path: &Path) -> Result<Self, AuditError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| AuditError::Unreadable { path: path.to_owned(), source })?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut events = Vec::new();
        for (number, line) in whole.lines().enumerate() {
            let event: Event = serde_json::from_str(line).map_err(|source| AuditError::NotAnEvent {
                path: path.to_owned(),
                line: number + 1,
                source,
            })?;
            events.push(event);
        }
        events.retain(Event::counts);
        Ok(Self(events))
    }

    /// Those of users whose name starts with `prefix`.
    #[must_use]
    pub fn by_user(self, prefix: &str) -> Self {
        self.filter(|event| event.user.username.starts_with(prefix))
    }

    /// Those that could change something.
    #[must_use]
    pub fn writes(self) -> Self {
        self.filter(Event::is_write)
    }

    /// Those on `resource` and `subresource` (empty: the object itself).
    #[must_use]
    pub fn on(self, resource: &str, subresource: &str) -> Self {
        self.filter(|event| event.object_ref.resource == resource && event.object_ref.subresource == subresource)
    }

    /// Those in `namespace`.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        self.filter(|event| event.object_ref.namespace == namespace)
    }

    /// Those that came in at or after `at`.
    #[must_use]
    pub fn since(self, at: Timestamp) -> Self {
        self.filter(|event| event.at >= at)
    }

    /// Those for which `keep` holds.
    #[must_use]
    pub fn filter(mut self, keep: impl FnMut(&Event) -> bool) -> Self {
        self.0.retain(keep);
        self
    }

    /// The events, oldest first.
    pub fn events(&self) -> &[Event] {
        &self.0
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One line an event, for messages.
    pub fn summary(&self) -> String {
        self.0.iter().map(Event::summary).collect::<Vec<_>>().join("\n")
    }
}
