//! A kubeconfig for one user of a plane.

use std::path::Path;

use serde_json::json;

use super::PlaneError;
use super::credentials::write_private;

/// Who it is for.
#[derive(Debug, Clone, Copy)]
pub struct User<'a> {
    /// What the file calls the user.
    pub name: &'a str,
    /// The bearer token.
    pub token: &'a str,
    /// The namespace of commands that name none.
    pub namespace: &'a str,
}

/// Writes `path`; it is complete or not there at all, so that a reader may wait for it.
pub fn write(path: &Path, server: &str, authority: &Path, user: User<'_>) -> Result<(), PlaneError> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "wellfed", "cluster": {"server": server, "certificate-authority": authority}}],
        "users": [{"name": user.name, "user": {"token": user.token}}],
        "contexts": [{
            "name": "wellfed",
            "context": {"cluster": "wellfed", "user": user.name, "namespace": user.namespace},
        }],
        "current-context": "wellfed",
    });
    let yaml = serde_saphyr::to_string(&config)
        .map_err(|source| PlaneError::Kubeconfig { path: path.to_owned(), source: Box::new(source) })?;
    let part = path.with_extension("part");
    write_private(&part, &yaml)?;
    std::fs::rename(&part, path).map_err(PlaneError::file(path))
}
