//! The operator's binary.

use anyhow::anyhow;
use clap::Parser;
use wellfed::cli::{Cli, Command, LogFormat};
use wellfed::simulate::{Scenario, simulate, table};

/// The allocator of a static (musl) binary is slow, and a cycle makes many small strings.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().map_err(|_| anyhow!("TLS is set up already"))?;
    match Cli::parse().command {
        Command::Run(settings) => {
            log(settings.log);
            wellfed::run::run(*settings).await
        }
        Command::Simulate(asked) => {
            log(LogFormat::Text);
            let scenario = Scenario::load(&asked.scenario)?;
            let report = simulate(&scenario, &asked.compare)?;
            print!("{}", table(&report));
            report.write(&asked.output)?;
            println!("{0}/report.svg and {0}/report.json tell how it went over time", asked.output.display());
            Ok(())
        }
    }
}

fn log(format: LogFormat) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).init(),
        LogFormat::Text => lines.init(),
    }
}
