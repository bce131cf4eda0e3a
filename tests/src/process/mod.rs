//! A program that belongs to us: it logs to a file, is stopped or killed for sure, and dies when we die.

mod group;
mod identity;
mod spawn;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::{Instant, sleep};

pub use group::Group;
pub use identity::ProcessId;
pub use spawn::spawn;

/// How often an exit is looked for.
const LOOK: Duration = Duration::from_millis(20);
/// kube-apiserver drains requests for up to a minute.
const STOP_WITHIN: Duration = Duration::from_secs(75);

/// What can go wrong with a program of ours.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The operating system refused to start it.
    #[error("{name} can't be started: {source}")]
    NotStarted {
        /// Which program.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// It ended although it should run.
    #[error("{name} ended at its start ({status}). The end of its log, {}:\n{tail}", log.display())]
    Died {
        /// Which program.
        name: String,
        /// How it ended.
        status: ExitStatus,
        /// Its whole log.
        log: PathBuf,
        /// The log's last lines.
        tail: String,
    },
    /// It runs, but never said that it is ready.
    #[error("{name} is not ready after {} s ({seen}). The end of its log, {}:\n{tail}", after.as_secs(), log.display())]
    NotReady {
        /// Which program.
        name: String,
        /// How long was waited.
        after: Duration,
        /// What its health endpoint said last.
        seen: String,
        /// Its whole log.
        log: PathBuf,
        /// The log's last lines.
        tail: String,
    },
    /// It ignored SIGTERM; it has been killed since.
    #[error("{name} did not end within {} s of SIGTERM and was killed. Its log: {}", STOP_WITHIN.as_secs(), log.display())]
    NotStopped {
        /// Which program.
        name: String,
        /// Its whole log.
        log: PathBuf,
    },
}

/// How to start a program.
#[derive(Debug, Clone)]
pub struct Launch {
    /// What messages call it.
    pub name: String,
    /// The file to run.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// What is added to its environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where its output goes, appended.
    pub log: PathBuf,
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    child: Child,
    id: ProcessId,
}

impl Process {
    /// Starts it in `group`.
    pub fn start(launch: &Launch, group: &Group) -> Result<Self, ProcessError> {
        let failed = |source| ProcessError::NotStarted { name: launch.name.clone(), source };
        let out = File::options().create(true).append(true).open(&launch.log).map_err(failed)?;
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.args)
            .envs(launch.env.iter().cloned())
            .stdin(Stdio::null())
            .stderr(out.try_clone().map_err(failed)?)
            .stdout(out);
        let child = group.spawn(command).map_err(failed)?;
        let id = ProcessId::of(child.id());
        Ok(Self { name: launch.name.clone(), log: launch.log.clone(), child, id })
    }

    /// Which process it is.
    pub fn id(&self) -> ProcessId {
        self.id.clone()
    }

    /// Waits until `healthy` says `Ok`; fails at once if the process ends first.
    pub async fn ready(
        &mut self,
        within: Duration,
        mut healthy: impl AsyncFnMut() -> Result<(), String>,
    ) -> Result<(), ProcessError> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.exited() {
                let (name, log, tail) = self.describe();
                return Err(ProcessError::Died { name, status, log, tail });
            }
            let Err(seen) = healthy().await else { return Ok(()) };
            if started.elapsed() > within {
                let (name, log, tail) = self.describe();
                return Err(ProcessError::NotReady { name, after: within, seen, log, tail });
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// SIGTERM, then waits until it is gone.
    pub async fn stop(self) -> Result<(), ProcessError> {
        self.end().await.map(drop)
    }

    /// As [`Process::stop`]; how it ended.
    pub async fn end(mut self) -> Result<ExitStatus, ProcessError> {
        self.id.signal(Signal::SIGTERM);
        let started = Instant::now();
        loop {
            if let Some(status) = self.exited() {
                return Ok(status);
            }
            if started.elapsed() > STOP_WITHIN {
                return Err(ProcessError::NotStopped { name: self.name.clone(), log: self.log.clone() });
            }
            sleep(LOOK).await;
        }
    }

    /// SIGKILL, and waits until it is gone (milliseconds).
    pub fn kill(self) {
        drop(self);
    }

    fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    fn describe(&self) -> (String, PathBuf, String) {
        (self.name.clone(), self.log.clone(), tail(&self.log, 15))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last `lines` lines of a log.
fn tail(log: &Path, lines: usize) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
