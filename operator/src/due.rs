//! When cycles are due.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// When cycles are due: every interval, and early, at most once a second, when something that matters changed.
pub struct Due {
    /// The interval.
    pub interval: Duration,
    /// Told when something that matters changes.
    pub early: Arc<Notify>,
}

/// Two early cycles are at least this far apart.
const BREATH: Duration = Duration::from_secs(1);

impl Due {
    /// Waits for the next cycle; false when it is time to stop.
    pub async fn next(&self, stop: &CancellationToken) -> bool {
        let early = async {
            tokio::time::sleep(BREATH).await;
            self.early.notified().await;
        };
        tokio::select! {
            () = stop.cancelled() => false,
            () = tokio::time::sleep(self.interval) => true,
            () = early => true,
        }
    }
}
