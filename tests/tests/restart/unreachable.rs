//! The API server goes away for longer than a Lease.

use std::time::Duration;

use anyhow::ensure;
use jiff::Timestamp;
use wellfed_tests::operator_fixture::SOON;
use wellfed_tests::{OperatorFixture, Part, Plane, until};

use crate::{SHORT_LEASE, chat, lease};

#[tokio::test]
async fn it_goes_on_when_the_api_server_is_back_and_writes_nothing_before_it_has_the_lease_again() -> anyhow::Result<()>
{
    let plane = Plane::start_private().await?;
    let stage = OperatorFixture::start_with(&plane, "away", &[SHORT_LEASE]).await?;
    stage.run(&chat(3), 1).await?;
    stage.until_replicas("chat", 3).await?;
    let before = lease(&stage).await?;

    plane.stop(Part::ApiServer).await?;
    let stopped = Timestamp::now();
    until("the Lease to be lost", SOON, async || {
        let page = stage.operator.metrics().await?;
        ensure!(page.contains("wellfed_lease_held 0"), "it is held");
        Ok(())
    })
    .await?;
    tokio::time::sleep(Duration::from_secs(20).saturating_sub(since(stopped))).await;
    plane.start(Part::ApiServer).await?;
    stage.ask("chat", 5).await?;
    stage.until_replicas("chat", 5).await?;

    let user = stage.operator.user();
    let writes = plane.audit()?.since(stopped).by_user(&user).writes().filter(|event| event.response_status.code < 400);
    let first = writes.events().first().map(|event| event.object_ref.resource.clone());
    assert_eq!(first.as_deref(), Some("leases"), "{}", writes.summary());
    let after = lease(&stage).await?;
    assert_eq!(after.holder_identity, before.holder_identity, "the same process leads on");
    assert_eq!(stage.scalings("chat")?.len(), 2);
    Ok(())
}

fn since(then: Timestamp) -> Duration {
    Timestamp::now().duration_since(then).unsigned_abs()
}
