//! Why a control plane could not be used.

use std::path::PathBuf;

use super::Part;
use crate::binaries::BinariesError;
use crate::process::ProcessError;
use crate::state::StateError;

/// Why a control plane could not be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaneError {
    /// The programs are not there.
    #[error(transparent)]
    Binaries(#[from] BinariesError),
    /// A part did not start, become ready or stop.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// No place for state.
    #[error(transparent)]
    State(#[from] StateError),
    /// A file of the plane can't be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The certificates can't be made.
    #[error("certificates for the control plane: {0}")]
    Certificates(#[from] rcgen::Error),
    /// No free port on 127.0.0.1.
    #[error("no free port on 127.0.0.1 between {} and {}: {source}", super::ports::RANGE.start, super::ports::RANGE.end)]
    NoPort {
        /// What the last one said.
        source: std::io::Error,
    },
    /// A test was run by itself.
    #[error("no control plane: {}. Use `make test`, or `cargo run -p wellfed-tests --bin plane -- run -- COMMAND`.", .0)]
    NotAttached(String),
    /// A kubeconfig can't be used.
    #[error("{}: {source}", path.display())]
    Kubeconfig {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The API server refused.
    #[error("{what}: {source}")]
    Api {
        /// What was asked.
        what: String,
        /// The answer.
        source: Box<kube::Error>,
    },
    /// The parts run, but not as one.
    #[error(transparent)]
    NotSettled(#[from] crate::until::NotSeen),
    /// Nothing to stop.
    #[error("{} is not running; start it first.", .0.program())]
    NotRunning(Part),
    /// Nothing to start.
    #[error("{} is running already; stop or kill it first.", .0.program())]
    AlreadyRunning(Part),
    /// HTTP can't be set up.
    #[error("HTTP client for health checks: {0}")]
    Http(#[from] reqwest::Error),
}

impl PlaneError {
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    pub(super) fn api(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Api { what, source: Box::new(source) }
    }

    /// Whether another choice of ports may help.
    pub(super) fn port_taken(&self) -> bool {
        matches!(self, Self::Process(ProcessError::Died { tail, .. }) if tail.contains("address already in use"))
    }
}
