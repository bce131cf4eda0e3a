//! Where the control plane's programs are: a folder that `controlplane/provision` names, building what is missing.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::{Deserialize, Serialize};

/// Set by `make` and by the wrapper to the folder that `provision` printed, so that it runs once a run.
pub const RESOLVED: &str = "WELLFED_BINARIES_RESOLVED";

/// The folder of tests/controlplane in the checkout.
pub const CONTROLPLANE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/controlplane");

/// Why the programs can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BinariesError {
    /// The script can't be started at all.
    #[error("{CONTROLPLANE}/provision can't be run: {0}. It needs bash; run it by hand to see more.")]
    NotRunnable(#[source] std::io::Error),
    /// The script said on standard error what is wrong.
    #[error("{CONTROLPLANE}/provision failed ({0}); its message above says what to do.")]
    Failed(std::process::ExitStatus),
    /// One program is not in the folder.
    #[error(
        "no program \"{name}\" in {folder}. Put it there, or unset WELLFED_BINARIES and {RESOLVED} to have it built \
         (tests/controlplane/provision)."
    )]
    Missing {
        /// The program's file name.
        name: &'static str,
        /// Where it was looked for.
        folder: PathBuf,
    },
}

/// A folder of control-plane programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Binaries(PathBuf);

impl Binaries {
    /// The folder named by `WELLFED_BINARIES_RESOLVED`, else what `provision` prints (minutes when it has to build).
    pub async fn resolve() -> Result<Self, BinariesError> {
        if let Some(folder) = std::env::var_os(RESOLVED) {
            return Ok(Self(folder.into()));
        }
        let output = tokio::process::Command::new(format!("{CONTROLPLANE}/provision"))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(BinariesError::NotRunnable)?;
        if !output.status.success() {
            return Err(BinariesError::Failed(output.status));
        }
        Ok(Self(String::from_utf8_lossy(&output.stdout).trim_end().into()))
    }

    /// `folder` as it is; what it lacks shows at first use.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The program `name`, or an error that names the folder and the fix.
    pub fn path(&self, name: &'static str) -> Result<PathBuf, BinariesError> {
        let path = self.0.join(name);
        if path.is_file() { Ok(path) } else { Err(BinariesError::Missing { name, folder: self.0.clone() }) }
    }
}
