//! `wellfed-world`: plays the GPUs of a scenario for the pods of a real API server.

use anyhow::Context;
use clap::Parser;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use std::{net::SocketAddr, path::PathBuf};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use wellfed_world::{World, scenario::Scenario};

/// Plays the GPUs of a scenario for the pods of a real API server, and serves their metrics to a real Prometheus.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The scenario file.
    #[arg(long)]
    scenario: PathBuf,
    /// The kubeconfig of the API server.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: PathBuf,
    /// Where to listen; port 0 takes any free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let args = Args::parse();
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider is installed already; install ring once, at the start"))?;
    let mut asked_to_stop = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let scenario = Scenario::load(&args.scenario)?;
    let world = World::start(scenario, client(&args.kubeconfig).await?, args.listen).await?;
    println!("{}", world.url);
    tracing::info!(url = world.url, "the world runs");
    tokio::select! {
        _ = asked_to_stop.0.recv() => {}
        _ = asked_to_stop.1.recv() => {}
    }
    world.stop().await;
    Ok(())
}

async fn client(kubeconfig: &PathBuf) -> anyhow::Result<Client> {
    let fix =
        || format!("{}: is no usable kubeconfig; give the one that the control plane wrote", kubeconfig.display());
    let file = Kubeconfig::read_from(kubeconfig).with_context(fix)?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.with_context(fix)?;
    Client::try_from(config).with_context(fix)
}
