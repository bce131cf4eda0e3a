//! Answers without a row, and with one too many.

use wellfed_crds::ConditionStatus::True;
use wellfed_tests::operator_fixture::Wish;

use crate::stage::{NO_SAMPLE, SERIES, Stage, direct};

/// M1 (keda #965, #886): the query finds nothing. M3 (keda #8036): the application answers with status 500, and a body that
/// reads like an empty queue.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_a_row_is_not_an_empty_queue() -> anyhow::Result<()> {
    let stage = Stage::set("empty", &direct()).await?;

    stage.source.remove(SERIES);
    stage.held("SignalEmpty", NO_SAMPLE).await?;
    stage.depth(40).await?;
    stage.until_condition("chat", "SignalsHealthy", True).await?;
    stage.source.down(true);
    stage.source.set(&format!("{SERIES} 0"));
    stage.held("SignalEmpty", NO_SAMPLE).await?;
    stage.source.set(&format!("{SERIES} 40"));
    stage.source.down(false);

    stage.recovers().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_prometheus_can_no_longer_answer_holds_the_workload() -> anyhow::Result<()> {
    let query = r#"sum(queue_depth{queue="chat"} * on (namespace) group_left () weight)"#;
    let stage = Stage::set_with("refused", &Wish::of("chat").signal("queue", query, "10"), &["weight 1"]).await?;

    stage.source.set(r#"weight{model="b"} 1"#);
    stage.held("SignalQueryRefused", "signal queue: the endpoint refused the query").await?;
    stage.source.remove(r#"weight{model="b"}"#);

    stage.recovers().await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_rows_where_one_is_expected_are_neither_added_nor_chosen_from() -> anyhow::Result<()> {
    let stage = Stage::set("twice", &Wish::of("chat").signal("queue", SERIES, "10")).await?;

    stage.source.set(r#"queue_depth{queue="chat",replica="b"} 80"#);
    stage.held("SignalTooManyRows", "signal queue: the query returned more rows than one").await?;
    stage.source.remove(r#"queue_depth{queue="chat",replica="b"}"#);

    stage.recovers().await
}
