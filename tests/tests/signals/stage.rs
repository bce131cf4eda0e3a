//! A workload at rest, and what must hold while its signal can't be believed.

use std::ops::Deref;

use anyhow::ensure;
use wellfed_crds::ConditionStatus::True;
use wellfed_tests::operator_fixture::{SOON, Wish};
use wellfed_tests::{OperatorFixture, Plane, until};

/// What `chat` scales on.
pub const DEPTH: &str = r#"sum(queue_depth{queue="chat"})"#;
/// The series behind it.
pub const SERIES: &str = r#"queue_depth{queue="chat"}"#;

/// What is said of a query without a row.
pub const NO_SAMPLE: &str = "signal queue: there is no current sample: the series ended, or the query matches none";

/// `chat` has four replicas, 10 in the queue for each.
pub struct Stage(OperatorFixture);

impl Deref for Stage {
    type Target = OperatorFixture;

    fn deref(&self) -> &OperatorFixture {
        &self.0
    }
}

impl Stage {
    /// With `wish` for `chat`; returns once all signals are known and nothing more is to be adopted.
    pub async fn set(name: &str, wish: &Wish) -> anyhow::Result<Self> {
        Self::set_with(name, wish, &[]).await
    }

    /// As [`Stage::set`], with more series.
    pub async fn set_with(name: &str, wish: &Wish, series: &[&str]) -> anyhow::Result<Self> {
        Self::set_at(name, wish, series, 4).await
    }

    /// As [`Stage::set_with`], with so many replicas.
    pub async fn set_at(name: &str, wish: &Wish, series: &[&str], replicas: u32) -> anyhow::Result<Self> {
        let stage = Self(OperatorFixture::start(&Plane::attach()?, name).await?);
        for line in series {
            stage.source.set(line);
        }
        stage.depth(10 * replicas).await?;
        stage.run(wish, i32::try_from(replicas)?).await?;
        stage.until_condition("chat", "SignalsHealthy", True).await?;
        stage.after_cycles(3).await?;
        Ok(stage)
    }

    /// Kills the operator, and starts it again.
    pub async fn restart_operator(&mut self) -> anyhow::Result<()> {
        self.0.operator.kill();
        self.0.operator.start(&self.0.group).await
    }

    /// The queue's depth, once Prometheus knows it.
    pub async fn depth(&self, depth: u32) -> anyhow::Result<()> {
        self.source.set(&format!("{SERIES} {depth}"));
        self.scraped(DEPTH, f64::from(depth)).await
    }

    /// Waits until Prometheus answers `query` with `value`.
    pub async fn scraped(&self, query: &str, value: f64) -> anyhow::Result<()> {
        let what = format!("{query} to be {value}");
        let found = until(&what, SOON, async || {
            let rows = self.prometheus.query(query).await?;
            let found = rows.first().map(|row| row.value);
            ensure!(found.is_some_and(|found| (found - value).abs() < 1e-9), "{found:?}");
            Ok(())
        });
        Ok(found.await?)
    }

    /// `chat` keeps its replicas for longer than its scale-down window, and says that its signal can't be used, for
    /// `reason` and in the words `said`.
    pub async fn held(&self, reason: &str, said: &str) -> anyhow::Result<()> {
        let unhealthy = self.until_reason("chat", "SignalsHealthy", reason).await?;
        let expected = format!("{said}. Nothing shrinks until that ends.");
        ensure!(unhealthy.message == expected, "expected {expected:?}, got {:?}", unhealthy.message);
        let before = self.scalings("chat")?.len();
        let replicas = self.replicas("chat").await?;
        self.after_cycles(4).await?;
        let scalings = self.scalings("chat")?;
        ensure!(scalings.len() == before, "scaled on what can't be believed:\n{}", scalings.summary());
        ensure!(self.replicas("chat").await? == replicas, "somebody else scaled it");
        Ok(())
    }

    /// The fault is over: all signals are known again, and `chat` follows its queue, up and down.
    pub async fn recovers(&self) -> anyhow::Result<()> {
        self.until_condition("chat", "SignalsHealthy", True).await?;
        self.depth(60).await?;
        self.until_replicas("chat", 6).await?;
        self.depth(40).await?;
        self.until_replicas("chat", 4).await
    }
}

/// `chat`, which reads Prometheus directly.
pub fn direct() -> Wish {
    Wish::of("chat").signal("queue", DEPTH, "10")
}

/// `chat`, which reads Prometheus through the proxy.
pub fn proxied() -> Wish {
    Wish::of("chat").proxied_signal("queue", DEPTH, "10")
}
