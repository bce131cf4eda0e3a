//! Gives back what the operator's release made outside of the test's namespace.

use super::RELEASE;
use crate::fixture::{Fixture, OWNER};
use crate::plane::client_of;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client};
use std::path::PathBuf;
use std::time::Duration;
use wellfed_crds::GpuPool;

/// A plane that is gone must not hold up the end of a test.
const WITHIN: Duration = Duration::from_secs(10);

/// The operator's own namespace, deleted when dropped.
pub(super) struct OwnNamespace {
    name: String,
    owner: String,
    kubeconfig: PathBuf,
}

impl OwnNamespace {
    /// Beside that of `fixture`.
    pub(super) fn of(fixture: &Fixture) -> Self {
        let owner = fixture.namespace.clone();
        Self { name: format!("{owner}-op"), owner, kubeconfig: fixture.plane.kubeconfig.clone() }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for OwnNamespace {
    /// Best effort: whatever stays goes away with the plane.
    fn drop(&mut self) {
        let (kubeconfig, name, owner) = (self.kubeconfig.clone(), self.name.clone(), self.owner.clone());
        // The test's own runtime may be ending, and a client belongs to the runtime that made it.
        let cleaner = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let client = client_of(&kubeconfig).await?;
                tokio::time::timeout(WITHIN, delete_all(client, &name, &owner)).await??;
                anyhow::Ok(())
            })
        });
        let _ = cleaner.join();
    }
}

async fn delete_all(client: Client, namespace: &str, owner: &str) -> Result<(), kube::Error> {
    let now = DeleteParams::background();
    let cluster_name = format!("{namespace}:{RELEASE}");
    Api::<Namespace>::all(client.clone()).delete(namespace, &now).await?;
    Api::<ClusterRoleBinding>::all(client.clone()).delete(&cluster_name, &now).await?;
    Api::<ClusterRole>::all(client.clone()).delete(&cluster_name, &now).await?;
    let pools = ListParams::default().labels(&format!("{OWNER}={owner}"));
    Api::<GpuPool>::all(client).delete_collection(&now, &pools).await?;
    Ok(())
}
