//! Samples that are older than they look.

use jiff::{SignedDuration, Timestamp};
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::operator_fixture::Wish;

use crate::stage::{NO_SAMPLE, SERIES, Stage, direct};

/// A series that its application itself dates, as a gateway for pushed metrics does: `queue_depth` 0, `ago` before now.
fn dated(name: &str, ago: SignedDuration) -> String {
    format!("queue_depth{{queue=\"chat\",gateway=\"{name}\"}} 0 {}", (Timestamp::now() - ago).as_millisecond())
}

/// M15.
#[tokio::test(flavor = "multi_thread")]
async fn a_sample_that_was_taken_long_ago_is_not_the_present_load() -> anyhow::Result<()> {
    let stage = Stage::set("old", &direct()).await?;

    stage.source.remove(SERIES);
    stage.source.set(&dated("a", SignedDuration::from_mins(10)));
    stage.held("SignalEmpty", NO_SAMPLE).await?;
    stage.source.set(&dated("b", SignedDuration::from_mins(1)));
    stage.held("SignalStale", "signal queue: the newest sample is too old").await?;

    stage.source.remove(r#"queue_depth{queue="chat",gateway="a"}"#);
    stage.source.remove(r#"queue_depth{queue="chat",gateway="b"}"#);
    stage.depth(40).await?;
    stage.recovers().await
}

/// M15: an application whose clock is two minutes ahead. What it dates so is not the load before then.
#[tokio::test(flavor = "multi_thread")]
async fn a_sample_from_the_future_is_not_the_present_load() -> anyhow::Result<()> {
    let stage = Stage::set("future", &direct()).await?;

    stage.source.remove(SERIES);
    stage.source.set(&dated("ahead", SignedDuration::from_mins(-2)));
    stage.held("SignalEmpty", NO_SAMPLE).await?;
    let later = stage.prometheus.query(r#"queue_depth{gateway="ahead"} offset -3m"#).await?;
    assert_eq!(later.len(), 1, "Prometheus has it");

    stage.source.remove(r#"queue_depth{queue="chat",gateway="ahead"}"#);
    stage.depth(40).await?;
    stage.until_condition("chat", "SignalsHealthy", True).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_still_answers_after_its_application_fell_silent_is_not_believed() -> anyhow::Result<()> {
    let query = r#"max_over_time(queue_depth{queue="chat"}[10m])"#;
    let stage = Stage::set("range", &Wish::of("chat").signal("queue", query, "10")).await?;

    stage.source.down(true);
    stage.held("SignalEmpty", NO_SAMPLE).await?;
    assert_eq!(stage.prometheus.query(query).await?.len(), 1, "Prometheus itself still answers from the past");
    stage.source.down(false);

    stage.until_condition("chat", "SignalsHealthy", True).await?;
    stage.depth(60).await?;
    stage.until_replicas("chat", 6).await
}
