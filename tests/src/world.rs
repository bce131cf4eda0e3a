//! The GPU world as a process of its own.

use crate::operator::program;
use crate::plane::Plane;
use crate::process::{Group, Launch, Process};
use anyhow::Context;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A running world; ends when dropped.
pub struct WorldProcess {
    process: Process,
    http: reqwest::Client,
    /// Its address.
    pub url: String,
}

impl WorldProcess {
    /// Plays `scenario` on `plane`.
    pub async fn start(plane: &Plane, scenario: &Path, group: &Group) -> anyhow::Result<Self> {
        let port = crate::plane::free_port()?;
        let url = format!("http://127.0.0.1:{port}");
        let launch = Launch {
            name: "wellfed-world".to_owned(),
            program: program("wellfed-world")?,
            args: ["--scenario".into(), scenario.into(), "--listen".into(), format!("127.0.0.1:{port}").into()]
                .to_vec(),
            env: vec![("KUBECONFIG".into(), plane.kubeconfig.clone().into())],
            log: plane.state.join(format!("world-{port}.log")),
        };
        let process = Process::start(&launch, group)?;
        let mut world = Self { process, http: reqwest::Client::new(), url };
        let (http, page) = (world.http.clone(), format!("{}/healthz", world.url));
        let healthy = async || match http.get(&page).send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(answer.status().to_string()),
            Err(error) => Err(error.to_string()),
        };
        world.process.ready(Duration::from_secs(30), healthy).await?;
        Ok(world)
    }

    /// Where everything truly stands; for people and pictures.
    pub async fn truth(&self) -> anyhow::Result<Value> {
        Ok(self.http.get(format!("{}/truth", self.url)).send().await?.error_for_status()?.json().await?)
    }

    /// Changes a cause.
    pub async fn set(&self, workload: &str, path: &str, value: Value) -> anyhow::Result<()> {
        let body = json!({ "workload": workload, "path": path, "value": value });
        let answer = self.http.post(format!("{}/control/set", self.url)).json(&body).send().await?;
        answer.error_for_status().with_context(|| format!("{workload}: {path} could not be set"))?;
        Ok(())
    }

    /// SIGTERM, and waits for the end.
    pub async fn stop(self) -> anyhow::Result<()> {
        Ok(self.process.stop().await?)
    }
}
