//! The operator as its charts install it: helm makes its rights and its settings, and the process runs outside with
//! exactly those, by its `ServiceAccount`'s token and the arguments of its Deployment.

use crate::plane::Plane;
use crate::process::{Group, Launch, Process};
use anyhow::Context;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// The repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A program of this workspace, built beside the running one.
pub fn program(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folders = own.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    found.with_context(|| format!("{name} is not built: run `cargo build -p {name}` (the Makefile does)"))
}

/// Installs the CRDs; nothing happens where this plane has them. Of several callers, also in other processes, one does it.
pub async fn install_crds(plane: &Plane) -> anyhow::Result<()> {
    let done = plane.state.join("crds.installed");
    let _one_at_a_time = lock(plane.state.join("crds.lock")).await?;
    if done.exists() {
        return Ok(());
    }
    let chart = repository().join("charts/wellfed-crds");
    let chart = chart.to_string_lossy();
    plane.helm()?.run(&["upgrade", "--install", "wellfed-crds", &chart, "--namespace", "default", "--wait"]).await?;
    let kubectl = plane.kubectl()?;
    for crd in ["gpuworkloads.wellfed.dev", "gpupools.wellfed.dev"] {
        kubectl.run(&["wait", "--for=condition=Established", "--timeout=30s", &format!("crd/{crd}")]).await?;
    }
    Ok(std::fs::write(done, "")?)
}

/// Waits for the file's lock, which lasts until the file is dropped.
async fn lock(path: PathBuf) -> anyhow::Result<std::fs::File> {
    let wait = move || {
        let file = std::fs::File::create(path)?;
        file.lock()?;
        std::io::Result::Ok(file)
    };
    Ok(tokio::task::spawn_blocking(wait).await??)
}

async fn look(page: &str) -> anyhow::Result<(bool, String)> {
    let answer = reqwest::get(page).await?;
    Ok((answer.status().is_success(), answer.text().await?))
}

/// One installation of the operator.
pub struct Operator {
    plane: Plane,
    namespace: String,
    release: String,
    process: Option<Process>,
    listen: String,
    number: u32,
}

impl Operator {
    /// `helm install`s the chart as `release` into `namespace` with `values` (`key=value`), and starts nothing yet.
    pub async fn install(plane: &Plane, namespace: &str, release: &str, values: &[String]) -> anyhow::Result<Self> {
        let chart = repository().join("charts/wellfed");
        let chart = chart.to_string_lossy();
        let mut args = vec!["upgrade", "--install", release, &chart, "--namespace", namespace, "--create-namespace"];
        // Its pods would be fake ones: the process outside plays them.
        args.extend(["--set", "replicas=1", "--set", "podDisruptionBudget.enabled=false"]);
        for value in values {
            args.extend(["--set", value]);
        }
        plane.helm()?.run(&args).await?;
        let operator = Self {
            plane: plane.clone(),
            namespace: namespace.to_owned(),
            release: release.to_owned(),
            process: None,
            listen: format!("127.0.0.1:{}", crate::plane::free_port()?),
            number: 0,
        };
        Ok(operator)
    }

    /// Starts the process and waits until it is ready.
    pub async fn start(&mut self, group: &Group) -> anyhow::Result<()> {
        self.launch(group).await?;
        let page = self.page("readyz");
        let process = self.process.as_mut().context("the process has been started")?;
        let healthy = async || match look(&page).await {
            Ok((true, _)) => Ok(()),
            Ok((false, text)) => Err(text),
            Err(error) => Err(error.to_string()),
        };
        let ready = process.ready(Duration::from_secs(30), healthy).await;
        if ready.is_err() {
            self.process = None;
        }
        Ok(ready?)
    }

    /// Starts the process, ready or not.
    pub async fn launch(&mut self, group: &Group) -> anyhow::Result<()> {
        let folder = self.plane.state.join(format!("operator-{}-{}", self.namespace, self.release));
        std::fs::create_dir_all(&folder)?;
        let kubeconfig = folder.join("kubeconfig");
        self.plane.token_kubeconfig(&self.namespace, &self.release, &kubeconfig).await?;
        self.number += 1;
        let launch = Launch {
            name: "wellfed".to_owned(),
            program: program("wellfed")?,
            args: self.arguments(&folder).await?.into_iter().map(Into::into).collect(),
            env: vec![("KUBECONFIG".into(), kubeconfig.into())],
            log: self.log(),
        };
        self.process = Some(Process::start(&launch, group)?);
        Ok(())
    }

    /// The arguments of the Deployment's container, with this machine's paths and a free port.
    async fn arguments(&self, folder: &Path) -> anyhow::Result<Vec<String>> {
        let client = self.plane.client().await?;
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), &self.namespace);
        let deployment = deployments.get(&self.release).await?;
        let pod = deployment.spec.and_then(|spec| spec.template.spec).context("the Deployment has no pods")?;
        let args = pod.containers.into_iter().next().and_then(|container| container.args).unwrap_or_default();
        let maps: Api<ConfigMap> = Api::namespaced(client, &self.namespace);
        let settings = maps.get(&self.release).await?.data.unwrap_or_default();
        let settings = settings.get("config.yaml").context("the ConfigMap has no config.yaml")?;
        let file = folder.join("config.yaml");
        std::fs::write(&file, settings)?;
        let here = |arg: String| match arg.split_once('=').map(|(flag, _)| flag) {
            Some("--config") => format!("--config={}", file.display()),
            Some("--listen") => format!("--listen={}", self.listen),
            Some("--identity") => format!("--identity={}-{}", self.release, self.number),
            _ => arg,
        };
        Ok(args.into_iter().map(here).collect())
    }

    /// The user that the audit log shows for it.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.release)
    }

    /// Its log.
    pub fn log(&self) -> PathBuf {
        self.plane.state.join(format!("operator-{}-{}.log", self.namespace, self.release))
    }

    /// `/metrics`.
    pub async fn metrics(&self) -> anyhow::Result<String> {
        Ok(reqwest::get(self.page("metrics")).await?.error_for_status()?.text().await?)
    }

    /// Whether `/readyz` says that it is ready, and its text.
    pub async fn ready(&self) -> anyhow::Result<(bool, String)> {
        look(&self.page("readyz")).await
    }

    fn page(&self, name: &str) -> String {
        format!("http://{}/{name}", self.listen)
    }

    /// The namespace of the release.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// SIGTERM, and waits for the end.
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        self.end().await.map(drop)
    }

    /// As [`Operator::stop`]; how it ended, if it was running.
    pub async fn end(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        match self.process.take() {
            Some(process) => Ok(Some(process.end().await?)),
            None => Ok(None),
        }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }
}
