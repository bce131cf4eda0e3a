//! The command line is the configuration; every flag is also a `WELLFED_…` variable.

use crate::simulate::Policy;
use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;
use std::net::SocketAddr;
use std::path::PathBuf;
use wellfed_crds::GoDuration;

/// Scales GPU workloads, and asks first whether their GPUs are being fed.
#[derive(Debug, Parser)]
#[command(name = "wellfed", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the binary can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator until it is told to stop.
    Run(Box<Run>),
    /// Play workloads in simulated time, and show what wellfed and other autoscalers would have done with them.
    Simulate(Simulate),
}

/// What is simulated.
#[derive(Clone, Debug, Args)]
pub struct Simulate {
    /// The scenario: a file such as those in examples/simulate.
    pub scenario: PathBuf,
    /// The folder for report.json and report.svg.
    #[arg(long, default_value = "target/simulate")]
    pub output: PathBuf,
    /// Whom to compare; several are allowed.
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = Policy::ALL)]
    pub compare: Vec<Policy>,
}

/// The operator's settings.
#[derive(Clone, Debug, Args)]
pub struct Run {
    /// Time between cycles.
    #[arg(long, env = "WELLFED_INTERVAL", default_value = "5s", value_parser = duration)]
    pub interval: SignedDuration,
    /// Time between reads of the signals.
    #[arg(long, env = "WELLFED_SIGNAL_INTERVAL", default_value = "15s", value_parser = duration)]
    pub signal_interval: SignedDuration,
    /// The deadline of one signal query.
    #[arg(long, env = "WELLFED_SIGNAL_TIMEOUT", default_value = "5s", value_parser = duration)]
    pub signal_timeout: SignedDuration,
    /// A sample older than this is shown, and not used.
    #[arg(long, env = "WELLFED_STALE_AFTER", default_value = "2m", value_parser = duration)]
    pub stale_after: SignedDuration,
    /// Time between looks at GPUs and CPUs for the gate; an evaluation counts if it is half of this after the last.
    /// At least twice the scrape interval, so that rates exist.
    #[arg(long, env = "WELLFED_EVIDENCE_INTERVAL", default_value = "60s", value_parser = duration)]
    pub evidence_interval: SignedDuration,
    /// The deadline of one evidence query.
    #[arg(long, env = "WELLFED_EVIDENCE_TIMEOUT", default_value = "20s", value_parser = duration)]
    pub evidence_timeout: SignedDuration,
    /// A namespace to serve; several are allowed, none means all.
    #[arg(long = "watch-namespace", env = "WELLFED_WATCH_NAMESPACE", value_delimiter = ',')]
    pub watch_namespaces: Vec<String>,
    /// The file that names the Prometheus servers.
    #[arg(long, env = "WELLFED_CONFIG")]
    pub config: Option<PathBuf>,
    /// The namespace of the Lease and of the kill switch.
    #[arg(long, env = "WELLFED_LEASE_NAMESPACE", default_value = "wellfed")]
    pub lease_namespace: String,
    /// The name of the Lease.
    #[arg(long, env = "WELLFED_LEASE_NAME", default_value = "wellfed")]
    pub lease_name: String,
    /// Silence of the leader after which a standby takes over. Work stops at two thirds of it, renewals come every fifth.
    #[arg(long, env = "WELLFED_LEASE_DURATION", default_value = "15s", value_parser = duration)]
    pub lease_duration: SignedDuration,
    /// This instance's name in the Lease: unique among all that run.
    #[arg(long, env = "WELLFED_IDENTITY")]
    pub identity: Option<String>,
    /// A `ConfigMap` in the Lease's namespace; a value under `stop` other than "false" stops all writes.
    #[arg(long, env = "WELLFED_KILL_SWITCH", default_value = "wellfed-stop")]
    pub kill_switch: String,
    /// Where probes and metrics are served.
    #[arg(long, env = "WELLFED_LISTEN", default_value = "0.0.0.0:8080")]
    pub listen: SocketAddr,
    /// How logs are written.
    #[arg(long, env = "WELLFED_LOG", value_enum, default_value_t = LogFormat::Json)]
    pub log: LogFormat,
}

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    let duration = GoDuration(text.to_owned()).to_duration().map_err(|error| error.to_string())?;
    if duration.is_zero() { Err("must be longer than 0s".to_owned()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_duration_without_a_unit_is_refused() {
        let error = Cli::try_parse_from(["wellfed", "run", "--interval=5"]).unwrap_err().to_string();

        assert!(error.contains("\"90s\", \"3m\" or \"1h30m\""), "{error}");
    }
}
