//! Prometheus answers, but not in time, not in its own words, or not whole. Behind the fault the queue runs empty: whoever
//! believed the answer, or took it for nothing, would shrink.

use serde_json::json;
use std::time::Duration;
use wellfed_tests::proxy::Fault;

use crate::stage::{Stage, proxied};

async fn held_during(stage: &Stage, fault: Fault, reason: &str, said: &str) -> anyhow::Result<()> {
    stage.proxy.set(fault);
    stage.until_reason("chat", "SignalsHealthy", reason).await?;
    stage.depth(0).await?;
    stage.held(reason, said).await?;
    stage.depth(40).await?;
    stage.proxy.set(Fault::None);
    stage.until_condition("chat", "SignalsHealthy", wellfed_crds::ConditionStatus::True).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_late_or_a_page_of_html_holds_the_workload() -> anyhow::Result<()> {
    let stage = Stage::set("late", &proxied()).await?;

    let late = Fault::Delay(Duration::from_secs(3));
    held_during(&stage, late, "SignalTimeout", "signal queue: no answer within the deadline").await?;
    let page = Fault::Page(503, "<html><body>queue_depth 0</body></html>");
    held_during(&stage, page, "SignalHttpError", "signal queue: the endpoint answered HTTP 503").await?;
    let login = Fault::Page(200, "<html><body>Please log in</body></html>");
    held_during(&stage, login, "SignalGarbled", "signal queue: the answer can't be read").await?;

    stage.recovers().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_whole_holds_the_workload() -> anyhow::Result<()> {
    let stage = Stage::set("cut", &proxied()).await?;

    held_during(&stage, Fault::Cut(60), "SignalGarbled", "signal queue: the answer can't be read").await?;
    let broken = "signal queue: the endpoint can't be reached";
    held_during(&stage, Fault::Break(60), "SignalUnreachable", broken).await?;
    let partial = Fault::Altered(|answer| answer["warnings"] = json!(["2 of 3 stores answered"]));
    let said = "signal queue: the answer is partial (it carries warnings)";
    held_during(&stage, partial, "SignalPartial", said).await?;

    stage.recovers().await
}
