//! A healthy workload beside the one with the mistake.

use std::ops::Deref;

use anyhow::ensure;
use wellfed_crds::ConditionStatus::{False, True};
use wellfed_tests::fixture::GpuDeployment;
use wellfed_tests::operator_fixture::Wish;
use wellfed_tests::{OperatorFixture, Plane};

/// What `chat` scales on.
pub const DEPTH: &str = r#"sum(queue_depth{queue="chat"})"#;

/// A workload that has no mistake yet: 10 in the queue a replica.
pub fn chat() -> Wish {
    Wish::of("chat").signal("queue", DEPTH, "10")
}

/// An operator with two workloads: `search` is in order and has one replica; `chat` has two and 40 in its queue.
pub struct Stage(OperatorFixture);

impl Deref for Stage {
    type Target = OperatorFixture;

    fn deref(&self) -> &OperatorFixture {
        &self.0
    }
}

impl Stage {
    /// With `search`, and the Deployment `chat` without its workload.
    pub async fn set(name: &str) -> anyhow::Result<Self> {
        let stage = OperatorFixture::start(&Plane::attach()?, name).await?;
        stage.source.set(r#"queue_depth{queue="chat"} 40"#);
        stage.source.set(r#"queue_depth{queue="search"} 10"#);
        stage.run(&Wish::of("search").signal("queue", r#"sum(queue_depth{queue="search"})"#, "10"), 1).await?;
        stage.deploy(&GpuDeployment::new("chat").replicas(2)).await?;
        Ok(Self(stage))
    }

    /// Applies `wrong`, and waits until it is refused for `reason`; returns the message.
    pub async fn refused(&self, wrong: &Wish, reason: &str) -> anyhow::Result<String> {
        self.apply(wrong).await?;
        let refused = self.until_condition(wrong.name(), "Accepted", False).await?;
        ensure!(refused.reason == reason, "{refused:?}");
        Ok(refused.message)
    }

    /// `search` grows to `replicas`, and meanwhile nothing is written to `chat`.
    pub async fn search_goes_on_and_chat_is_left_alone(&self, replicas: i32) -> anyhow::Result<()> {
        let before = self.scalings("chat")?.len();
        self.source.set(&format!(r#"queue_depth{{queue="search"}} {}"#, replicas * 10));
        self.until_replicas("search", replicas).await?;
        self.after_cycles(2).await?;
        let scalings = self.scalings("chat")?;
        ensure!(scalings.len() == before, "chat was scaled while refused:\n{}", scalings.summary());
        Ok(())
    }

    /// Applies `right`; it is accepted, and grows to what its queue asks for.
    pub async fn accepted_and_scaled(&self, right: &Wish) -> anyhow::Result<()> {
        self.apply(right).await?;
        self.until_condition(right.name(), "Accepted", True).await?;
        self.until_replicas("chat", 4).await
    }
}
