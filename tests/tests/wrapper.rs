//! `plane run`: whatever happens to it, nothing stays behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wellfed_tests::binaries::{Binaries, RESOLVED};
use wellfed_tests::until;

const SECONDS: Duration = Duration::from_secs(1);

#[tokio::test]
async fn the_exit_code_is_the_commands_own() -> Result<()> {
    let mut wrapper = Wrapper::start("code", "exit 7").await?;

    assert_eq!(wrapper.exit_code().await?, 7);
    assert_eq!(wrapper.left(), Vec::<PathBuf>::new());
    Ok(())
}

#[tokio::test]
async fn sigterm_ends_the_command_and_the_plane() -> Result<()> {
    let mut wrapper = Wrapper::start("term", "cp $WELLFED_PLANE/plane.json $MARK; sleep 600").await?;
    let pids = wrapper.pids_once_up().await?;

    kill(Pid::from_raw(wrapper.child.id().cast_signed()), Signal::SIGTERM)?;

    assert_eq!(wrapper.exit_code().await?, 143);
    assert_eq!(alive(&pids), Vec::<u32>::new());
    assert_eq!(wrapper.left(), Vec::<PathBuf>::new());
    Ok(())
}

#[tokio::test]
async fn a_killed_wrapper_takes_its_processes_along_and_the_next_start_removes_its_folder() -> Result<()> {
    let mut wrapper = Wrapper::start("kill", "cp $WELLFED_PLANE/plane.json $MARK; sleep 600").await?;
    let pids = wrapper.pids_once_up().await?;

    wrapper.child.kill()?;
    wrapper.child.wait()?;
    until("the plane's processes gone", 10 * SECONDS, async || {
        let alive = alive(&pids);
        ensure!(alive.is_empty(), "{alive:?} live");
        Ok(())
    })
    .await?;
    assert_eq!(wrapper.left().len(), 1, "the folder of the killed run is still there");

    let mut next = Wrapper::start("kill", "true").await?;
    assert_eq!(next.exit_code().await?, 0);
    assert_eq!(next.left(), Vec::<PathBuf>::new());
    Ok(())
}

/// A `plane run` with a root of state folders of its own.
struct Wrapper {
    child: Child,
    state: PathBuf,
    mark: PathBuf,
}

impl Wrapper {
    async fn start(name: &str, script: &str) -> Result<Self> {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wrapper-{name}"));
        let (state, mark) = (scratch.join("state"), scratch.join("mark.json"));
        std::fs::create_dir_all(&scratch)?;
        let _ = std::fs::remove_file(&mark);
        let binaries = Binaries::resolve().await?;
        let child = Command::new(env!("CARGO_BIN_EXE_plane"))
            .args(["run", "--", "bash", "-c", script])
            .env("WELLFED_STATE", &state)
            .env_remove("WELLFED_KEEP_STATE")
            .env("MARK", &mark)
            .env(RESOLVED, binaries.folder())
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self { child, state, mark })
    }

    /// The process numbers of all parts, once the command has begun.
    async fn pids_once_up(&self) -> Result<Vec<u32>> {
        let found = until("the command on its plane", 120 * SECONDS, async || {
            let described: serde_json::Value = serde_json::from_slice(&std::fs::read(&self.mark)?)?;
            let pids = described["pids"].as_object().into_iter().flatten();
            Ok(pids.filter_map(|(_, pid)| u32::try_from(pid.as_u64()?).ok()).collect::<Vec<_>>())
        });
        let pids = found.await?;
        ensure!(pids.len() == 5 && alive(&pids).len() == 5, "five parts run: {pids:?}");
        Ok(pids)
    }

    async fn exit_code(&mut self) -> Result<i32> {
        let found = until("the wrapper's end", 120 * SECONDS, async || {
            self.child.try_wait()?.and_then(|status| status.code()).ok_or_else(|| anyhow::anyhow!("it runs"))
        });
        Ok(found.await?)
    }

    /// State folders that are still there.
    fn left(&self) -> Vec<PathBuf> {
        std::fs::read_dir(&self.state).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }
}

impl Drop for Wrapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn alive(pids: &[u32]) -> Vec<u32> {
    pids.iter().copied().filter(|pid| kill(Pid::from_raw(pid.cast_signed()), None).is_ok()).collect()
}
