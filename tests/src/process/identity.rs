//! A process by its number and start time: numbers are used again, the pair is not.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// One certain process, also after a restart of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// The operating system's number.
    pub pid: u32,
    /// When it started, in the system's own notation; empty if it had ended before we looked.
    pub started: String,
}

impl ProcessId {
    /// The process that has number `pid` now.
    pub fn of(pid: u32) -> Self {
        Self { pid, started: start_time(pid).unwrap_or_default() }
    }

    /// This process.
    pub fn own() -> Self {
        Self::of(std::process::id())
    }

    /// Whether it still runs.
    pub fn alive(&self) -> bool {
        start_time(self.pid).is_some_and(|started| started == self.started)
    }

    /// Signals it, if it still runs.
    pub fn signal(&self, signal: Signal) {
        if self.alive() {
            let _ = kill(Pid::from_raw(self.pid.cast_signed()), signal);
        }
    }
}

/// Clock ticks since boot at which `pid` started; none for a process that is gone or only waits to be reaped.
#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold blanks; the state is the first field after it, the start time the twentieth.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? == "Z" { None } else { fields.nth(18).map(str::to_owned) }
}

/// As `ps` prints it.
#[cfg(not(target_os = "linux"))]
fn start_time(pid: u32) -> Option<String> {
    let output = std::process::Command::new("ps").args(["-o", "lstart=", "-p", &pid.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}
