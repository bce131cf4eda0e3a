//! One process group for programs that belong together, apart from the terminal's: a Ctrl-C reaches only us.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Mutex;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A process group that exists while it has a member; the first program started in an empty one leads it.
#[derive(Debug, Default)]
pub struct Group(Mutex<Option<Pid>>);

impl Group {
    /// Starts `command` as a member.
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        let mut leader = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let join = leader.filter(|pid| killpg(*pid, None).is_ok());
        command.process_group(join.map_or(0, Pid::as_raw));
        let child = super::spawn(command)?;
        if join.is_none() {
            *leader = Some(Pid::from_raw(child.id().cast_signed()));
        }
        Ok(child)
    }

    /// Signals every member; nothing happens when there is none.
    pub fn signal(&self, signal: Signal) {
        let leader = *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(pid) = leader {
            let _ = killpg(pid, signal);
        }
    }
}
