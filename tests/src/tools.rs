//! The pinned `kubectl` and `helm`, pointed at a plane.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::binaries::{Binaries, BinariesError};

/// Why a tool gave no output.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The program is not there.
    #[error(transparent)]
    Binaries(#[from] BinariesError),
    /// The operating system refused.
    #[error("{command}: {source}")]
    NotRun {
        /// The command line.
        command: String,
        /// Why.
        source: std::io::Error,
    },
    /// It ran and failed.
    #[error("{command} failed ({status}): {stderr}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it said.
        stderr: String,
    },
}

/// A command-line client with its kubeconfig; its caches live in the plane's state folder.
#[derive(Debug, Clone)]
pub struct Tool {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
}

impl Tool {
    pub(crate) fn new(
        binaries: &Binaries,
        name: &'static str,
        kubeconfig: &Path,
        state: &Path,
    ) -> Result<Self, ToolError> {
        let home = state.join("home");
        Ok(Self { program: binaries.path(name)?, kubeconfig: kubeconfig.to_owned(), home })
    }

    /// The same tool as somebody else, such as a `ServiceAccount`.
    #[must_use]
    pub fn with_kubeconfig(mut self, kubeconfig: impl Into<PathBuf>) -> Self {
        self.kubeconfig = kubeconfig.into();
        self
    }

    /// Runs it; standard output, or an error with standard error.
    pub async fn run(&self, args: &[&str]) -> Result<String, ToolError> {
        self.run_with_input(args, "").await
    }

    /// Runs it with `input` on standard input, as in `kubectl apply -f -`.
    pub async fn run_with_input(&self, args: &[&str], input: &str) -> Result<String, ToolError> {
        let shown = || format!("{} {}", self.program.file_name().unwrap_or_default().display(), args.join(" "));
        let failed = |source| ToolError::NotRun { command: shown(), source };
        let mut child = self.command(args).spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A tool that does not read its input may have ended already.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = child.wait_with_output().await.map_err(failed)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(ToolError::Failed { command: shown(), status: output.status, stderr })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .env("HELM_CACHE_HOME", self.home.join("helm"))
            .env("HELM_CONFIG_HOME", self.home.join("helm"))
            .env("HELM_DATA_HOME", self.home.join("helm"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}
