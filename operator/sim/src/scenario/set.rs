//! Changing one cause of a workload by its path.

use super::{Scenario, Workload};
use serde_json::Value;

/// Why a path could not be set. Nothing is changed then.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// No such workload.
    #[error("there is no workload \"{name}\"; the scenario has {known}")]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// What exists.
        known: String,
    },
    /// The path names what cannot be changed while the world runs.
    #[error("{path}: only paths under model, arrivals and telemetry can change while the world runs")]
    Fixed {
        /// The path.
        path: String,
    },
    /// The path leads nowhere.
    #[error("{path}: there is no \"{part}\" here; choose one of {known}")]
    UnknownPath {
        /// The whole path.
        path: String,
        /// The part that is not there.
        part: String,
        /// What is there.
        known: String,
    },
    /// The value does not fit.
    #[error("{path}: {value} does not fit: {why}")]
    BadValue {
        /// The whole path.
        path: String,
        /// The value.
        value: String,
        /// What is wrong and what would be right.
        why: String,
    },
}

impl Workload {
    /// This workload with the value at the dotted `path` replaced.
    pub fn with(&self, path: &str, value: &Value) -> Result<Self, SetError> {
        if !matches!(path.split('.').next(), Some("model" | "arrivals" | "telemetry")) {
            return Err(SetError::Fixed { path: path.into() });
        }
        let bad = |why: String| SetError::BadValue { path: path.into(), value: value.to_string(), why };
        let mut whole = serde_json::to_value(self).map_err(|error| bad(error.to_string()))?;
        *find(&mut whole, path)? = value.clone();
        let changed: Self = serde_json::from_value(whole).map_err(|error| bad(error.to_string()))?;
        changed.check().map_err(|(at, why)| SetError::BadValue { path: at, value: value.to_string(), why })?;
        Ok(changed)
    }
}

fn find<'a>(whole: &'a mut Value, path: &str) -> Result<&'a mut Value, SetError> {
    path.split('.').try_fold(whole, |here, part| {
        let known = here.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>().join(", "));
        here.get_mut(part).ok_or_else(|| SetError::UnknownPath {
            path: path.into(),
            part: part.into(),
            known: known.unwrap_or_else(|| "nothing: this is a value already".into()),
        })
    })
}

impl Scenario {
    /// The workload called `name`.
    pub fn workload(&self, name: &str) -> Result<&Workload, SetError> {
        self.workloads.iter().find(|workload| workload.name == name).ok_or_else(|| SetError::UnknownWorkload {
            name: name.into(),
            known: self.workloads.iter().map(|workload| workload.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }
}
