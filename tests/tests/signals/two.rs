//! One of two signals can't be read.

use wellfed_tests::operator_fixture::Wish;
use wellfed_tests::proxy::Fault;

use crate::stage::{DEPTH, Stage};

const LOAD: &str = r#"sum(load{model="chat"})"#;

#[tokio::test(flavor = "multi_thread")]
async fn while_one_signal_is_lost_the_other_may_raise_the_number_and_not_lower_it() -> anyhow::Result<()> {
    let wish = Wish::of("chat").signal("queue", DEPTH, "10").proxied_signal("load", LOAD, "10");
    let stage = Stage::set_with("two", &wish, &[r#"load{model="chat"} 40"#]).await?;

    stage.proxy.set(Fault::Page(503, "<html></html>"));
    stage.until_reason("chat", "SignalsHealthy", "SignalHttpError").await?;
    stage.depth(10).await?;
    stage.held("SignalHttpError", "signal load: the endpoint answered HTTP 503").await?;
    stage.depth(60).await?;
    stage.until_replicas("chat", 6).await?;
    stage.depth(10).await?;
    stage.held("SignalHttpError", "signal load: the endpoint answered HTTP 503").await?;
    stage.source.remove(crate::stage::SERIES);
    let both = "signal queue: there is no current sample: the series ended, or the query matches none; signal load: the endpoint answered HTTP 503";
    stage.held("SignalEmpty", both).await?;

    stage.depth(10).await?;
    stage.proxy.set(Fault::None);
    stage.until_replicas("chat", 4).await
}
