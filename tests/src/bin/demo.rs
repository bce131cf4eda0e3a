//! `make demo`: plays the demo, shows it, and fails if it did not come out as it should.

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use wellfed_tests::demo::{self, Mutant, Play};

/// Plays the demo.
#[derive(Debug, Parser)]
struct Cli {
    /// Leave everything up at the end, and say how to look around.
    #[arg(long)]
    keep: bool,
    /// Change one thing, so that the demo must fail.
    #[arg(long, value_enum)]
    mutant: Option<Mutant>,
    /// Where the summary goes.
    #[arg(long, default_value = "target/demo/summary.json")]
    output: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { keep, mutant, output } = Cli::parse();
    match demo::run(&Play { keep, mutant, output }).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
