//! What the owner of vision-train does half way, as its finding advises: more loader workers, and the CPUs for them.

use super::say;
use super::stage::{NAMESPACE, Stage};
use anyhow::Result;
use serde_json::json;
use std::time::Duration;

/// When, after the traffic began: the refusal has stood for a while by then.
pub const CURED_AT: Duration = Duration::from_secs(85);
/// Workers a replica, as the new pod template starts them; nine before.
const WORKERS: u32 = 48;
/// Their cores.
const PATCH: &str =
    r#"{"spec":{"template":{"spec":{"containers":[{"name":"train","resources":{"limits":{"cpu":"48"}}}]}}}}"#;

/// Rolls the new pod template out.
pub async fn cure(stage: &Stage) -> Result<()> {
    say("vision-train gets what its finding advises: 48 loader workers a replica, and as many cores in its limit");
    let kubectl = stage.plane.kubectl()?;
    kubectl.run(&["-n", NAMESPACE, "patch", "deployment", "vision-train", "--type=strategic", "-p", PATCH]).await?;
    stage.world.set("vision-train", "model.training.loader.workers", json!(WORKERS)).await
}
