//! How much Prometheus is asked.

use std::ops::RangeInclusive;
use std::time::Duration;

use wellfed_crds::ConditionStatus::True;
use wellfed_tests::operator_fixture::Wish;
use wellfed_tests::{OperatorFixture, Plane};

async fn asked(stage: &OperatorFixture) -> anyhow::Result<f64> {
    Ok(stage.prometheus.counter("prometheus_http_requests_total", &[("handler", "/api/v1/query")]).await?)
}

/// Queries that Prometheus counts in ten seconds.
async fn in_ten_seconds(stage: &OperatorFixture) -> anyhow::Result<f64> {
    let before = asked(stage).await?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    Ok(asked(stage).await? - before)
}

/// A workload that reads its own row of a query about all queues.
async fn add(stage: &OperatorFixture, number: u32, query: &str) -> anyhow::Result<()> {
    let name = format!("w{number}");
    stage.source.set(&format!("queue_depth{{queue=\"{name}\"}} 10"));
    let wish = Wish::of(&name).signal("queue", query, "10");
    stage.run(&wish.with("spec.signals.0.source.prometheus.match", serde_json::json!({"queue": name})), 1).await
}

async fn healthy(stage: &OperatorFixture, numbers: RangeInclusive<u32>) -> anyhow::Result<()> {
    for number in numbers {
        stage.until_condition(&format!("w{number}"), "SignalsHealthy", True).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn workloads_that_share_a_query_do_not_add_to_the_queries() -> anyhow::Result<()> {
    // The gate's lane has questions of its own, whatever the number of workloads.
    let stage = OperatorFixture::start_with(&Plane::attach()?, "queries", &["timing.evidenceInterval=10m"]).await?;
    let shared = "sum by (queue) (queue_depth)";
    for number in 1..=3 {
        add(&stage, number, shared).await?;
    }
    healthy(&stage, 1..=3).await?;
    let of_three = in_ten_seconds(&stage).await?;
    for number in 4..=12 {
        // The same question, written in another way.
        add(&stage, number, "sum by(queue)(  queue_depth )").await?;
    }
    healthy(&stage, 4..=12).await?;
    let of_twelve = in_ten_seconds(&stage).await?;
    add(&stage, 13, "max by (queue) (queue_depth)").await?;
    healthy(&stage, 13..=13).await?;
    let with_another = in_ten_seconds(&stage).await?;

    // A round may fall into either window, and each asks for the values and for their ages.
    assert!((16.0..=24.0).contains(&of_three), "{of_three} queries in ten rounds of one question");
    assert!((of_twelve - of_three).abs() <= 4.0, "{of_three} with 3 workloads, {of_twelve} with 12");
    assert!(with_another >= of_twelve + 12.0, "{of_twelve} of one question, {with_another} of two");
    Ok(())
}
