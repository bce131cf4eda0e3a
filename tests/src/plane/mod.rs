//! A real Kubernetes control plane on this machine: what it is made of, where it is, how to talk to it.

mod credentials;
mod error;
mod health;
mod kubeconfig;
mod launch;
mod part;
pub(crate) mod ports;
mod running;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde::{Deserialize, Serialize};

pub use error::PlaneError;
pub(crate) use health::ask;
pub use part::Part;
pub use ports::free as free_port;
pub use running::RunningPlane;

use crate::audit::{Audit, AuditError};
use crate::binaries::Binaries;
use crate::tools::{Tool, ToolError};

/// The variable by which the wrapper tells tests where the shared plane's state folder is.
pub const WELLFED_PLANE: &str = "WELLFED_PLANE";
/// The file in that folder which describes the plane.
pub const DESCRIPTION: &str = "plane.json";

/// The lifetime of a `ServiceAccount` token, seconds.
const TOKEN_SECONDS: i64 = 24 * 3600;

/// Where a plane is and how to talk to it. Cheap to clone; it does not own the processes (see [`RunningPlane`]).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plane {
    /// The folder of logs, certificates and data.
    pub state: PathBuf,
    /// The API server's address.
    pub server: String,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The authority that signed the API server's certificate.
    pub certificate_authority: PathBuf,
    /// The API server's audit log, one JSON object a line.
    pub audit_log: PathBuf,
    /// The programs.
    pub binaries: Binaries,
    /// The port of each part, on 127.0.0.1.
    pub ports: BTreeMap<Part, u16>,
}

impl Plane {
    /// The plane that the wrapper started for this run (`make test`).
    pub fn attach() -> Result<Self, PlaneError> {
        Self::described_in(std::env::var_os(WELLFED_PLANE).as_deref())
    }

    fn described_in(folder: Option<&OsStr>) -> Result<Self, PlaneError> {
        let folder = folder.ok_or_else(|| PlaneError::NotAttached(format!("{WELLFED_PLANE} is not set")))?;
        let path = Path::new(folder).join(DESCRIPTION);
        let unreadable = |why: &dyn std::fmt::Display| PlaneError::NotAttached(format!("{}: {why}", path.display()));
        let json = std::fs::read(&path).map_err(|error| unreadable(&error))?;
        serde_json::from_slice(&json).map_err(|error| unreadable(&error))
    }

    /// Starts a plane of its own with `binaries`; it ends when the returned value is dropped.
    pub async fn start(binaries: Binaries) -> Result<RunningPlane, PlaneError> {
        RunningPlane::start_new(binaries).await
    }

    /// Starts a plane for one test that stops parts. One at a time on a machine: others wait for their turn.
    pub async fn start_private() -> Result<RunningPlane, PlaneError> {
        RunningPlane::start_in_turn(Binaries::resolve().await?).await
    }

    /// The administrator's client. Belongs to the async runtime in which it is made.
    pub async fn client(&self) -> Result<Client, PlaneError> {
        client_of(&self.kubeconfig).await
    }

    /// Writes a kubeconfig to `path` with a token of the `ServiceAccount`, so that a process outside runs with its RBAC.
    pub async fn token_kubeconfig(&self, namespace: &str, account: &str, path: &Path) -> Result<(), PlaneError> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let answer = accounts
            .create_token_request(account, &PostParams::default(), &request)
            .await
            .map_err(PlaneError::api(format!("token for ServiceAccount {namespace}/{account}")))?;
        let token = answer.status.map(|status| status.token).unwrap_or_default();
        let user = kubeconfig::User { name: account, token: &token, namespace };
        kubeconfig::write(path, &self.server, &self.certificate_authority, user)
    }

    /// What the audit log holds now.
    pub fn audit(&self) -> Result<Audit, AuditError> {
        Audit::read(&self.audit_log)
    }

    /// `kubectl` as the administrator.
    pub fn kubectl(&self) -> Result<Tool, ToolError> {
        Tool::new(&self.binaries, "kubectl", &self.kubeconfig, &self.state)
    }

    /// `helm` as the administrator.
    pub fn helm(&self) -> Result<Tool, ToolError> {
        Tool::new(&self.binaries, "helm", &self.kubeconfig, &self.state)
    }
}

/// A client by the kubeconfig at `path`.
pub async fn client_of(path: &Path) -> Result<Client, PlaneError> {
    install_tls();
    let unusable =
        |source: Box<dyn std::error::Error + Send + Sync>| PlaneError::Kubeconfig { path: path.to_owned(), source };
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| unusable(error.into()))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| unusable(error.into()))?;
    Client::try_from(config).map_err(PlaneError::api("client"))
}

/// Names the TLS provider that all HTTP clients of this process share; later calls change nothing.
pub fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_outside_of_the_wrapper_is_told_to_use_make_test() {
        let refused = Plane::described_in(None).unwrap_err().to_string();

        assert_eq!(
            refused,
            "no control plane: WELLFED_PLANE is not set. Use `make test`, or \
             `cargo run -p wellfed-tests --bin plane -- run -- COMMAND`."
        );
    }
}
