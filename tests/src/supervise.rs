//! Runs a command in a process group of its own, passes signals on, and leaves nothing of it behind.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::time::{Instant, sleep};

use crate::process::{Group, ProcessId};

/// How long a command may take to end after a signal.
const GRACE: Duration = Duration::from_secs(10);

/// SIGINT and SIGTERM, from the moment this is made.
#[derive(Debug)]
pub struct Interrupts {
    int: Stream,
    term: Stream,
}

impl Interrupts {
    /// Listens from now on; the signals no longer end this process by themselves.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { int: signal(SignalKind::interrupt())?, term: signal(SignalKind::terminate())? })
    }

    /// The next one.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.int.recv() => Signal::SIGINT,
            _ = self.term.recv() => Signal::SIGTERM,
        }
    }
}

/// A running command; it and its descendants in the same process group are killed when this is dropped.
#[derive(Debug)]
pub struct Supervised {
    child: Child,
    group: Group,
}

impl Supervised {
    /// Starts `command` with this process's own input and output.
    pub fn start(command: Command) -> io::Result<Self> {
        let group = Group::default();
        let child = group.spawn(command)?;
        Ok(Self { child, group })
    }

    /// Which process leads it.
    pub fn id(&self) -> ProcessId {
        ProcessId::of(self.child.id())
    }

    /// Waits for its end. A signal goes to the whole group, which then has ten seconds. The result is a shell's exit
    /// code: the command's own, or 128 and the signal.
    pub async fn exit_code(mut self, interrupts: &mut Interrupts) -> io::Result<u8> {
        let mut deadline: Option<Instant> = None;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(code(status));
            }
            if deadline.is_some_and(|at| Instant::now() > at) {
                self.group.signal(Signal::SIGKILL);
            }
            tokio::select! {
                signal = interrupts.next() => {
                    self.group.signal(signal);
                    deadline.get_or_insert(Instant::now() + GRACE);
                }
                () = sleep(Duration::from_millis(50)) => {}
            }
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.group.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    u8::try_from(code).unwrap_or(u8::MAX)
}
