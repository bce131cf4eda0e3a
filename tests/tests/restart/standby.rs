//! An end in order, and two instances at once.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use wellfed_tests::audit::Audit;
use wellfed_tests::{OperatorFixture, Plane};

use crate::{chat, lease};

#[tokio::test]
async fn sigterm_ends_it_with_success_and_gives_the_lease_back() -> anyhow::Result<()> {
    let mut stage = OperatorFixture::start(&Plane::attach()?, "ended").await?;
    stage.run(&chat(2), 1).await?;
    stage.until_replicas("chat", 2).await?;
    let held = lease(&stage).await?.holder_identity.unwrap_or_default();

    let status = stage.operator.end().await?;

    assert!(held.starts_with("wellfed-1_"), "{held}");
    assert_eq!(status.and_then(|status| status.code()), Some(0));
    assert_eq!(lease(&stage).await?.holder_identity, None);
    Ok(())
}

#[tokio::test]
async fn of_two_instances_one_writes_and_the_other_takes_over_at_once_when_it_ends() -> anyhow::Result<()> {
    let mut stage = OperatorFixture::start_with(&Plane::attach()?, "two", &["lease.duration=30s"]).await?;
    let mut second = stage.standby("wellfed-second").await?;
    second.start(&stage.group).await?;
    stage.run(&chat(2), 1).await?;
    for replicas in [2, 3, 4] {
        stage.ask("chat", replicas).await?;
        stage.until_replicas("chat", replicas).await?;
    }

    let told = Instant::now();
    let status = stage.operator.end().await?;
    let handed_over = Timestamp::now();
    stage.ask("chat", 5).await?;
    stage.until_replicas("chat", 5).await?;
    let took = told.elapsed();

    assert_eq!(status.and_then(|status| status.code()), Some(0));
    assert!(took < Duration::from_secs(15), "{took:?}, and the Lease lasts 30 s");
    let (first, second) = (writes_of(&stage, &stage.operator.user())?, writes_of(&stage, &second.user())?);
    assert_eq!(first.clone().since(handed_over).summary(), "");
    assert_eq!(first.on("deployments", "scale").len(), 3);
    assert_eq!(second.clone().on("deployments", "scale").len(), 1);
    let early = second.filter(|event| event.at < handed_over && event.object_ref.resource != "leases");
    assert_eq!(early.summary(), "", "the standby wrote nothing while the first led");
    Ok(())
}

/// Everything that `user` wrote, the Lease too.
fn writes_of(stage: &OperatorFixture, user: &str) -> anyhow::Result<Audit> {
    Ok(stage.plane.audit()?.since(stage.since).writes().filter(|event| event.user.username == user))
}
