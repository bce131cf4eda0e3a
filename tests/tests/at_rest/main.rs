//! Nothing happens: many workloads, whose signals move and stay inside the tolerance, and whose GPUs, which the gate looks
//! at, are hardly used by turns. Then nothing is written but Lease
//! renewals, and Prometheus is asked as often as for a few.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot look has failed")]

mod crowd;

use std::time::{Duration, Instant};

use jiff::Timestamp;
use wellfed_tests::audit::Event;

use crate::crowd::Crowd;

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_workloads_at_rest_cause_no_write_in_half_a_minute_and_one_that_wakes_causes_its_own()
-> anyhow::Result<()> {
    let crowd = Crowd::gather("rest").await?;
    crowd.grow_to(20).await?;

    assert_no_write_for(&crowd, MINUTE / 2).await?;

    assert_writes_only_of(&crowd, "w-007").await
}

/// Seven minutes, so it is run by `make at-rest` and not by `make test`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes seven minutes: make at-rest"]
async fn two_hundred_workloads_at_rest_cause_no_write_in_three_minutes_and_no_more_queries_than_twenty()
-> anyhow::Result<()> {
    let crowd = Crowd::gather("rest").await?;
    crowd.grow_to(20).await?;
    let few = queries_a_minute(&crowd, MINUTE).await?;
    crowd.grow_to(200).await?;

    let started = (Instant::now(), crowd.queries().await?);
    assert_no_write_for(&crowd, 3 * MINUTE).await?;
    let many = a_minute(started, crowd.queries().await?);

    println!("queries a minute: {few:.1} with 20 workloads, {many:.1} with 200");
    // A question and its age, each once a second, besides those of the gate; a beat may be lost on a busy machine.
    assert!(few > 100.0, "{few}");
    assert!((many / few - 1.0).abs() < 0.05, "{few} with 20 workloads, {many} with 200");
    assert_writes_only_of(&crowd, "w-107").await
}

async fn queries_a_minute(crowd: &Crowd, during: Duration) -> anyhow::Result<f64> {
    let started = (Instant::now(), crowd.queries().await?);
    tokio::time::sleep(during).await;
    Ok(a_minute(started, crowd.queries().await?))
}

fn a_minute((since, before): (Instant, f64), after: f64) -> f64 {
    (after - before) / since.elapsed().as_secs_f64() * 60.0
}

async fn assert_no_write_for(crowd: &Crowd, during: Duration) -> anyhow::Result<()> {
    let begun = Timestamp::now();
    let cycles = crowd.stage.cycles().await?;
    tokio::time::sleep(during).await;

    let writes = crowd.stage.writes()?.since(begun);
    assert_eq!(writes.summary(), "");
    // The audit log and the operator were awake all the while.
    let turned = crowd.stage.cycles().await? - cycles;
    assert!(turned * 2 > during.as_secs(), "{turned} cycles in {during:?}");
    let user = crowd.stage.operator.user();
    let renewals = crowd.stage.plane.audit()?.since(begun).writes().filter(|event| event.user.username == user);
    let only_leases = renewals.events().iter().all(|event| event.object_ref.resource == "leases");
    assert!(only_leases && renewals.len() as u64 * 5 > during.as_secs(), "{}", renewals.summary());
    Ok(())
}

/// The positive control: one signal leaves the tolerance.
async fn assert_writes_only_of(crowd: &Crowd, name: &str) -> anyhow::Result<()> {
    let begun = Timestamp::now();
    crowd.wake(name);
    crowd.stage.until_replicas(name, 3).await?;
    crowd.stage.until_event(name, "Scaled").await?;
    crowd.stage.after_cycles(3).await?;

    let writes = crowd.stage.writes()?.since(begun);
    let others = writes.clone().filter(|event| !is_of(event, name));
    assert_eq!(others.summary(), "");
    let mut kinds: Vec<_> = writes.events().iter().map(|event| event.object_ref.resource.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["deployments", "events", "gpuworkloads"]);
    assert_eq!(crowd.stage.scalings(name)?.since(begun).len(), 1);
    Ok(())
}

fn is_of(event: &Event, name: &str) -> bool {
    let object = &event.object_ref;
    object.name == name || (object.resource == "events" && object.name.starts_with(&format!("{name}.")))
}
