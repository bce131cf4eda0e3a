//! The question is another one, or the operator is: until there is an answer there is none.

use wellfed_crds::ConditionStatus::True;
use wellfed_tests::fixture::GpuNodes;
use wellfed_tests::operator_fixture::Wish;

use crate::stage::{DEPTH, Stage};

/// `chat` at up to 40 replicas, which shrinks at the first sight of less.
fn at_once(query: &str) -> Wish {
    let wish = Wish::of("chat").signal("queue", query, "10").with("spec.maxReplicas", 40);
    wish.with("spec.behavior.scaleDown.stabilizationWindowSeconds", 0)
}

/// M11 (keda #6762): twenty replicas while the question changes three times, and the operator is killed and starts anew.
#[tokio::test(flavor = "multi_thread")]
async fn questions_and_operators_that_are_new_have_not_seen_an_empty_queue() -> anyhow::Result<()> {
    let mut stage = Stage::set_at("rebuilt", &at_once(DEPTH), &[], 20).await?;
    stage.add_nodes(&GpuNodes::new(1)).await?;

    for of in ["max", "min", "avg"] {
        stage.apply(&at_once(&format!(r#"{of}(queue_depth{{queue="chat"}})"#))).await?;
        stage.until_condition("chat", "SignalsHealthy", True).await?;
        stage.after_cycles(3).await?;
    }
    stage.restart_operator().await?;
    stage.after_cycles(5).await?;
    stage.until_condition("chat", "SignalsHealthy", True).await?;

    let scalings = stage.scalings("chat")?;
    assert!(scalings.is_empty(), "scaled without an answer:\n{}", scalings.summary());
    assert_eq!(stage.replicas("chat").await?, 20);
    stage.depth(120).await?;
    stage.until_replicas("chat", 12).await
}
