//! A folder for everything that one run leaves on disk, with a record of its processes: what a killed run left
//! behind is found by it and removed at the next start.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::process::ProcessId;

/// Names the parent of all state folders; else it is `wellfed-<user id>` in the OS's folder for temporary files.
pub const ROOT: &str = "WELLFED_STATE";
/// Set to anything but empty: state folders (logs, audit log) are kept when their run ends.
pub const KEEP: &str = "WELLFED_KEEP_STATE";

const RECORD: &str = "processes.json";

/// The folder can't be made or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}. Set {ROOT} to a folder that can be written.", path.display())]
pub struct StateError {
    path: PathBuf,
    source: io::Error,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    owner: ProcessId,
    processes: Vec<ProcessId>,
}

/// A folder of this process's own, removed when dropped.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    record: Mutex<Record>,
}

impl StateFolder {
    /// Cleans up after dead runs, then makes `<root>/<kind>-<pid>-<n>`, readable by this user only.
    pub fn create(kind: &str) -> Result<Self, StateError> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let root = root()?;
        sweep(&root);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("{kind}-{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(|source| StateError { path: path.clone(), source })?;
        let record = Mutex::new(Record { owner: ProcessId::own(), processes: Vec::new() });
        let folder = Self { path, record };
        folder.save()?;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Remembers a process, so that it is ended even if this one is killed.
    pub fn remember(&self, process: ProcessId) -> Result<(), StateError> {
        self.record.lock().unwrap_or_else(std::sync::PoisonError::into_inner).processes.push(process);
        self.save()
    }

    fn save(&self) -> Result<(), StateError> {
        let record = self.record.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let path = self.path.join(RECORD);
        serde_json::to_vec(&*record)
            .map_err(io::Error::other)
            .and_then(|json| fs::write(&path, json))
            .map_err(|source| StateError { path, source })
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        if std::env::var_os(KEEP).is_none_or(|value| value.is_empty()) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// The parent of all state folders, made if it is not there; refused if it belongs to somebody else.
pub fn root() -> Result<PathBuf, StateError> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    let user = nix::unistd::getuid();
    let path = match std::env::var_os(ROOT) {
        Some(named) => PathBuf::from(named),
        None => std::env::temp_dir().join(format!("wellfed-{user}")),
    };
    let failed = |source| StateError { path: path.clone(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
    if fs::metadata(&path).map_err(failed)?.uid() != user.as_raw() {
        return Err(failed(io::Error::other("belongs to another user")));
    }
    path.canonicalize().map_err(failed)
}

/// Ends the recorded processes of runs whose owner is dead, and removes their folders.
pub fn sweep(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let record =
            fs::read(entry.path().join(RECORD)).ok().and_then(|json| serde_json::from_slice::<Record>(&json).ok());
        let Some(record) = record.filter(|record| !record.owner.alive()) else { continue };
        for process in &record.processes {
            process.signal(Signal::SIGKILL);
        }
        let _ = fs::remove_dir_all(entry.path());
    }
}
