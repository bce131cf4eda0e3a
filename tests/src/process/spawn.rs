//! The one place with `unsafe`: a child that the kernel kills when this process dies, even by SIGKILL.

#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

type Order = (Command, std::sync::mpsc::SyncSender<io::Result<Child>>);

/// Starts `command` so that it does not outlive this process (Linux; elsewhere the next start cleans up).
///
/// The kernel ties a child to the *thread* that started it, so all are started by one thread that never ends.
pub fn spawn(mut command: Command) -> io::Result<Child> {
    static THREAD: OnceLock<Sender<Order>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts programs is gone");
    let thread = THREAD.get_or_init(|| {
        let (orders, inbox) = channel();
        std::thread::spawn(move || serve(&inbox));
        orders
    });
    die_with_parent(&mut command);
    let (answer, answered) = sync_channel(1);
    thread.send((command, answer)).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

fn serve(inbox: &Receiver<Order>) {
    for (mut command, answer) in inbox {
        // Nobody waits any more only when the caller was torn down.
        let _ = answer.send(command.spawn());
    }
}

#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    use nix::sys::{prctl, signal::Signal};
    let parent = nix::unistd::getpid();
    let arm = move || {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // The parent may have died before the line above.
        if nix::unistd::getppid() == parent { Ok(()) } else { Err(io::Error::other("the parent is gone")) }
    };
    // SAFETY: between fork and exec the closure makes two system calls; it takes no lock and allocates only on failure.
    unsafe { command.pre_exec(arm) };
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_: &mut Command) {}
