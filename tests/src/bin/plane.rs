//! `plane up`: a control plane to look at. `plane run -- COMMAND`: a control plane for the length of a command.

use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, Subcommand};
use wellfed_tests::binaries::{Binaries, RESOLVED};
use wellfed_tests::plane::{Plane, RunningPlane, WELLFED_PLANE};
use wellfed_tests::prometheus::{Prometheus, PrometheusConfig, WorldJobs};
use wellfed_tests::supervise::{Interrupts, Supervised};

/// How many tests cargo runs at once; by default as many as there are cores.
const TEST_THREADS: &str = "RUST_TEST_THREADS";
/// Tests on a plane wait more than they compute.
const AT_ONCE: &str = "6";

/// A real Kubernetes control plane with fake nodes, on this machine.
#[derive(Debug, Parser)]
#[command(name = "plane")]
struct Cli {
    #[command(subcommand)]
    mode: Mode,
}

#[derive(Debug, Subcommand)]
enum Mode {
    /// Start a control plane and a Prometheus, print how to use them, run until Ctrl-C.
    Up {
        /// The address of a running GPU world for Prometheus to scrape; without it Prometheus has no jobs.
        #[arg(long, value_name = "URL")]
        world: Option<String>,
        /// How often the world is scraped, seconds.
        #[arg(long, value_name = "SECONDS", default_value_t = 5)]
        scrape_interval: u64,
    },
    /// Start a control plane, run COMMAND on it, return its exit code.
    Run {
        /// The command and its arguments.
        #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse().mode).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// An interrupt at any time drops what is running, which ends it.
async fn run(mode: Mode) -> anyhow::Result<ExitCode> {
    let mut interrupts = Interrupts::listen().context("signals")?;
    let plane = tokio::select! {
        plane = start() => plane?,
        signal = interrupts.next() => return Ok(ExitCode::from(interrupted(signal))),
    };
    match mode {
        Mode::Run { command } => run_command(&plane, &command, &mut interrupts).await,
        Mode::Up { world, scrape_interval } => {
            let config = scrape(world, Duration::from_secs(scrape_interval));
            let prometheus = Prometheus::start(&plane.binaries, &config).await?;
            print_addresses(&plane, &prometheus);
            interrupts.next().await;
            println!("stopping");
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn start() -> anyhow::Result<RunningPlane> {
    Ok(Plane::start(Binaries::resolve().await?).await?)
}

async fn run_command(
    plane: &RunningPlane,
    command: &[OsString],
    interrupts: &mut Interrupts,
) -> anyhow::Result<ExitCode> {
    let (program, args) = command.split_first().context("no command")?;
    let mut child = Command::new(program);
    child
        .args(args)
        .env("KUBECONFIG", &plane.kubeconfig)
        .env(WELLFED_PLANE, &plane.state)
        .env(RESOLVED, plane.binaries.folder());
    if std::env::var_os(TEST_THREADS).is_none() {
        child.env(TEST_THREADS, AT_ONCE);
    }
    let running = Supervised::start(child).with_context(|| format!("{} can't be started", program.display()))?;
    plane.remember(running.id())?;
    Ok(ExitCode::from(running.exit_code(interrupts).await?))
}

fn scrape(world: Option<String>, interval: Duration) -> PrometheusConfig {
    let jobs = world.map(|url| WorldJobs { url, interval, dcgm_honor_labels: false }.jobs()).unwrap_or_default();
    PrometheusConfig { jobs }
}

fn print_addresses(plane: &RunningPlane, prometheus: &Prometheus) {
    println!("The control plane is up. In another terminal:\n");
    println!("  export KUBECONFIG={}", plane.kubeconfig.display());
    println!(
        "  export PATH={}:$PATH    # kubectl, helm, promtool of the same versions\n",
        plane.binaries.folder().display()
    );
    println!("  API server   {}", plane.server);
    println!("  Prometheus   {}", prometheus.url());
    println!("  logs         {}/*.log", plane.state.display());
    println!("  audit log    {}\n", plane.audit_log.display());
    println!("Ctrl-C ends it and removes everything.");
}

fn interrupted(signal: nix::sys::signal::Signal) -> u8 {
    u8::try_from(128 + signal as i32).unwrap_or(u8::MAX)
}
