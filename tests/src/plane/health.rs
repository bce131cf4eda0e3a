//! Asks a part whether it is ready.

use std::path::Path;
use std::time::Duration;

use super::PlaneError;

/// An HTTP client that trusts the plane's own authority.
pub fn client(authority: &Path) -> Result<reqwest::Client, PlaneError> {
    super::install_tls();
    let pem = std::fs::read(authority).map_err(PlaneError::file(authority))?;
    let trusted = reqwest::Certificate::from_pem(&pem)?;
    Ok(reqwest::Client::builder().no_proxy().tls_certs_only([trusted]).timeout(Duration::from_secs(5)).build()?)
}

/// `Ok` on status 200; else what it said instead, on one line.
pub async fn ask(client: &reqwest::Client, url: &str) -> Result<(), String> {
    let answer = client.get(url).send().await.map_err(|error| format!("{url}: {}", root_cause(&error)))?;
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    let body = answer.text().await.unwrap_or_default();
    let unready: Vec<&str> = body.lines().filter(|line| !line.starts_with("[+]")).take(5).collect();
    Err(format!("{url}: {status} {}", unready.join(", ")))
}

fn root_cause(mut error: &dyn std::error::Error) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
