//! A real Prometheus, from a small description of what it scrapes.

mod config;
mod counters;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use config::{PrometheusConfig, ScrapeJob, Targets, WorldJobs};

use crate::binaries::{Binaries, BinariesError};
use crate::plane::{PlaneError, install_tls, ports};
use crate::process::{Group, Launch, Process, ProcessError};
use crate::state::{StateError, StateFolder};

const READY_WITHIN: Duration = Duration::from_mins(2);

/// Why Prometheus can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PrometheusError {
    /// The program is not there.
    #[error(transparent)]
    Binaries(#[from] BinariesError),
    /// It did not start, become ready or stop.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// No place for state.
    #[error(transparent)]
    State(#[from] StateError),
    /// No port.
    #[error(transparent)]
    Port(#[from] Box<PlaneError>),
    /// The configuration can't be written.
    #[error("prometheus.yml: {0}")]
    Config(String),
    /// It did not answer, or not as Prometheus does.
    #[error("{url}: {problem}")]
    Answer {
        /// What was asked.
        url: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// Nothing to stop.
    #[error("prometheus is not running; start it first.")]
    NotRunning,
    /// Nothing to start.
    #[error("prometheus is running already; stop or kill it first.")]
    AlreadyRunning,
}

/// A Prometheus with a port and data of its own, which it keeps over restarts. Dropping it kills it and removes the data.
#[derive(Debug)]
pub struct Prometheus {
    binaries: Binaries,
    port: u16,
    http: reqwest::Client,
    process: Mutex<Option<Process>>,
    folder: StateFolder,
}

impl Prometheus {
    /// Starts it and waits until it is ready.
    pub async fn start(binaries: &Binaries, config: &PrometheusConfig) -> Result<Self, PrometheusError> {
        install_tls();
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build();
        let http = http.map_err(|error| PrometheusError::Config(error.to_string()))?;
        let folder = StateFolder::create("prometheus")?;
        let port = ports::free().map_err(Box::new)?;
        let made = Self { binaries: binaries.clone(), port, http, process: Mutex::default(), folder };
        let yaml = config.to_yaml().map_err(PrometheusError::Config)?;
        std::fs::write(made.folder.path().join("prometheus.yml"), yaml)
            .map_err(|error| PrometheusError::Config(error.to_string()))?;
        made.start_again().await?;
        Ok(made)
    }

    /// Where it serves, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Its folder: prometheus.yml, prometheus.log, data.
    pub fn state(&self) -> &Path {
        self.folder.path()
    }

    /// Starts it on the same port and data after a stop or kill.
    pub async fn start_again(&self) -> Result<(), PrometheusError> {
        if self.process().is_some() {
            return Err(PrometheusError::AlreadyRunning);
        }
        let mut process = Process::start(&self.launch()?, &Group::default())?;
        self.folder.remember(process.id())?;
        let url = format!("{}/-/ready", self.url());
        process.ready(READY_WITHIN, async || crate::plane::ask(&self.http, &url).await).await?;
        *self.process() = Some(process);
        Ok(())
    }

    /// SIGTERM, and waits until it is gone.
    pub async fn stop(&self) -> Result<(), PrometheusError> {
        let process = self.process().take().ok_or(PrometheusError::NotRunning)?;
        Ok(process.stop().await?)
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&self) -> Result<(), PrometheusError> {
        self.process().take().ok_or(PrometheusError::NotRunning)?.kill();
        Ok(())
    }

    fn launch(&self) -> Result<Launch, PrometheusError> {
        let folder = self.folder.path();
        let args = [
            format!("--config.file={}", folder.join("prometheus.yml").display()),
            format!("--storage.tsdb.path={}", folder.join("data").display()),
            format!("--web.listen-address=127.0.0.1:{}", self.port),
            "--storage.tsdb.retention.time=1d".to_owned(),
            "--log.level=warn".to_owned(),
        ];
        Ok(Launch {
            name: "prometheus".to_owned(),
            program: self.binaries.path("prometheus")?,
            args: args.map(Into::into).to_vec(),
            env: Vec::new(),
            log: folder.join("prometheus.log"),
        })
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
