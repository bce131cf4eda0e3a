//! Waits for a condition, and says what was seen when it does not come.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

/// It did not happen in time.
#[derive(Debug, thiserror::Error)]
#[error("waited {} s for {what}; last seen: {seen}", waited.as_secs())]
pub struct NotSeen {
    /// What was waited for.
    pub what: String,
    /// For how long.
    pub waited: Duration,
    /// What the last look showed, or why it failed.
    pub seen: String,
}

/// Looks (five times a second) until `look` gives `Ok`, and returns that. An `Err` says what is there instead:
///
/// ```ignore
/// let pods = until("3 ready pods", SECONDS * 30, async || {
///     let ready = fixture.ready_pods("chat").await?;
///     anyhow::ensure!(ready.len() == 3, "{} ready", ready.len());
///     Ok(ready)
/// }).await?;
/// ```
pub async fn until<T>(
    what: &str,
    within: Duration,
    mut look: impl AsyncFnMut() -> anyhow::Result<T>,
) -> Result<T, NotSeen> {
    let deadline = Instant::now() + within;
    let mut seen = String::from("nothing, the first look did not return");
    loop {
        match timeout_at(deadline, look()).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(other)) => seen = format!("{other:#}"),
            Err(_) => {}
        }
        // A look that never waits is never cut off by the timeout.
        if Instant::now() >= deadline {
            return Err(NotSeen { what: what.to_owned(), waited: within, seen });
        }
        sleep(Duration::from_millis(200)).await;
    }
}
